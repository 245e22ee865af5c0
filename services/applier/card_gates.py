"""Writes its own cards to each pod that waits for them, and removes its scheduling gate; with priority over other writes."""

from collections.abc import Sequence

import msgspec

from events.event import Millis
from projections.devices.pod_cards import assigned, pins_by_pod
from projections.workloads.lifecycle import Workload
from projections.world import World
from services.applier.low_priority_writes import LowPriorityWrites
from services.applier.pods import PODS
from services.applier.retried_writes import RetriedWrites
from services.jobs.card_gate import waits_for_cards, with_own_cards
from services.jobs.paths import difference
from services.runtime.clock_port import Clock
from services.runtime.cluster_port import Writer

_RETRY: Millis = 500


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """A pod whose gate is to be opened, and the annotations (`pins`) that keep it to its own cards."""

    namespace: str
    pod: str
    uid: str
    pins: dict[str, str]


def openings(world: World, workload: Workload) -> dict[str, Opening]:
    """By UID, the pods of a workload that have cards assigned on the log and still wait at the gate."""
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
    """Opens the gates of pods, several at a time, with retries; what was opened is seen in the pods themselves."""

    def __init__(self, writer: Writer, clock: Clock, spare: LowPriorityWrites) -> None:
        self._writer, self._spare = writer, spare
        self._opening = RetriedWrites("pod", "card gate of pod not opened", self._open, clock, retry=_RETRY)
        self._offered: dict[str, set[str]] = {}
        """By workload, the UIDs of pods that were handed on for writing and still show the gate."""

    def observe(self, world: World, touched: Sequence[str]) -> None:
        """Take up the pods whose gates are to be opened; called after each turn of the partition."""
        for key in touched:
            workload = world.workloads.get(key)
            found = openings(world, workload) if workload is not None and key in world.pod_cards else {}
            offered = self._offered.pop(key, set()) & found.keys()
            if found:
                self._offered[key] = {*found}
            for uid, one in found.items():
                if uid not in offered:
                    self._opening.offer(f"{one.namespace}/{one.pod}", one)

    async def run(self) -> None:
        """Open until cancelled."""
        await self._opening.run()

    async def _open(self, _: str, one: Opening) -> None:
        with self._spare.first():
            await self._pin_cards(one)

    async def _pin_cards(self, one: Opening) -> None:
        pod = await self._writer.get(PODS, one.namespace, one.pod)
        if pod["metadata"].get("uid") != one.uid or not waits_for_cards(pod):
            return
        patch = difference(pod, with_own_cards(pod, one.pins))
        meta = {**patch.get("metadata", {}), "resourceVersion": pod["metadata"]["resourceVersion"]}
        await self._writer.merge(PODS, one.namespace, one.pod, {**patch, "metadata": meta})
