"""Workloads of one object that has several, such as the groups of a LeaderWorkerSet: they run in one cluster together.

Rule: docs/rules/multikueue.md#components
"""

from projections.checks.state import DispatchState
from projections.workloads.lifecycle import Workload
from projections.workloads.state import WorkloadState


def siblings(world: WorkloadState, workload: Workload) -> list[Workload]:
    """The other workloads of its object that are not over, by their index; none where it has this one only."""
    owner = workload.owner
    if owner is None or not owner.part:
        return []
    found = [
        other
        for key in world.parts.get(owner.uid, ())
        if key != workload.key
        and (other := world.workloads.get(key)) is not None
        and other.local_queue == workload.local_queue
        and other.owner is not None
        and other.owner.kind == owner.kind
        and not other.finished
    ]
    return sorted(found, key=index_of)


def index_of(workload: Workload) -> tuple[int, str]:
    """What orders the workloads of one object: their index, as a number."""
    part = workload.owner.part if workload.owner is not None else ""
    return len(part), part


def cluster_of_siblings(world: DispatchState, workload: Workload) -> str:
    """The cluster that was chosen for one of them; empty while none was."""
    found = [
        dispatch.cluster
        for other in siblings(world, workload)
        if (dispatch := world.dispatches.get(other.key)) is not None and dispatch.cluster
    ]
    return min(found, default="")


def goes_first(world: WorkloadState, workload: Workload) -> bool:
    """Whether it is this one of them that is tried in clusters until one is chosen: that of the lowest index which holds quota."""
    return all(index_of(workload) < index_of(other) for other in siblings(world, workload) if other.reserved)
