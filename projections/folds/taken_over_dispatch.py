"""Folding in which other cluster a workload runs that was decided about on a log that is lost, or by another manager.

Rule: docs/rules/multikueue.md#taken-over
"""

from events.workload import AdoptedStatus, CheckState, DecidedElsewhere
from projections.checks.dispatch import Dispatch
from projections.checks.dispatch_due import note_due
from projections.checks.state import DispatchState
from projections.workloads.decision_mark import number_here
from projections.workloads.lifecycle import Workload
from projections.workloads.multikueue_check import check_of


def take_over_dispatch(world: DispatchState, workload: Workload, status: AdoptedStatus) -> None:
    """Let a workload run where its object says; what was decided here about its clusters counts no more."""
    known, check = world.dispatches.get(workload.key), check_of(world.checks, workload)
    world.remote_work.mark_dirty(workload.key)
    if status.cluster and check and workload.reserved and not workload.finished:
        ready = _is_ready(status, check)
        begun_anew = known is not None and known.synced and not ready
        if known is None or known.cluster != status.cluster or begun_anew:
            found = Dispatch(check=check, cluster=status.cluster, synced=ready, taken_over=True, unseen=True)
            world.trail.put(world.dispatches, workload.key, found)
            note_due(world, workload.key, found)
    elif known is not None:
        named = known.named if check and workload.reserved and not known.cluster else ()
        if named:
            world.trail.put(world.dispatches, workload.key, Dispatch(check=check, named=named))
        else:
            world.trail.drop(world.dispatches, workload.key)


def take_over_choice(world: DispatchState, workload: Workload, told: DecidedElsewhere) -> None:
    """Let a workload run where its object says, where the log knows all times that this shows but not the choice of a cluster.

    So it is where the choice was lost with the end of the log: it turns no condition that has a time, and its object is
    marked with it. Or where the log was lost from within the second on in which the check became Ready.
    """
    known, check = world.dispatches.get(workload.key), check_of(world.checks, workload)
    if told.version <= workload.in_cluster.written or not (told.status.cluster and workload.reserved):
        return
    chosen_here = known is not None and bool(known.cluster)
    lost = number_here(told.decision, workload.in_cluster) > workload.decided
    if lost or (_is_ready(told.status, check) and not chosen_here):
        take_over_dispatch(world, workload, told.status)


def _is_ready(status: AdoptedStatus, check: str) -> bool:
    return any(one.name == check and one.state is CheckState.READY for one in status.checks)
