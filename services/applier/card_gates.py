"""Tells pods of a job which cards are their own, and lets them be scheduled; at once, for they wait for nothing else."""

import asyncio
from collections.abc import Sequence

import msgspec
import structlog

from events.event import Millis
from projections.devices.pod_cards import assigned, pins_by_pod
from projections.workloads.lifecycle import Workload
from projections.world import World
from services.applier.low_priority_writes import LowPriorityWrites
from services.applier.pods import PODS
from services.jobs.card_gate import told_cards, waits_for_cards
from services.jobs.paths import difference
from services.runtime.clock_port import Clock
from services.runtime.cluster_port import ClusterUnavailable, ObjectConflict, ObjectInvalid, ObjectMissing, Writer

log = structlog.get_logger()

_AT_ONCE = 8
_RETRY: Millis = 500


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that is to be told its cards."""

    namespace: str
    pod: str
    uid: str
    pins: dict[str, str]


def openings(world: World, workload: Workload) -> dict[str, Opening]:
    """The pods of a job that were given cards on the log and still wait, by UID."""
    waiting = {
        one.uid: one
        for one in assigned(world, workload)
        for pod in (world.pods.get(f"{workload.namespace}/{one.pod}"),)
        if pod is not None and pod.uid == one.uid and pod.gated
    }
    if not waiting:
        return {}
    pins = pins_by_pod(world, workload)
    return {
        uid: Opening(namespace=workload.namespace, pod=one.pod, uid=uid, pins=pins[uid]) for uid, one in waiting.items()
    }


class CardGates:
    """Opens the gates of pods, several at a time; what was opened shows in the pods themselves."""

    def __init__(self, writer: Writer, clock: Clock, spare: LowPriorityWrites) -> None:
        self._writer, self._clock, self._spare = writer, clock, spare
        self._wanted: dict[str, Opening] = {}
        self._told: dict[str, set[str]] = {}
        """UIDs of pods that were taken up and are not seen to go yet, by workload."""
        self._news = asyncio.Event()

    def observe(self, world: World, touched: Sequence[str]) -> None:
        """Take note of who is to be told; told after each turn of the lane."""
        for key in touched:
            workload = world.workloads.get(key)
            found = openings(world, workload) if workload is not None and key in world.pod_cards else {}
            told = self._told.pop(key, set()) & found.keys()
            fresh = {uid: one for uid, one in found.items() if uid not in told}
            if found:
                self._told[key] = {*found}
            if fresh:
                self._wanted.update(fresh)
                self._news.set()

    async def run(self) -> None:
        """Open until cancelled."""
        while True:
            if not self._wanted:
                self._news.clear()
                await self._news.wait()
            some = [self._wanted.pop(uid) for uid in list(self._wanted)[:_AT_ONCE]]
            with self._spare.first():
                done = await asyncio.gather(*(self._try(one) for one in some))
            again = [one for one, well in zip(some, done, strict=True) if not well]
            if again:
                await self._clock.sleep(_RETRY)
            for one in again:
                self._wanted.setdefault(one.uid, one)

    async def _try(self, one: Opening) -> bool:
        try:
            await self._open(one)
        except ObjectMissing:
            log.debug("gone already", pod=one.pod)
        except (ClusterUnavailable, ObjectConflict) as problem:
            log.warning("pod not told its cards yet", pod=one.pod, problem=str(problem))
            return False
        except ObjectInvalid as problem:
            log.error("pod not told its cards", pod=one.pod, problem=str(problem))
        return True

    async def _open(self, one: Opening) -> None:
        pod = await self._writer.get(PODS, one.namespace, one.pod)
        if pod["metadata"].get("uid") != one.uid or not waits_for_cards(pod):
            return
        patch = difference(pod, told_cards(pod, one.pins))
        meta = {**patch.get("metadata", {}), "resourceVersion": pod["metadata"]["resourceVersion"]}
        await self._writer.merge(PODS, one.namespace, one.pod, {**patch, "metadata": meta})
