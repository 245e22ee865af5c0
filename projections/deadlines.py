"""When time alone changes what has to happen to a workload: back-off over, pods not ready in time, run too long."""

from events.event import Millis
from events.settings import SettingsObserved
from events.workload import ConditionStatus
from projections.workloads import ADMITTED, PODS_READY, Workload


def backoff_until(workload: Workload) -> Millis | None:
    """The time before which the workload may not queue again."""
    return None if workload.reserved or workload.finished else workload.requeue.at


def pods_ready_until(workload: Workload, settings: SettingsObserved) -> Millis | None:
    """The time by which its pods have to be ready (kueue-semantics §8); None when they are or nobody asks."""
    rule = settings.pods_ready
    admitted = workload.condition(ADMITTED)
    if rule is None or admitted is None or admitted.status is not ConditionStatus.TRUE or workload.evicted:
        return None
    ready = workload.condition(PODS_READY)
    if ready is None or ready.reason == "WaitForStart":
        return admitted.since + rule.timeout
    if ready.status is ConditionStatus.TRUE:
        return None
    recovery = rule.timeout if rule.recovery_timeout is None else rule.recovery_timeout
    return ready.since + recovery


def runs_until(workload: Workload) -> Millis | None:
    """The time at which its maximum execution time is used up."""
    admitted = workload.condition(ADMITTED)
    if (
        workload.spec.max_execution is None
        or admitted is None
        or admitted.status is not ConditionStatus.TRUE
        or workload.evicted
    ):
        return None
    return admitted.since + workload.spec.max_execution - workload.past_execution


def next_deadline(workload: Workload, settings: SettingsObserved) -> Millis | None:
    """The first of these times."""
    if workload.finished:
        return None
    times = (backoff_until(workload), pods_ready_until(workload, settings), runs_until(workload))
    return min((time for time in times if time is not None), default=None)
