"""Lets pods go that have told all they had to tell, and takes away those that there is no place for; in spare time."""

import asyncio
from typing import Any

import structlog

from events.event import Millis
from events.pod import PodAccounted
from projections.world import World
from services.applier.cluster_events import pod_event
from services.applier.event_recorder import EventRecorder
from services.applier.low_priority_writes import LowPriorityWrites
from services.applier.pods import PODS, end_pods
from services.jobs import pods as rules
from services.runtime.clock_port import Clock
from services.runtime.cluster_port import ClusterUnavailable, ObjectConflict, ObjectInvalid, ObjectMissing, Writer

log = structlog.get_logger()

_AT_ONCE = 8
_RETRY: Millis = 1000
_WHY = {"ExcessPodDeleted": "Excess pod deleted", "WorkloadDeleted": "The workload is deleted"}


class PodKeeper:
    """Takes the finalizer off pods. What a pod that is gone had to tell is on the log by then."""

    def __init__(self, writer: Writer, clock: Clock, spare: LowPriorityWrites, notices: EventRecorder) -> None:
        self._writer, self._clock, self._spare, self._notices = writer, clock, spare, notices
        self._wanted: dict[str, PodAccounted] = {}
        self._news = asyncio.Event()

    def observe(self, world: World) -> None:
        """Take note of what is to be let go; told after each turn of the lane."""
        for key in world.pod_work.take("pod-keeper"):
            found = world.accounted.get(key)
            if found is not None:
                self._wanted[key] = found
                self._news.set()

    async def run(self) -> None:
        """Let go until cancelled."""
        while True:
            if not self._wanted:
                self._news.clear()
                await self._news.wait()
            async with self._spare.turn():
                some = [self._wanted.pop(key) for key in list(self._wanted)[:_AT_ONCE]]
                done = await asyncio.gather(*(self._try(one) for one in some))
            again = [one for one, well in zip(some, done, strict=True) if not well]
            if again:
                await self._clock.sleep(_RETRY)
            for one in again:
                self._wanted.setdefault(f"{one.namespace}/{one.name}", one)

    async def _try(self, event: PodAccounted) -> bool:
        try:
            await self._let_go(event)
        except ObjectMissing:
            log.debug("gone already", pod=event.name)
        except (ClusterUnavailable, ObjectConflict) as problem:
            log.warning("pod not let go yet", pod=event.name, problem=str(problem))
            return False
        except ObjectInvalid as problem:
            log.error("pod not let go", pod=event.name, problem=str(problem))
        except Exception as problem:  # noqa: BLE001 - whatever a pod holds, all others are let go
            log.error("failed on a pod", pod=event.name, exc_info=problem)
        return True

    async def _let_go(self, event: PodAccounted) -> None:
        pod = await self._writer.get(PODS, event.namespace, event.name)
        meta: dict[str, Any] = pod["metadata"]
        if meta.get("uid") != event.uid:
            return
        if event.doomed and not rules.is_leaving(pod):
            await end_pods(self._writer, pod, event.doomed, _WHY[event.doomed])
            self._notices.tell(pod_event(event, self._notices.now, _WHY[event.doomed]))
        if rules.is_held(pod):
            left = [one for one in meta["finalizers"] if one != rules.MANAGED]
            patch: dict[str, Any] = {"metadata": {"uid": event.uid, "finalizers": left or None}}
            await self._writer.merge(PODS, event.namespace, event.name, patch)
