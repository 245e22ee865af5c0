"""The pods of workloads that are placed by topology, as they were last seen.

Rule: docs/rules/topology.md#ungating
"""

from events.device import PodObserved
from events.topology import TopologyRequest
from events.workload import PodSetAssignment
from projections.devices.card_holdings import TERMINAL
from projections.topology.state import TopologyState
from projections.topology.ungating import PlacedPod, PlacedPodSet
from projections.workloads.lifecycle import Workload


def note_placed_pod(world: TopologyState, pod: PodObserved) -> None:
    """Record whose pod it is, if it is placed by topology."""
    key = f"{pod.namespace}/{pod.name}"
    before = world.pods.get(key)
    if before is not None and before.workload != pod.workload:
        forget_placed_pod(world, key)
    if pod.topology is not None and pod.workload:
        world.trail.put(world.placed_pods.setdefault(pod.workload, {}), key, None)
    else:
        world.trail.drop(world.placed_pods.get(pod.workload, {}), key)


def forget_placed_pod(world: TopologyState, key: str) -> None:
    """The pod is gone."""
    pod = world.pods.get(key)
    if pod is not None:
        world.trail.drop(world.placed_pods.get(pod.workload, {}), key)


def placed_pod_sets(world: TopologyState, workload: Workload) -> tuple[PlacedPodSet, ...]:
    """The pod sets of a workload with their domains and their pods; none while it is not admitted."""
    if workload.admission is None or not workload.admitted or workload.evicted or workload.finished:
        return ()
    pods: dict[str, list[PlacedPod]] = {}
    for key in sorted(world.placed_pods.get(workload.key, ())):
        pod = world.pods[key]
        if pod.topology is not None and pod.phase not in TERMINAL:
            placed = PlacedPod(name=pod.name, uid=pod.uid, topology=pod.topology)
            pods.setdefault(pod.pod_set, []).append(placed)
    requests = {one.name: one.topology for one in workload.spec.pod_sets}
    return tuple(_placed(one, requests.get(one.name), pods.get(one.name, [])) for one in workload.admission.assignments)


def _placed(given: PodSetAssignment, request: TopologyRequest | None, pods: list[PlacedPod]) -> PlacedPodSet:
    return PlacedPodSet(
        count=given.count,
        request=request or TopologyRequest(),
        assignment=given.topology.assignment if given.topology is not None else None,
        pods=tuple(pods),
    )
