"""Folding what is decided about a workload besides its place in line: its checks, its back-off, its end."""

from typing import TypeAlias, assert_never

from msgspec.structs import replace

from events.application import FAILED_TO_START
from events.multikueue import WorkloadEndedElsewhere
from events.upkeep import (
    AdmissionGateCleared,
    BackoffSet,
    CheckSettled,
    ChecksRequired,
    DeactivationOrdered,
    DeactivationSettled,
    DiscardReason,
    WorkloadDiscarded,
    WorkloadFailedToStart,
    WorkloadOrphaned,
)
from events.workload import CheckStatus
from projections.folds.workloads import leave
from projections.log_position import LogPosition
from projections.preemption.state import PreemptionState
from projections.workloads.changed_part import changed_part
from projections.workloads.conditions import GATE_CLEARED_MESSAGE, PENDING, not_admitted, without_quota
from projections.workloads.lifecycle import (
    DEACTIVATION_TARGET,
    FINISHED,
    Workload,
    true_condition,
    with_condition,
    with_news,
    without_conditions,
)
from projections.workloads.pods import goes_with_its_job
from projections.workloads.stops import Requeue

UpkeepEvent: TypeAlias = (
    ChecksRequired
    | CheckSettled
    | BackoffSet
    | AdmissionGateCleared
    | DeactivationOrdered
    | DeactivationSettled
    | WorkloadOrphaned
    | WorkloadFailedToStart
    | WorkloadEndedElsewhere
    | WorkloadDiscarded
)

OWNER_NOT_FOUND = "OwnerNotFound"


def evolve_upkeep(world: PreemptionState, event: UpkeepEvent, position: LogPosition) -> None:
    """Fold one such decision; one about a workload that is gone changes nothing."""
    workload = world.workloads.get(event.workload)
    if workload is not None:
        world.put_workload(replace(_evolved(world, workload, event, position), decided=position.sequence))


def _evolved(world: PreemptionState, workload: Workload, event: UpkeepEvent, position: LogPosition) -> Workload:
    match event:
        case ChecksRequired():
            return _require(workload, event, position)
        case CheckSettled():
            return settled(workload, event.check, position)
        case BackoffSet():
            return _put_back(workload, Requeue(count=event.count, at=event.until))
        case AdmissionGateCleared():
            noted = with_news(
                workload, position, "AdmissionGateCleared", "Admission gate cleared, workload is now admissible"
            )
            return without_quota(noted, world.settings, PENDING, GATE_CLEARED_MESSAGE, position)
        case DeactivationOrdered():
            return not_admitted(_to_be_deactivated(workload, event, position), world.settings, position)
        case DeactivationSettled():
            return _put_back(without_conditions(workload, DEACTIVATION_TARGET), Requeue())
        case WorkloadOrphaned():
            return _orphaned(leave(world, workload), position)
        case WorkloadFailedToStart() | WorkloadEndedElsewhere():
            reason = event.reason if isinstance(event, WorkloadEndedElsewhere) else FAILED_TO_START
            over = true_condition(FINISHED, reason, event.message, workload, position)
            return with_condition(leave(world, workload), over)
        case WorkloadDiscarded():
            return _discarded(leave(world, workload), event, position)
        case _:
            assert_never(event)


def _put_back(workload: Workload, requeue: Requeue) -> Workload:
    return replace(workload, stops=changed_part(workload.stops, requeue=requeue))


def settled(workload: Workload, check: CheckStatus, position: LogPosition) -> Workload:
    """The workload with what a check of ours says, and an Event where its state is another one."""
    before = workload.checks.get(check.name)
    if before is not None and before.state is not check.state:
        message = f"Admission check {check.name} updated state from {before.state} to {check.state}"
        message += f" with message: {check.message}" if check.message else ""
        workload = with_news(workload, position, "AdmissionCheckUpdated", message)
    return replace(workload, checks={**workload.checks, check.name: replace(check, decided=position.sequence)})


def _to_be_deactivated(workload: Workload, event: DeactivationOrdered, position: LogPosition) -> Workload:
    ordered = true_condition(DEACTIVATION_TARGET, event.cause, event.message, workload, position)
    changed = with_condition(workload, ordered)
    match event.cause:
        case "AdmissionCheck":
            message = f"Deactivated due to {event.message}"
            return with_news(changed, position, "AdmissionCheckRejected", message, warning=True)
        case "MaximumExecutionTimeExceeded":
            message = f"The maximum execution time ({(workload.spec.max_execution or 0) // 1000}s) exceeded"
            stops = changed_part(changed.stops, past_execution=0)  # Once it is active again, its time starts anew.
            return with_news(replace(changed, stops=stops), position, event.cause, message, warning=True)
        case _:
            return changed


def _orphaned(workload: Workload, position: LogPosition) -> Workload:
    if not workload.finished:
        message = "The workload's owner no longer exists"
        workload = with_condition(workload, true_condition(FINISHED, OWNER_NOT_FOUND, message, workload, position))
    return replace(workload, in_cluster=replace(workload.in_cluster, released=True))


def _discarded(workload: Workload, event: WorkloadDiscarded, position: LogPosition) -> Workload:
    workload = replace(workload, in_cluster=replace(workload.in_cluster, discarded=event.reason))
    goes_along = event.reason is DiscardReason.DEACTIVATED and goes_with_its_job(workload)
    if event.reason is DiscardReason.DELETED or goes_along:
        return workload
    return with_news(workload, position, "Deleted", f"Deleted {event.reason.lower()} workload due to elapsed retention")


def _require(workload: Workload, event: ChecksRequired, position: LogPosition) -> Workload:
    checks = {
        name: workload.checks.get(name) or CheckStatus(name=name, since=position.at, decided=position.sequence)
        for name in sorted(event.checks)
    }
    admission = workload.admission
    if admission is not None:
        admission = replace(admission, required_checks=tuple(sorted(event.checks)))
    asked = {name: one for name, one in workload.provisioning.items() if name in checks}
    return replace(workload, checks=checks, admission=admission, provisioning=asked)
