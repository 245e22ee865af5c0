"""Tells pods of a job which cards are their own, and lets them be scheduled; at once, for they wait for nothing else."""

from collections.abc import Sequence

import msgspec

from events.event import Millis
from projections.devices.pod_cards import assigned, pins_by_pod
from projections.workloads.lifecycle import Workload
from projections.world import World
from services.applier.low_priority_writes import LowPriorityWrites
from services.applier.pods import PODS
from services.applier.retried_writes import RetriedWrites
from services.jobs.card_gate import told_cards, waits_for_cards
from services.jobs.paths import difference
from services.runtime.clock_port import Clock
from services.runtime.cluster_port import Writer

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
        self._writer, self._spare = writer, spare
        self._opening = RetriedWrites("pod", "pod not told its cards", self._open, clock, retry=_RETRY)
        self._told: dict[str, set[str]] = {}
        """UIDs of pods that were taken up and are not seen to go yet, by workload."""

    def observe(self, world: World, touched: Sequence[str]) -> None:
        """Take note of who is to be told; told after each turn of the partition."""
        for key in touched:
            workload = world.workloads.get(key)
            found = openings(world, workload) if workload is not None and key in world.pod_cards else {}
            told = self._told.pop(key, set()) & found.keys()
            if found:
                self._told[key] = {*found}
            for uid, one in found.items():
                if uid not in told:
                    self._opening.offer(f"{one.namespace}/{one.pod}", one)

    async def run(self) -> None:
        """Open until cancelled."""
        await self._opening.run()

    async def _open(self, _: str, one: Opening) -> None:
        with self._spare.first():
            await self._tell_cards(one)

    async def _tell_cards(self, one: Opening) -> None:
        pod = await self._writer.get(PODS, one.namespace, one.pod)
        if pod["metadata"].get("uid") != one.uid or not waits_for_cards(pod):
            return
        patch = difference(pod, told_cards(pod, one.pins))
        meta = {**patch.get("metadata", {}), "resourceVersion": pod["metadata"]["resourceVersion"]}
        await self._writer.merge(PODS, one.namespace, one.pod, {**patch, "metadata": meta})
