"""Which gated pods of a workload can be let through, with the cards or the domain that they waited for; pure.

Rule: docs/rules/topology.md#ungating
"""

import msgspec

from events.api.labels import CARDS_GATE, ELASTIC_JOB, TOPOLOGY_GATE
from events.json_object import JsonObject
from projections.devices.placement.elastic_pods import pods_with_room
from projections.devices.placement.pod_cards import assigned, pins_by_pod
from projections.devices.state import DeviceState
from projections.topology.pods.placed_pods import placed_pod_sets
from projections.topology.pods.ungating import PlacedPod, node_selectors
from projections.topology.state import TopologyState
from projections.workloads.lifecycle import Workload
from services.jobs.pod_sets.scheduling_gates import gate_opened, selects, sent_to_domain, waits_at, with_own_cards


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
    found = node_selectors(pod_sets, workload.second_pass.unhealthy_nodes)
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


def opened(one: Opening, pod: JsonObject) -> JsonObject:
    """The pod without the gates that can be opened, and with what it waited for there."""
    if one.fits_slice:
        pod = gate_opened(pod, ELASTIC_JOB)
    if one.pins is not None and waits_at(pod, CARDS_GATE):
        pod = with_own_cards(pod, one.pins)
    return sent_to_domain(pod, one.domain) if one.domain and waits_at(pod, TOPOLOGY_GATE) else pod


def opened_otherwise(one: Opening, pod: JsonObject) -> bool:
    """Whether a pod that is taken to wait for a domain does so no longer, and has not got the one that is planned."""
    if one.domain is None or waits_at(pod, TOPOLOGY_GATE):
        return False
    return not one.domain or not selects(pod, one.domain)
