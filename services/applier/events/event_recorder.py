"""Kubernetes Events on their way to the cluster: hints for people, written with low priority and dropped under load."""

import asyncio
from collections import deque
from collections.abc import Iterable

import structlog

from events.event import Millis
from services.applier.events.cluster_events import ClusterEvent, event_of
from services.applier.writes.low_priority_writes import LowPriorityWrites
from services.runtime.clock_port import Clock
from services.runtime.cluster_port import (
    ClusterUnavailable,
    ObjectConflict,
    ObjectInvalid,
    ObjectMissing,
    Resource,
    Writer,
)

log = structlog.get_logger()

EVENTS = Resource(plural="events", kind="Event")
_MOST = 1000
_REMEMBERED = 10_000


class EventRecorder:
    """Writes Events, warnings first; beyond a limit the oldest are dropped.

    Warnings take turns with the other writes of low priority. Normal Events come last: only while nothing else is to be
    written.
    """

    def __init__(self, writer: Writer, spare: LowPriorityWrites, clock: Clock) -> None:
        self._writer, self._spare, self._clock = writer, spare, clock
        self._warnings: deque[ClusterEvent] = deque(maxlen=_MOST)
        self._others: deque[ClusterEvent] = deque(maxlen=_MOST)
        self._recorded: dict[bytes, None] = {}
        """Digests of Events recorded lately: the API server would refuse them as existing."""
        self._news = asyncio.Event()
        self.dropped = 0
        """How many were dropped because too many were waiting."""

    @property
    def now(self) -> Millis:
        """The time for Events recorded now."""
        return self._clock.now()

    def record(self, *notices: ClusterEvent) -> None:
        """Queue Events; those recorded lately are left out."""
        self.record_all(notices)

    def record_all(self, notices: Iterable[ClusterEvent]) -> None:
        """Queue Events; those recorded lately are left out."""
        for one in notices:
            digest = one.digest
            if digest in self._recorded:
                continue
            self._recorded[digest] = None
            if len(self._recorded) > _REMEMBERED:
                del self._recorded[next(iter(self._recorded))]
            queue = self._warnings if one.warning else self._others
            self.dropped += len(queue) == _MOST
            queue.append(one)
            self._news.set()

    async def run(self) -> None:
        """Write Events while nothing else is to be written, warnings first, until cancelled."""
        while True:
            if not self._warnings and not self._others:
                self._news.clear()
                await self._news.wait()
            async with self._spare.turn(last=not self._warnings):
                await self._write((self._warnings or self._others).popleft())

    async def _write(self, notice: ClusterEvent) -> None:
        try:
            event = event_of(notice)
            await self._writer.create(EVENTS, event["metadata"]["namespace"], event)
        except ObjectConflict:
            log.debug("event recorded already", object=notice.name)
        except (ClusterUnavailable, ObjectInvalid, ObjectMissing) as problem:
            log.warning("event not recorded", object=notice.name, problem=str(problem))
        except Exception as problem:  # noqa: BLE001 - a hint for people stops nobody
            log.error("failed on an Event", object=notice.name, exc_info=problem)
