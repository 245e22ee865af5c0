"""Whether the pods of a workload are ready, in Kueue's words, and until when they have to be (`waitForPodsReady`).

Rule: docs/rules/eviction.md#pods-ready
"""

from events.event import Millis
from events.settings import PodsReadyRule
from events.workload import Condition, ConditionStatus
from projections.log_position import LogPosition
from projections.workloads.lifecycle import ADMITTED, PODS_READY, Workload, condition_at, with_condition

_WAIT_FOR_START = "WaitForStart"
_NOT_READY_YET = "Not all pods are ready or succeeded"


def pods_ready(workload: Workload, position: LogPosition, *, ready: bool) -> Condition:
    """The condition PodsReady after a change of the readiness of the workload's pods."""
    old = workload.condition(PODS_READY)
    was_ready = old is not None and (old.status is ConditionStatus.TRUE or old.reason == "WaitForRecovery")
    if ready:
        reason, message = (
            ("Recovered" if was_ready else "Started"),
            "All pods reached readiness and the workload is running",
        )
    else:
        reason = "WaitForRecovery" if was_ready else _WAIT_FOR_START
        message = "At least one pod has failed, waiting for recovery" if was_ready else _NOT_READY_YET
    status = ConditionStatus.TRUE if ready else ConditionStatus.FALSE
    return condition_at(PODS_READY, status, reason, message, workload, position)


def waits_for_start(workload: Workload, position: LogPosition) -> Workload:
    """The workload at the beginning of an attempt, or after one: how its pods stood says nothing of the next."""
    if workload.condition(PODS_READY) is None:
        return workload
    condition = condition_at(PODS_READY, ConditionStatus.FALSE, _WAIT_FOR_START, _NOT_READY_YET, workload, position)
    return with_condition(workload, condition)


def pods_ready_until(workload: Workload, rule: PodsReadyRule) -> Millis | None:
    """The time by which its pods have to be ready; None when they are, or it does not run."""
    admitted, ready = workload.true_since(ADMITTED), workload.condition(PODS_READY)
    if admitted is None or workload.evicted or workload.is_true(PODS_READY):
        return None
    if ready is None or ready.reason != "WaitForRecovery":  # Older versions of Kueue give the type as the reason.
        return admitted + rule.timeout
    recovery = rule.timeout if rule.recovery_timeout is None else rule.recovery_timeout
    return ready.since + recovery
