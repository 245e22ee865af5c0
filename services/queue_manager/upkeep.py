"""Decisions that come before all others, whether a workload holds quota or not: deactivation, back-off, its list of checks."""

from collections.abc import Iterable

from events.catalogue import Decision
from events.event import Millis
from events.quota import ClusterQueueObserved, StopPolicy
from events.upkeep import BackoffSet, ChecksRequired, DeactivationSettled
from events.workload import CheckState, EvictionOrdered, WorkloadDeactivated
from projections.checks.required import required_checks
from projections.configuration import Configuration
from projections.workloads.conditions import GATED_BY
from projections.workloads.lifecycle import DEACTIVATION_TARGET, Workload
from projections.workloads.stops import Requeue

_VALIDATED = "RayJob"
"""The kind of job whose controller refuses to run some."""


def deactivation(workload: Workload) -> list[Decision]:
    """Evict an inactive workload and forget its back-off; deactivate one that a rule ends.

    Rule: docs/rules/eviction.md#deactivation
    """
    target = workload.condition(DEACTIVATION_TARGET) if workload.is_true(DEACTIVATION_TARGET) else None
    if workload.spec.active:
        if target is None:
            return []
        return [WorkloadDeactivated(workload=workload.key, cause=target.reason, message=target.message)]
    if not workload.evicted:
        message = "The workload is deactivated"
        if target is not None:
            message = f"{message} due to {target.message}"
        cause = target.reason if target is not None else ""
        return [EvictionOrdered(workload=workload.key, reason="Deactivated", cause=cause, message=message)]
    unsettled = target is not None or workload.stops.requeue != Requeue()
    return [DeactivationSettled(workload=workload.key)] if unsettled else []


def check_backoff(workload: Workload) -> list[Decision]:
    """Checks that ask to be tried again later move the end of the back-off forward, never back.

    Rule: docs/rules/eviction.md#back-off
    """
    ends: Iterable[Millis] = (
        check.since + check.requeue_after
        for check in workload.checks.values()
        if check.state is CheckState.RETRY and check.requeue_after is not None
    )
    until = max(ends, default=None)
    if until is None or (workload.stops.requeue.at is not None and workload.stops.requeue.at >= until):
        return []
    return [BackoffSet(workload=workload.key, count=workload.stops.requeue.count, until=until)]


def gate_message(workload: Workload) -> str:
    """The condition message of a workload held back by admission gates."""
    return f"{GATED_BY}{','.join(workload.spec.gated_by)}"


def hold_message(workload: Workload) -> str:
    """The condition message of a workload on hold: scaled to zero, or refused by the controller of its job."""
    kind = "Job" if workload.owner is None else workload.owner.kind
    return f"{kind} {'failed validation' if kind == _VALIDATED else 'scaled to zero'}; workload on hold"


def check_list(world: Configuration, workload: Workload, queue: ClusterQueueObserved) -> list[Decision]:
    """Set the workload's admission checks to those that its ClusterQueue requires; nothing when they are, or its LocalQueue leads nowhere."""
    local_queue = world.local_queues.get(workload.local_queue)
    if local_queue is None or local_queue.stop is not StopPolicy.NONE:
        return []
    wanted = required_checks(queue, workload)
    bound = workload.admission.required_checks if workload.admission is not None else wanted
    if wanted == tuple(sorted(workload.checks)) and wanted == tuple(sorted(bound)):
        return []
    return [ChecksRequired(workload=workload.key, checks=wanted)]
