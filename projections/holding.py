"""What a workload holds of the quota: charged when it is reserved, given back when it is released."""

from events.amount import multiply
from events.workload import PodSetAssignment
from projections.workloads import Workload
from projections.world import World

FlavorResource = tuple[str, str]
Usage = dict[FlavorResource, int]


def usage_of(workload: Workload) -> Usage:
    """The usage charged for a workload that holds quota, less its reclaimed pods (kueue-semantics §1)."""
    if workload.admission is None:
        return {}
    usage: Usage = {}
    for assignment in workload.admission.assignments:
        for resource, amount in remaining_usage(assignment, workload.reclaimable.get(assignment.name, 0)).items():
            flavor = assignment.flavors.get(resource)
            if flavor is not None:
                usage[(flavor, resource)] = usage.get((flavor, resource), 0) + amount
    return usage


def remaining_usage(assignment: PodSetAssignment, reclaimed: int) -> dict[str, int]:
    """The usage of a pod set when so many of its pods are done: divided first, then multiplied, as Kueue does."""
    left = max(assignment.count - reclaimed, 0)
    if left == assignment.count or assignment.count == 0:
        return assignment.usage
    return {resource: multiply(amount // assignment.count, left) for resource, amount in assignment.usage.items()}


def hold(world: World, workload: Workload) -> None:
    """Charge the workload's usage to its cluster queue."""
    admission = workload.admission
    if admission is None:
        return
    world.trail.put(world.holding.setdefault(admission.cluster_queue, {}), workload.key, None)
    world.quota.add_usage(admission.cluster_queue, usage_of(workload))


def give_back(world: World, workload: Workload) -> None:
    """Return the workload's usage, if it is still charged."""
    admission = workload.admission
    if admission is None:
        return
    holding = world.holding.get(admission.cluster_queue, {})
    if workload.key not in holding:
        return
    world.trail.drop(holding, workload.key)
    world.quota.remove_usage(admission.cluster_queue, usage_of(workload))
