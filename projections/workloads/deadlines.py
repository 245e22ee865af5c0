"""When time alone changes what has to happen to a workload: back-off over, pods not ready in time, run too long."""

from events.event import Millis
from events.settings import SettingsObserved
from events.workload import ConditionStatus
from projections.workloads.lifecycle import ADMITTED, EVICTED, FINISHED, PODS_READY, Workload

DEACTIVATED_DUE_TO = "DeactivatedDueTo"


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
    if ready is not None and ready.status is ConditionStatus.TRUE:
        return None
    if ready is None or ready.reason != "WaitForRecovery":  # Older versions of Kueue give the type as the reason.
        return admitted.since + rule.timeout
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


def kept_until(workload: Workload, settings: SettingsObserved) -> Millis | None:
    """Until when its object stays after the end, or after Kueue's own rules have deactivated it; None for ever."""
    if workload.discarded:
        return None
    finished, evicted = workload.condition(FINISHED), workload.condition(EVICTED)
    if finished is not None and finished.status is ConditionStatus.TRUE:
        return None if settings.retain_finished is None else finished.since + settings.retain_finished
    if settings.retain_deactivated is None or workload.spec.active or workload.reserved:
        return None
    by_rule = evicted is not None and workload.evicted and evicted.reason.startswith(DEACTIVATED_DUE_TO)
    return evicted.since + settings.retain_deactivated if by_rule and evicted is not None else None


def _timed(workload: Workload, settings: SettingsObserved) -> bool:
    """Whether time means anything to it: for most workloads nothing is ever due."""
    return (
        workload.requeue.at is not None
        or workload.spec.max_execution is not None
        or settings.pods_ready is not None
        or settings.retain_finished is not None
        or settings.retain_deactivated is not None
    )


def next_deadline(workload: Workload, settings: SettingsObserved) -> Millis | None:
    """The first of these times."""
    if not _timed(workload, settings):
        return None
    if workload.finished:
        return kept_until(workload, settings)
    times = (
        backoff_until(workload),
        pods_ready_until(workload, settings),
        runs_until(workload),
        kept_until(workload, settings),
    )
    return min((time for time in times if time is not None), default=None)
