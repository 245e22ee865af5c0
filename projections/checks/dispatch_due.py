"""When something about a dispatch falls due by time alone: a cluster is given up, others are tried, or answers are waited for no more."""

from events.event import Millis
from events.multikueue import BY_ESTIMATE, INCREMENTAL
from projections.checks.dispatch import ROUND, Dispatch, lost_at
from projections.checks.left_behind import given_up_at
from projections.checks.state import DispatchState
from projections.configuration import Configuration


def note_due(world: DispatchState, workload: str, dispatch: Dispatch) -> None:
    """Have a workload looked at when something about where it is sent falls due."""
    found = world.workloads.get(workload)
    left = [] if found is None else given_up_at(world, found)
    for due in (*_times(world, dispatch), *left):
        world.review_at(due, workload)


def _times(world: Configuration, dispatch: Dispatch) -> list[Millis]:
    if dispatch.cluster or dispatch.follows:
        lost = lost_at(world, dispatch.runs_in)
        return [] if lost is None else [lost]
    rule = world.settings.multikueue
    if rule is not None and rule.dispatcher == BY_ESTIMATE and dispatch.asked:
        return [dispatch.nominated_at + rule.estimate_timeout]
    more = rule is not None and (rule.dispatcher == INCREMENTAL or (rule.dispatcher == BY_ESTIMATE and dispatch.later))
    rounds = [dispatch.nominated_at + ROUND] if more else []
    return [*rounds, *(one.at + ROUND for one in dispatch.opened)]
