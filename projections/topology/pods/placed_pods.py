"""The pods of workloads that are placed by topology, as they were last seen.

Rule: docs/rules/topology.md#ungating
"""

from events.device import PodObserved
from events.topology import TopologyRequest
from projections.devices.annotations.pins import needs_pins
from projections.devices.holdings.card_holdings import TERMINAL
from projections.devices.placement.pod_cards import assigned
from projections.devices.state import DeviceState
from projections.nodes.state import NodeState
from projections.topology.pods.ungating import PlacedPod, PlacedPodSet, node_selectors
from projections.topology.state import TopologyState
from projections.workloads.lifecycle import Workload


def note_placed_pod(world: TopologyState, pod: PodObserved) -> None:
    """Record whose pod it is, if it is placed by topology."""
    key = f"{pod.namespace}/{pod.name}"
    if pod.topology is not None and pod.workload:
        world.trail.add(world.placed_pods, pod.workload, key)
    else:
        world.trail.take(world.placed_pods, pod.workload, key)


def forget_placed_pod(world: TopologyState, key: str) -> None:
    """Forget a pod that was deleted: the one that comes in its stead may have its place."""
    pod = world.pods.get(key)
    if pod is not None:
        world.trail.take(world.placed_pods, pod.workload, key)


def placed_pod_sets(world: TopologyState, workload: Workload) -> tuple[PlacedPodSet, ...]:
    """The pod sets of a workload with their domains and their pods; none while it is not admitted."""
    if workload.admission is None or not workload.should_run:
        return ()
    homes = _homes_of_cards(world, workload)
    pods: dict[str, list[PlacedPod]] = {}
    levels = {
        one.name: one.topology.assignment.levels for one in workload.admission.assignments if one.topology is not None
    }
    for key in sorted(world.placed_pods.get(workload.key, ())):
        pod = world.pods[key]
        if pod.topology is not None and pod.phase not in TERMINAL:
            given = _values(world, homes.get(pod.uid), levels.get(pod.pod_set, ()))
            placed = PlacedPod(name=pod.name, uid=pod.uid, topology=pod.topology, given=given)
            pods.setdefault(pod.pod_set, []).append(placed)
    requests = {one.name: one.topology for one in workload.spec.pod_sets}
    return tuple(
        PlacedPodSet(
            count=one.count,
            request=requests.get(one.name) or TopologyRequest(),
            assignment=one.topology.assignment if one.topology is not None else None,
            pods=tuple(pods.get(one.name, ())),
            own_cards=one.topology is not None and needs_pins(workload, one.name),
        )
        for one in workload.admission.assignments
    )


def pod_homes(world: TopologyState, workload: Workload) -> dict[str, dict[str, dict[str, str]]]:
    """By pod set that is placed by topology and UID of a pod, the labels of the domain where it is to run.

    Rule: docs/rules/topology.md#card-pins
    """
    if workload.admission is None or all(one.topology is None for one in workload.admission.assignments):
        return {}
    pod_sets = placed_pod_sets(world, workload)
    planned = node_selectors(pod_sets, workload.second_pass.unhealthy_nodes)
    return {
        given.name: {
            pod.uid: planned.get(pod.uid, {})
            if pod.topology.gated
            else {level: pod.topology.node_selector.get(level, "") for level in one.assignment.levels}
            for pod in one.pods
        }
        for given, one in zip(workload.admission.assignments, pod_sets, strict=False)
        if one.assignment is not None
    }


def _homes_of_cards(world: DeviceState, workload: Workload) -> dict[str, str]:
    """By UID of a pod that has cards of its own, the node that they are on."""
    known = assigned(world, workload)
    if not known or workload.devices is None:
        return {}
    nodes = {(one.pod_set, one.index): one.node for one in workload.devices.placements}
    return {one.uid: nodes[one.pod_set, one.index] for one in known if (one.pod_set, one.index) in nodes}


def _values(world: NodeState, node: str | None, levels: tuple[str, ...]) -> tuple[str, ...]:
    known = None if node is None else world.nodes.get(node)
    return () if known is None else tuple(known.labels.get(level, "") for level in levels)
