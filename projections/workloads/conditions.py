"""The conditions of a workload that is not admitted: QuotaReserved=False and Admitted=False, with their reasons.

With the gate UnadmittedWorkloadsObservability (on) every cause has a reason of its own, and Admitted=False says what is
missing. Without it the reasons fall back to Kueue's older, broader ones.
"""

from collections.abc import Collection

from msgspec.structs import replace

from events.settings import SettingsObserved
from events.workload import CheckState, ConditionStatus
from projections.feature_gates import enabled
from projections.log_position import LogPosition
from projections.workloads.lifecycle import (
    ADMITTED,
    QUOTA_RESERVED,
    WAITING_FOR_PODS,
    Workload,
    condition_at,
    with_condition,
    with_news,
)
from projections.workloads.second_pass import has_delayed_topology

OBSERVABILITY = "UnadmittedWorkloadsObservability"
EXPLICIT_STATUS = "UnadmittedWorkloadsExplicitStatus"

GATED = "AdmissionGated"
GATED_BY = "Admission is gated by: "
"""The beginning of the message that names the admission gates of a workload."""
NO_RESERVATION, UNSATISFIED_CHECKS = "NoReservation", "UnsatisfiedAdmissionChecks"
DELAYED_TOPOLOGY = "PendingDelayedTopologyRequests"
PENDING = "PendingEvaluation"
PENDING_MESSAGE = "Workload is pending evaluation in the scheduling queue"
GATE_CLEARED_MESSAGE = "AdmissionGatedBy cleared, waiting for quota reservation"

NODE_FAILURES = "NodeFailures"
"""Why who has lost a node or a card is evicted, and why a pod by itself does not come back after that."""

SILENT = frozenset({"Backoff", WAITING_FOR_PODS, NODE_FAILURES})
"""Reasons to be parked that QuotaReserved does not show by itself: requeueState does, or another condition."""

STANDING = frozenset({"Misconfigured", "Suspended", "Deactivated", GATED, "OnHold", "BudgetExhausted"}) | SILENT
"""Reasons that end as soon as the workload is in line again; any other stays until the next attempt."""

_BROADER = {
    "Misconfigured": "Inadmissible",
    "Suspended": "Inadmissible",
    "PendingEvaluation": "Pending",
    "NoMatchingFlavor": "Pending",
    "WaitingForQuota": "Pending",
    "ExceedsMaxQuota": "Pending",
    "WaitingForDevices": "Pending",
    "ExceedsCardCapacity": "Pending",
    "TopologyPlacementFailed": "Pending",
    "WaitingForPreemptedWorkloads": "Pending",
    "WaitingForPodsReady": "Waiting",
}

_OLDER = frozenset(_BROADER.values())
"""The reasons of an older Kueue, or of one without the gate: they stay no longer than a reason that ends."""


def without_quota(
    workload: Workload, settings: SettingsObserved, reason: str, message: str, position: LogPosition
) -> Workload:
    """The workload with QuotaReserved=False for this reason, and Admitted=False where that is shown."""
    shown = shown_reason(settings, reason)
    if reason == GATED and message.startswith(GATED_BY):
        before = workload.condition(QUOTA_RESERVED)
        if before is None or before.message != message:
            workload = with_news(workload, position, GATED, f"Workload a{message[1:]}")
    return not_admitted(_with_false(workload, QUOTA_RESERVED, shown, message, position), settings, position)


def shown_reason(settings: SettingsObserved, reason: str) -> str:
    """The reason that QuotaReserved=False shows for this one."""
    return reason if enabled(settings, OBSERVABILITY) else _BROADER.get(reason, reason)


def not_shown(settings: SettingsObserved, reason: str) -> bool:
    """Whether QuotaReserved is left as it is when a workload is parked for this reason."""
    return reason in SILENT or (reason == "Deactivated" and not enabled(settings, OBSERVABILITY))


def parked(
    workload: Workload, settings: SettingsObserved, reason: str, message: str, position: LogPosition
) -> Workload:
    """The workload with the conditions that it gets when it is parked.

    What QuotaReserved does not show else it does where that names what held the workload back until now, and is over.
    """
    if not_shown(settings, reason) and not (reason in SILENT and _names(workload, settings, STANDING)):
        return workload
    return without_quota(workload, settings, reason, message, position)


def _names(workload: Workload, settings: SettingsObserved, reasons: Collection[str]) -> bool:
    """Whether QuotaReserved names one of these, and is to say so when that is over; older Kueues leave it there until the next attempt."""
    current = workload.condition(QUOTA_RESERVED)
    return current is not None and current.reason in reasons and enabled(settings, OBSERVABILITY)


def in_line(workload: Workload, settings: SettingsObserved, position: LogPosition) -> Workload:
    """The workload with the conditions that it gets when it is queued: what held it back has ended."""
    if workload.condition(QUOTA_RESERVED) is None:
        explicit = enabled(settings, OBSERVABILITY) and enabled(settings, EXPLICIT_STATUS)
        return without_quota(workload, settings, PENDING, PENDING_MESSAGE, position) if explicit else workload
    if _names(workload, settings, STANDING | _OLDER):
        return without_quota(workload, settings, PENDING, PENDING_MESSAGE, position)
    return not_admitted(workload, settings, position)


def not_admitted(workload: Workload, settings: SettingsObserved, position: LogPosition) -> Workload:
    """The workload with Admitted=False and what is missing; unchanged while nothing is, or while it may still run."""
    ready = all(check.state is CheckState.READY for check in workload.checks.values())
    unplaced = workload.reserved and has_delayed_topology(workload)
    observed = enabled(settings, OBSERVABILITY)
    if workload.reserved and (workload.admitted or (ready and not unplaced)):
        return workload
    if not observed and not workload.admitted:
        return workload
    if workload.reserved and ready:
        reason, message = DELAYED_TOPOLOGY, "There are pending delayed topology requests"
    elif workload.reserved:
        reason, message = UNSATISFIED_CHECKS, "The workload has not all checks ready"
    elif ready or observed:
        reason, message = NO_RESERVATION, "The workload has no reservation"
    else:
        reason = "NoReservationUnsatisfiedChecks"
        message = "The workload has no reservation and not all checks ready"
    return _with_false(workload, ADMITTED, reason, message, position)


def _with_false(workload: Workload, kind: str, reason: str, message: str, position: LogPosition) -> Workload:
    condition = condition_at(kind, ConditionStatus.FALSE, reason, message, workload, position)
    before = workload.condition(kind)
    if before is not None and replace(condition, since=before.since, generation=before.generation) == before:
        return workload
    return with_condition(workload, condition)
