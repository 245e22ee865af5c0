"""Where a workload without quota waits: queued, or parked with a reason (docs/rules/queues.md#obstacles)."""

from events.catalogue import Decision
from events.event import Millis
from events.quota import StopPolicy
from events.upkeep import AdmissionGateCleared
from events.workload import ConditionStatus, WorkloadParked, WorkloadQueued, WorkloadRequeued
from projections.budgets.enforcement import EXHAUSTED, used_up
from projections.configuration import Configuration, refused_because
from projections.feature_gates import enabled
from projections.partitions.homes import FIRST, owns_queue
from projections.queues.active_condition import takes_in
from projections.queues.pending_queues import PendingQueues
from projections.queues.state import QueueState
from projections.set_aside.records import ADMITTER, LEFT_ALONE, Scope, is_aside
from projections.unsupported import CLAIMS, NOT_DONE, REFUSED_BEFORE
from projections.workloads.conditions import (
    GATED,
    GATED_BY,
    NODE_FAILURES,
    OBSERVABILITY,
    not_shown,
    shown_reason,
)
from projections.workloads.lifecycle import QUOTA_RESERVED, REQUEUED, WAITING_FOR_PODS, Workload
from projections.workloads.pods import has_hanging_pods
from projections.workloads.state import WorkloadState
from projections.workloads.terminating import is_being_deleted
from services.queue_manager.state import QueueManagerState
from services.queue_manager.upkeep import check_backoff, check_list, deactivation, gate_message, hold_message

DEACTIVATED = ("Deactivated", "The workload is deactivated")
CLAIMS_SWITCHED_OFF = (
    "Misconfigured",
    "Workload uses DRA resources but the KueueDRAIntegration feature gate is not enabled",
)
"""Reason and message for who claims devices while the gate KueueDRAIntegration is off; the words are Kueue's."""


def decide_waiting(world: QueueManagerState, workload: Workload, at: Millis) -> list[Decision]:
    """Queue or park a workload without quota; nothing when it waits where it should. One step at a time, as Kueue does."""
    first = deactivation(workload)
    if not first and workload.spec.active:
        first = check_backoff(workload)
    if first:
        return first
    if workload.spec.active and workload.stops.requeue.at is not None and workload.stops.requeue.at > at:
        queue = world.cluster_queue_of(workload)
        message = "Waiting for the back-off after an eviction to end"
        return _park(world, workload, queue.name if queue is not None else "", "Backoff", message)
    for events in (_requeued(world, workload), _gate_cleared(workload), _checks(world, workload)):
        if events:
            return events
    return _for_a_budget(world, workload, at) or _place(world, workload, at)


def _requeued(world: WorkloadState, workload: Workload) -> list[Decision]:
    """Set Requeued to true once what an evicted workload waited for (back-off, stopped queue, inactive) is over."""
    waited = workload.condition(REQUEUED)
    if waited is None or waited.status is not ConditionStatus.FALSE or not workload.spec.active:
        return []
    local_queue = world.local_queues.get(workload.local_queue)
    queue = world.cluster_queue_of(workload)
    match waited.reason:
        case "LocalQueueStopped":
            over = local_queue is not None and local_queue.stop is StopPolicy.NONE
            reason, message = "LocalQueueRestarted", "The LocalQueue was restarted after being stopped"
        case "ClusterQueueStopped":
            over = queue is not None and queue.stop is StopPolicy.NONE
            reason, message = "ClusterQueueRestarted", "The ClusterQueue was restarted after being stopped"
        case waited_for if waited_for.startswith("Deactivated"):
            over, reason, message = True, "Reactivated", "The workload was reactivated"
        case "NodeFailures":
            return []  # A pod by itself: nobody makes it anew.
        case _:
            over, reason, message = True, "BackoffFinished", "The workload backoff was finished"
    return [WorkloadRequeued(workload=workload.key, allowed=True, reason=reason, message=message)] if over else []


def _gate_cleared(workload: Workload) -> list[Decision]:
    condition = workload.condition(QUOTA_RESERVED)
    # A closed preemption gate has the same reason with another message.
    was_gated = (
        condition is not None
        and condition.status is ConditionStatus.FALSE
        and condition.reason == GATED
        and condition.message.startswith(GATED_BY)
    )
    return [AdmissionGateCleared(workload=workload.key)] if was_gated and not workload.spec.gated_by else []


def _checks(world: WorkloadState, workload: Workload) -> list[Decision]:
    queue = world.cluster_queue_of(workload)
    if queue is None or _refused_feature(world, workload) is not None:
        return []  # Kueue has no checks for whom it does not queue.
    return check_list(world, workload, queue)


def _for_a_budget(world: QueueManagerState, workload: Workload, at: Millis) -> list[Decision]:
    """Park a workload that requests what an exhausted budget covers."""
    queue = world.cluster_queue_of(workload) if world.budgets else None
    spent = used_up(world, workload, queue.name, at) if queue is not None else None
    if queue is None or spent is None or standing_obstacle(world, workload) is not None:
        return []
    return _park(world, workload, queue.name, EXHAUSTED, spent.message)


def _place(world: QueueManagerState, workload: Workload, at: Millis) -> list[Decision]:
    queue = world.cluster_queue_of(workload)
    obstacle = standing_obstacle(world, workload)
    if obstacle is not None:
        reason, message = obstacle
        return _park(world, workload, queue.name if queue is not None else "", reason, message)
    if queue is None:
        return []
    if is_aside(world.aside, ADMITTER, Scope.WORKLOAD, workload.key) and workload.line == queue.name:
        return []  # It is queued again when it is taken up again.
    waits_on = world.budgets and used_up(world, workload, queue.name, at) is not None
    if workload.line != queue.name or (not waits_on and _parked_as(world.lines, workload, queue.name) in HELD_BACK):
        return [WorkloadQueued(workload=workload.key, cluster_queue=queue.name)]
    return []


def _park(world: QueueState, workload: Workload, line: str, reason: str, message: str) -> list[Decision]:
    condition = workload.condition(QUOTA_RESERVED)
    settings = world.settings
    same = (
        condition is None
        or not_shown(settings, reason)
        or (condition.reason, condition.message) == (shown_reason(settings, reason), message)
    )
    if _parked_as(world.lines, workload, line) == reason and same:
        return []
    return [WorkloadParked(workload=workload.key, cluster_queue=line, reason=reason, message=message)]


HELD_BACK = frozenset(
    {
        "Backoff",
        "Suspended",
        "Misconfigured",
        "Deactivated",
        GATED,
        "OnHold",
        WAITING_FOR_PODS,
        NODE_FAILURES,
        EXHAUSTED,
        LEFT_ALONE,
        *NOT_DONE,
        *REFUSED_BEFORE,
    }
)
"""Reasons for which this service parks a workload, and queues it again once the cause is gone."""


def standing_obstacle(world: QueueState, workload: Workload) -> tuple[str, str] | None:  # noqa: PLR0911 - one rule a line
    """Reason and message why the workload may not even be queued; None when it may."""
    own = _own_obstacle(world, workload) or _refused_feature(world, workload)
    if own is not None:
        return own
    local_queue = world.local_queues.get(workload.local_queue)
    if local_queue is None:
        return "Misconfigured", _missing(world, "LocalQueue", workload.namespace, workload.spec.queue)
    if local_queue.terminating:
        # Who holds quota loses it (docs/rules/queues.md#deleted-local-queue): let in again, it would lose it for ever.
        return "Misconfigured", f"LocalQueue {workload.spec.queue} is terminating or missing"
    if local_queue.stop is not StopPolicy.NONE:
        return "Suspended", f"LocalQueue {workload.spec.queue} is inactive"
    queue = world.cluster_queues.get(local_queue.cluster_queue)
    if queue is None:
        return "Misconfigured", _missing(world, "ClusterQueue", "", local_queue.cluster_queue)
    closed = _closed(world, workload, queue.name)
    if closed is not None:
        return closed
    if workload.spec.waits_for_pods:
        return WAITING_FOR_PODS, "Pods of the group have ended and were not replaced yet"
    if has_hanging_pods(workload):
        return WAITING_FOR_PODS, "Pods that were stopped are not gone yet"
    # Without the observability gate, an inactive workload shows what else is wrong, and nothing otherwise.
    return None if workload.spec.active else DEACTIVATED


def _own_obstacle(world: QueueState, workload: Workload) -> tuple[str, str] | None:
    """Reason and message why a workload may not be queued whatever its queue says; None when it may."""
    if not workload.spec.active and enabled(world.settings, OBSERVABILITY):
        return DEACTIVATED
    if workload.spec.gated_by:
        return GATED, gate_message(workload)
    lost = workload.condition(REQUEUED)
    if lost is not None and lost.status is ConditionStatus.FALSE and lost.reason == NODE_FAILURES:
        return NODE_FAILURES, lost.message
    if workload.spec.on_hold:
        return "OnHold", hold_message(workload)
    if workload.in_cluster.prebuilt and is_being_deleted(world.terminating.get(workload.key), workload):
        return "OnHold", "Its Workload is being deleted: the job waits for another one of that name"
    return None


def _closed(world: QueueState, workload: Workload, cluster_queue: str) -> tuple[str, str] | None:
    """Why a queue takes in nothing that asks for it here; None when it does."""
    if not owns_queue(world, cluster_queue):
        home = world.homes.get(cluster_queue, FIRST)
        if world.namespace_homes.get(workload.namespace) == world.partition:
            where = f"is decided in {home}, and all of namespace {workload.namespace} in {world.partition}"
            return "Misconfigured", f"ClusterQueue {cluster_queue} {where}: submit the job in another namespace"
        where = f"is decided in {home}, and the workload in {world.partition}"
        return "Misconfigured", f"ClusterQueue {cluster_queue} {where}: submit the job anew"
    return None if takes_in(world, cluster_queue) else closed_by(cluster_queue)


def closed_by(cluster_queue: str) -> tuple[str, str]:
    """Reason and message where a cluster queue takes nothing in, in Kueue's words."""
    return "Suspended", f"ClusterQueue {cluster_queue} is inactive"


def _missing(world: Configuration, kind: str, namespace: str, name: str) -> str:
    """Why there is no such queue: nobody made it, or it can't be understood (docs/rules/objects.md#refused)."""
    refused = world.refused.get(f"{kind}/{namespace}/{name}")
    return (
        f"{kind} {name} doesn't exist" if refused is None else f"{kind} {name} was refused: {refused_because(refused)}"
    )


def _refused_feature(world: Configuration, workload: Workload) -> tuple[str, str] | None:
    """Reason and message of the first requested feature that is not supported yet, is switched off, or can't be counted.

    None without one. Rule: docs/rules/claims.md#without-the-gate
    """
    spec, counts = workload.spec, enabled(world.settings, "KueueDRAIntegration")
    for code in spec.not_done:
        if code == CLAIMS.code and not counts:
            if enabled(world.settings, "KueueDRARejectWorkloadsWhenDRADisabled"):
                return CLAIMS_SWITCHED_OFF
        elif (found := NOT_DONE.get(code) or REFUSED_BEFORE.get(code)) is not None:
            return found.code, found.message
    if counts:
        return ("Misconfigured", spec.claims_refused) if spec.claims_refused else None
    refuses = enabled(world.settings, "KueueDRARejectWorkloadsWhenDRADisabled")
    return CLAIMS_SWITCHED_OFF if refuses and any(one.shape.claims for one in spec.pod_sets) else None


def _parked_as(lines: PendingQueues, workload: Workload, line: str) -> str | None:
    """The reason for which this service parked the workload; None when it is not parked, or was refused by the admitter."""
    if workload.line != line or lines.of(line).refused_as(workload.key) is not None:
        return None
    return lines.of(line).parked_as(workload.key)
