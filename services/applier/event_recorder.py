"""Kubernetes Events on their way to the cluster: hints for people, written in spare time and lost when there is none."""

import asyncio
from collections import deque
from collections.abc import Iterable

import structlog

from events.event import Millis
from services.applier.cluster_events import ClusterEvent, event_of
from services.applier.low_priority_writes import LowPriorityWrites
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
    """Events that are still to be written, warnings before anything else; of too many the oldest are dropped.

    Warnings have their turn among all that is written in spare time. All others come last: only while nobody else has
    anything to write.
    """

    def __init__(self, writer: Writer, spare: LowPriorityWrites, clock: Clock) -> None:
        self._writer, self._spare, self._clock = writer, spare, clock
        self._warnings: deque[ClusterEvent] = deque(maxlen=_MOST)
        self._others: deque[ClusterEvent] = deque(maxlen=_MOST)
        self._told: dict[tuple[str, str, str], None] = {}
        """What was told lately, so that nothing is written only to be refused."""
        self._news = asyncio.Event()
        self.dropped = 0
        """How many were lost because there was no time for them."""

    @property
    def now(self) -> Millis:
        """The time of what is told now."""
        return self._clock.now()

    def tell(self, *notices: ClusterEvent) -> None:
        """Have them written some time."""
        self.tell_all(notices)

    def tell_all(self, notices: Iterable[ClusterEvent]) -> None:
        """Have them written some time."""
        for one in notices:
            key = one.uid, one.reason, one.identity
            if key in self._told:
                continue
            self._told[key] = None
            if len(self._told) > _REMEMBERED:
                del self._told[next(iter(self._told))]
            queue = self._warnings if one.warning else self._others
            self.dropped += len(queue) == _MOST
            queue.append(one)
            self._news.set()

    async def run(self) -> None:
        """Write until cancelled."""
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
            log.debug("told already", object=notice.name)
        except (ClusterUnavailable, ObjectInvalid, ObjectMissing) as problem:
            log.warning("not told", object=notice.name, problem=str(problem))
        except Exception as problem:  # noqa: BLE001 - a hint for people stops nobody
            log.error("failed on an Event", object=notice.name, exc_info=problem)
