"""Copies that are left behind: those by which a job may be in a cluster from a choice that counts no more.

Rule: docs/rules/multikueue.md#left-behind
"""

from events.event import Millis
from events.multikueue import RemoteWorkloadObserved
from projections.checks.dispatch import in_sync, lost_at, reachable
from projections.checks.state import DispatchState
from projections.workloads.lifecycle import Workload


def standing_copies(world: DispatchState, workload: Workload) -> dict[str, RemoteWorkloadObserved]:
    """The copies in clusters that are connected by which it may be tried or run there: they ask for the same, and are not left behind."""
    left = world.left_behind.get(workload.key, {})
    copies = reachable(world, world.remotes.get(workload.key, {}))
    return {name: one for name, one in copies.items() if in_sync(workload, one) and left.get(name) != one.uid}


def runs_on_alone(world: DispatchState, workload: str, at: Millis) -> bool:
    """Whether its job may be at work by an earlier choice in a cluster that can't be reached and is not given up yet."""
    lost = [lost_at(world, cluster) for cluster in world.left_behind.get(workload, ())]
    return any(until is not None and at < until for until in lost)
