"""Where the pods lie of an elastic job that has become smaller: its domains follow those that stay.

Rule: docs/rules/topology.md#shrunk
"""

from collections import Counter
from collections.abc import Collection

from msgspec.structs import replace

from events.topology import TopologyDomain
from events.workload import PodSetAssignment
from projections.topology.domains.tree import HOSTNAME
from projections.topology.pods.placed_pods import placed_pod_sets
from projections.topology.pods.ungating import PlacedPodSet, selected
from projections.topology.state import TopologyState
from projections.workloads.lifecycle import Workload


def where_pods_remain(
    world: TopologyState, workload: Workload, lost: Collection[str] = ()
) -> tuple[PodSetAssignment, ...] | None:
    """All assignments of a workload whose shrink has ended other pods than the last; None where they say where its pods lie.

    Which pods end is known when they are gone, or when their host is among those that are lost: before, nothing is said.
    """
    if not workload.resizing.shrunk or workload.admission is None:
        return None
    given = workload.admission.assignments
    found = tuple(
        _following(one, pods, lost) for one, pods in zip(given, placed_pod_sets(world, workload), strict=False)
    )
    return found if found and found != given else None


def too_many_go_on(world: TopologyState, workload: Workload, lost: Collection[str]) -> bool:
    """Whether more pods go on, on other hosts than those that are lost, than a workload that has become smaller is to have.

    Nobody needs another place then: those that are left over may end.
    """
    if not workload.resizing.shrunk or workload.admission is None:
        return False
    pod_sets = zip(workload.admission.assignments, placed_pod_sets(world, workload), strict=False)
    return any(one.topology is not None and _lie(pods, lost).total() > one.count for one, pods in pod_sets)


def _following(given: PodSetAssignment, pods: PlacedPodSet, lost: Collection[str]) -> PodSetAssignment:
    """A pod set with the domains of the pods that lie somewhere, and of its own as many as others may still come to."""
    if given.topology is None:
        return given
    assignment = given.topology.assignment
    lie = _lie(pods, lost)
    had = {one.values: one.count for one in assignment.domains}
    left = given.count - lie.total()
    if left < 0 or all(count <= had.get(values, 0) for values, count in lie.items()):
        return given
    for one in assignment.domains:
        more = min(left, max(one.count - lie[one.values], 0))
        lie[one.values] += more
        left -= more
    domains = tuple(TopologyDomain(values=values, count=lie[values]) for values in sorted(lie) if lie[values])
    return replace(given, topology=replace(given.topology, assignment=replace(assignment, domains=domains)))


def _lie(pods: PlacedPodSet, lost: Collection[str]) -> Counter[tuple[str, ...]]:
    """How many pods lie, or have their cards, in each domain; none on a host that is lost."""
    levels = () if pods.assignment is None else pods.assignment.levels
    lie = Counter(pod.given or selected(pod, levels) for pod in pods.pods if pod.given or not pod.topology.gated)
    if levels[-1:] != (HOSTNAME,):
        return lie
    return Counter({values: count for values, count in lie.items() if values[-1] not in lost})
