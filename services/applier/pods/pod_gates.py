"""Writes on each pod what it waits for at its scheduling gates, its own cards or its domain, and takes the gates away.

What was written is seen in the pods themselves: nothing is remembered that a restart would lose. The pods that the log shows
may be older than those of the cluster, though, and to which domain one goes depends on where the others are. So the gated
pods of a workload are read before any of them is written: if one has been let through meanwhile, and not as planned, nothing
is written until the log shows that.

Rule: docs/rules/topology.md#ungating
"""

import asyncio
from collections.abc import Sequence
from typing import TypeVar

import msgspec
import structlog

from events.api.labels import CARDS_GATE, ELASTIC_JOB, TOPOLOGY_GATE
from events.event import Millis
from events.json_object import JsonObject
from projections.devices.placement.elastic_pods import pods_with_room
from projections.devices.placement.pod_cards import assigned, pins_by_pod
from projections.devices.state import DeviceState
from projections.topology.pods.placed_pods import placed_pod_sets
from projections.topology.pods.ungating import PlacedPod, node_selectors
from projections.topology.state import TopologyState
from projections.workloads.lifecycle import Workload
from services.applier.pods.start_or_end import PODS
from services.applier.writes.low_priority_writes import LowPriorityWrites
from services.applier.writes.retried_writes import RetriedWrites
from services.jobs.paths import difference
from services.jobs.scheduling_gates import gate_opened, selects, sent_to_domain, waits_at, with_own_cards
from services.runtime.clock_port import Clock
from services.runtime.cluster_port import ObjectInvalid, ObjectMissing, Writer

log = structlog.get_logger()
T = TypeVar("T")

_RETRY: Millis = 500
_AT_ONCE = 8


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that waits at gates, and what opens them."""

    namespace: str
    pod: str
    uid: str
    pins: dict[str, str] | None = None
    """The annotations that keep it to its own cards; None where it waits for none, or none are its own yet."""
    domain: dict[str, str] | None = None
    """What its node selector gets; None where it waits for no domain, empty where it goes on waiting for one."""
    fits_slice: bool = False
    """The slice of its elastic job that is admitted has room for it."""


def openings(world: TopologyState, workload: Workload) -> tuple[Opening, ...]:
    """The gated pods of a workload, by UID; none if no gate can be opened."""
    found = {one.uid: one for one in _of_cards(world, workload)}
    for one in _of_domains(world, workload):
        found[one.uid] = msgspec.structs.replace(found.get(one.uid, one), domain=one.domain)
    for one in pods_with_room(world, workload):
        known = found.get(one.uid, Opening(namespace=one.namespace, pod=one.name, uid=one.uid))
        found[one.uid] = msgspec.structs.replace(known, fits_slice=True)
    if not any(one.pins is not None or one.domain or one.fits_slice for one in found.values()):
        return ()
    return tuple(found[uid] for uid in sorted(found))


def _of_cards(world: DeviceState, workload: Workload) -> list[Opening]:
    """The pods that have cards assigned on the log and still wait for them."""
    if workload.key not in world.pod_cards:
        return []
    waiting = [
        one
        for one in assigned(world, workload)
        for pod in (world.pods.get(f"{workload.namespace}/{one.pod}"),)
        if pod is not None and pod.uid == one.uid and pod.gated
    ]
    pins = pins_by_pod(world, workload) if waiting else {}
    return [Opening(namespace=workload.namespace, pod=one.pod, uid=one.uid, pins=pins[one.uid]) for one in waiting]


def _of_domains(world: TopologyState, workload: Workload) -> list[Opening]:
    """The pods that wait for a domain, with theirs if they have one."""
    if workload.key not in world.placed_pods:
        return []
    pod_sets = placed_pod_sets(world, workload)
    found = node_selectors(pod_sets, workload.unhealthy_nodes)
    return [
        Opening(
            namespace=workload.namespace,
            pod=pod.name,
            uid=pod.uid,
            domain=found.get(pod.uid, {}) if pod.given or not (one.own_cards and _waits(world, workload, pod)) else {},
        )
        for one in pod_sets
        for pod in one.pods
        if pod.topology.gated
    ]


def _waits(world: DeviceState, workload: Workload, pod: PlacedPod) -> bool:
    """Whether a pod waits for its cards; one of a job that was started under older rules may have them in its template."""
    known = world.pods.get(f"{workload.namespace}/{pod.name}")
    return known is not None and known.gated


class PodGates:
    """Opens the gates of pods, several at a time, with retries, and with priority over other writes."""

    def __init__(self, writer: Writer, clock: Clock, spare: LowPriorityWrites) -> None:
        self._writer, self._spare = writer, spare
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._opening = RetriedWrites("workload", "gates of pods not opened", self._open, clock, retry=_RETRY)
        self._offered: dict[str, tuple[Opening, ...]] = {}
        """By workload, what was handed on for writing and is not seen in the pods."""

    def observe(self, world: TopologyState, touched: Sequence[str]) -> None:
        """Take up the pods whose gates are to be opened; called after each turn of the partition."""
        for key in touched:
            workload = world.workloads.get(key)
            found = openings(world, workload) if workload is not None else ()
            offered = self._offered.pop(key, ())
            if found:
                self._offered[key] = found
            if any(one not in offered for one in found):
                self._opening.offer(key, found)

    async def run(self) -> None:
        """Open until cancelled."""
        await self._opening.run()

    async def _open(self, key: str, found: tuple[Opening, ...]) -> None:
        with self._spare.first():
            pods = await asyncio.gather(*(self._read(one) for one in found), return_exceptions=True)
            there = [(one, pod) for one, pod in zip(found, _succeeded(pods), strict=True) if pod is not None]
            if any(_opened_otherwise(one, pod) for one, pod in there):
                self._plan_again(key, found)
                return
            _succeeded(await asyncio.gather(*(self._put(one, pod) for one, pod in there), return_exceptions=True))

    def _plan_again(self, key: str, found: tuple[Opening, ...]) -> None:
        """Take what the log shows by now; as long as that is the same, wait for the log."""
        newer = self._offered.get(key, ())
        if newer == found:
            del self._offered[key]
        elif newer:
            self._opening.offer(key, newer)

    async def _read(self, one: Opening) -> JsonObject | None:
        """The pod as it is now; None where it is gone, also if another has its name."""
        async with self._slots:
            try:
                pod = await self._writer.get(PODS, one.namespace, one.pod)
            except ObjectMissing:
                return None
        return pod if pod["metadata"].get("uid") == one.uid else None

    async def _put(self, one: Opening, pod: JsonObject) -> None:
        patch = difference(pod, opened(one, pod))
        if not patch:
            return
        meta = {**patch.get("metadata", {}), "resourceVersion": pod["metadata"]["resourceVersion"]}
        async with self._slots:
            try:
                await self._writer.merge(PODS, one.namespace, one.pod, {**patch, "metadata": meta})
            except ObjectMissing:
                log.debug("gone already", pod=f"{one.namespace}/{one.pod}")
            except ObjectInvalid as problem:
                # The others of its workload go on: this one waits until it, or its place, is another.
                log.error("gates of pod not opened", pod=f"{one.namespace}/{one.pod}", problem=str(problem))


def opened(one: Opening, pod: JsonObject) -> JsonObject:
    """The pod without the gates that can be opened, and with what it waited for there."""
    if one.fits_slice:
        pod = gate_opened(pod, ELASTIC_JOB)
    if one.pins is not None and waits_at(pod, CARDS_GATE):
        pod = with_own_cards(pod, one.pins)
    return sent_to_domain(pod, one.domain) if one.domain and waits_at(pod, TOPOLOGY_GATE) else pod


def _opened_otherwise(one: Opening, pod: JsonObject) -> bool:
    """Whether a pod that is taken to wait for a domain does so no longer, and has not got the one that is planned."""
    if one.domain is None or waits_at(pod, TOPOLOGY_GATE):
        return False
    return not one.domain or not selects(pod, one.domain)


def _succeeded(results: Sequence[T | BaseException]) -> list[T]:
    """The results, once all are there; raises the first error."""
    for one in results:
        if isinstance(one, BaseException):
            raise one
    return [one for one in results if not isinstance(one, BaseException)]
