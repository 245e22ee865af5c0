"""Folding what is decided about a workload besides its place in line: its checks, its back-off, its end."""

from typing import TypeAlias, assert_never

from msgspec.structs import replace

from events.upkeep import (
    AdmissionGateCleared,
    BackoffSet,
    ChecksRequired,
    DeactivationOrdered,
    DeactivationSettled,
    WorkloadDiscarded,
    WorkloadOrphaned,
)
from events.workload import CheckStatus, Condition, ConditionStatus
from projections.evolve_workloads import leave
from projections.place import Place
from projections.unadmitted import GATE_CLEARED_MESSAGE, PENDING, not_admitted, without_quota
from projections.workloads import DEACTIVATION_TARGET, FINISHED, Requeue, Workload, with_condition, without_conditions
from projections.world import World

UpkeepEvent: TypeAlias = (
    ChecksRequired
    | BackoffSet
    | AdmissionGateCleared
    | DeactivationOrdered
    | DeactivationSettled
    | WorkloadOrphaned
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
        case BackoffSet():
            return replace(workload, requeue=Requeue(count=event.count, at=event.until))
        case AdmissionGateCleared():
            return without_quota(workload, world.settings, PENDING, GATE_CLEARED_MESSAGE, place)
        case DeactivationOrdered():
            told = _true(workload, DEACTIVATION_TARGET, event.cause, event.message, place)
            if event.cause == "MaximumExecutionTimeExceeded":
                told = replace(told, past_execution=0)  # Once it is active again, its time starts anew.
            return not_admitted(told, world.settings, place)
        case DeactivationSettled():
            return replace(without_conditions(workload, DEACTIVATION_TARGET), requeue=Requeue())
        case WorkloadOrphaned():
            left = leave(world, workload)
            if left.finished:
                return replace(left, released=True)
            message = "The workload's owner no longer exists"
            return replace(_true(left, FINISHED, OWNER_NOT_FOUND, message, place), released=True)
        case WorkloadDiscarded():
            return replace(leave(world, workload), discarded=event.reason)
        case _:
            assert_never(event)


def _require(workload: Workload, event: ChecksRequired, place: Place) -> Workload:
    checks = {
        name: workload.checks.get(name) or CheckStatus(name=name, since=place.at) for name in sorted(event.checks)
    }
    admission = workload.admission
    if admission is not None:
        admission = replace(admission, required_checks=tuple(sorted(event.checks)))
    return replace(workload, checks=checks, admission=admission)


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
