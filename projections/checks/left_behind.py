"""Copies that are left behind: those by which a job may be in a cluster from a choice that counts no more.

Rule: docs/rules/multikueue.md#left-behind
"""

from events.event import Millis
from events.multikueue import RemoteWorkloadObserved
from projections.checks.dispatch import has_ended, in_sync, lost_at, reachable
from projections.checks.state import DispatchState
from projections.workloads.lifecycle import Workload
from projections.workloads.slices import slices_beside


def standing_copies(world: DispatchState, workload: Workload) -> dict[str, RemoteWorkloadObserved]:
    """The copies in clusters that are connected by which it may be tried or run there: they ask for the same, and are not left behind."""
    left = world.left_behind.get(workload.key, {})
    copies = reachable(world, world.remotes.get(workload.key, {}))
    return {name: one for name, one in copies.items() if in_sync(workload, one) and left.get(name) != one.uid}


def left_in(world: DispatchState, workload: Workload) -> list[str]:
    """The clusters in which its job may be by a choice that counts no more, be it that of a slice before."""
    keys = slices_beside(world, workload.key)
    return sorted({cluster for key in keys for cluster in world.left_behind.get(key, ())})


def given_up_at(world: DispatchState, workload: Workload) -> list[Millis]:
    """When clusters that can't be reached are given up in which its job may be at work by an earlier choice."""
    return [lost for cluster in left_in(world, workload) if (lost := lost_at(world, cluster)) is not None]


def runs_on_alone(world: DispatchState, workload: Workload, at: Millis) -> bool:
    """Whether its job may be at work by an earlier choice in a cluster that can't be reached and is not given up yet."""
    return any(at < until for until in given_up_at(world, workload))


def copies_that_ended(world: DispatchState, workload: Workload) -> dict[str, RemoteWorkloadObserved]:
    """The copies by which it is over: that in the cluster that was chosen, or, where none is, those by which it is tried."""
    dispatch = world.dispatches.get(workload.key)
    if dispatch is None or not dispatch.cluster:
        found = standing_copies(world, workload)
    else:
        copies = reachable(world, world.remotes.get(workload.key, {}))
        found = {name: one for name, one in copies.items() if name == dispatch.cluster}
    return {name: one for name, one in found.items() if has_ended(one)}
