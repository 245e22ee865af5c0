"""Folding in which other cluster a workload runs that was decided about on a log that is lost, or by another manager.

Rule: docs/rules/multikueue.md#taken-over
"""

from events.workload import AdoptedStatus, CheckState
from projections.checks.dispatch import Dispatch, check_of
from projections.checks.dispatch_due import note_due
from projections.checks.state import DispatchState
from projections.workloads.lifecycle import Workload


def take_over_dispatch(world: DispatchState, workload: Workload, status: AdoptedStatus) -> None:
    """Let a workload run where its object says; what was decided here about its clusters counts no more."""
    known, check = world.dispatches.get(workload.key), check_of(world.checks, workload)
    world.remote_work.mark_dirty(workload.key)
    if status.cluster and check and workload.reserved and not workload.finished:
        if known is None or known.cluster != status.cluster:
            ready = workload.checks[check].state is CheckState.READY
            found = Dispatch(check=check, cluster=status.cluster, synced=ready, taken_over=True, unseen=True)
            world.trail.put(world.dispatches, workload.key, found)
            note_due(world, workload.key, found)
    elif known is not None:
        named = known.named if check and workload.reserved and not known.cluster else ()
        if named:
            world.trail.put(world.dispatches, workload.key, Dispatch(check=check, named=named))
        else:
            world.trail.drop(world.dispatches, workload.key)
