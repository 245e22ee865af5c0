"""Folding what is decided about a workload besides its place in line: its checks, its back-off, its end."""

from typing import TypeAlias, assert_never

from msgspec.structs import replace

from events.application import FAILED_TO_START
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
from events.workload import CheckStatus, Condition, ConditionStatus
from projections.log_position import Place
from projections.workloads.conditions import GATE_CLEARED_MESSAGE, PENDING, not_admitted, without_quota
from projections.workloads.evolve import leave
from projections.workloads.lifecycle import (
    DEACTIVATION_TARGET,
    FINISHED,
    Requeue,
    Workload,
    with_condition,
    with_news,
    without_conditions,
)
from projections.world import World

UpkeepEvent: TypeAlias = (
    ChecksRequired
    | CheckSettled
    | BackoffSet
    | AdmissionGateCleared
    | DeactivationOrdered
    | DeactivationSettled
    | WorkloadOrphaned
    | WorkloadFailedToStart
    | WorkloadDiscarded
)

OWNER_NOT_FOUND = "OwnerNotFound"


def evolve_upkeep(world: World, event: UpkeepEvent, place: Place) -> None:
    """Fold one such decision; one about a workload that is gone changes nothing."""
    workload = world.workloads.get(event.workload)
    if workload is not None:
        world.put_workload(replace(_evolved(world, workload, event, place), decided=place.sequence))


def _evolved(world: World, workload: Workload, event: UpkeepEvent, place: Place) -> Workload:
    match event:
        case ChecksRequired():
            return _require(workload, event, place)
        case CheckSettled():
            return _settled(workload, event.check, place)
        case BackoffSet():
            return replace(workload, requeue=Requeue(count=event.count, at=event.until))
        case AdmissionGateCleared():
            told = with_news(
                workload, place, "AdmissionGateCleared", "Admission gate cleared, workload is now admissible"
            )
            return without_quota(told, world.settings, PENDING, GATE_CLEARED_MESSAGE, place)
        case DeactivationOrdered():
            return not_admitted(_to_be_deactivated(workload, event, place), world.settings, place)
        case DeactivationSettled():
            return replace(without_conditions(workload, DEACTIVATION_TARGET), requeue=Requeue())
        case WorkloadOrphaned():
            return _orphaned(leave(world, workload), place)
        case WorkloadFailedToStart():
            return _true(leave(world, workload), FINISHED, FAILED_TO_START, event.message, place)
        case WorkloadDiscarded():
            return _discarded(leave(world, workload), event, place)
        case _:
            assert_never(event)


def _settled(workload: Workload, check: CheckStatus, place: Place) -> Workload:
    before = workload.checks.get(check.name)
    if before is not None and before.state is not check.state:
        told = f"Admission check {check.name} updated state from {before.state} to {check.state}"
        told += f" with message: {check.message}" if check.message else ""
        workload = with_news(workload, place, "AdmissionCheckUpdated", told)
    return replace(workload, checks={**workload.checks, check.name: replace(check, decided=place.sequence)})


def _to_be_deactivated(workload: Workload, event: DeactivationOrdered, place: Place) -> Workload:
    told = _true(workload, DEACTIVATION_TARGET, event.cause, event.message, place)
    match event.cause:
        case "AdmissionCheck":
            message = f"Deactivated due to {event.message}"
            return with_news(told, place, "AdmissionCheckRejected", message, warning=True)
        case "MaximumExecutionTimeExceeded":
            message = f"The maximum execution time ({(workload.spec.max_execution or 0) // 1000}s) exceeded"
            told = replace(told, past_execution=0)  # Once it is active again, its time starts anew.
            return with_news(told, place, event.cause, message, warning=True)
        case _:
            return told


def _orphaned(workload: Workload, place: Place) -> Workload:
    if not workload.finished:
        workload = _true(workload, FINISHED, OWNER_NOT_FOUND, "The workload's owner no longer exists", place)
    return replace(workload, released=True)


def _discarded(workload: Workload, event: WorkloadDiscarded, place: Place) -> Workload:
    workload = replace(workload, discarded=event.reason)
    if event.reason is DiscardReason.DELETED:
        return workload
    return with_news(workload, place, "Deleted", f"Deleted {event.reason.lower()} workload due to elapsed retention")


def _require(workload: Workload, event: ChecksRequired, place: Place) -> Workload:
    checks = {
        name: workload.checks.get(name) or CheckStatus(name=name, since=place.at, decided=place.sequence)
        for name in sorted(event.checks)
    }
    admission = workload.admission
    if admission is not None:
        admission = replace(admission, required_checks=tuple(sorted(event.checks)))
    asked = {name: one for name, one in workload.provisioning.items() if name in checks}
    return replace(workload, checks=checks, admission=admission, provisioning=asked)


def _true(workload: Workload, kind: str, reason: str, message: str, place: Place) -> Workload:
    told = Condition(
        type=kind,
        status=ConditionStatus.TRUE,
        reason=reason,
        message=message,
        since=place.at,
        generation=workload.generation,
    )
    return with_condition(workload, told)
