"""Where a workload waits that holds no quota: in line, or parked with a reason (kueue-semantics §3.3, §3.9)."""

from events.catalogue import Decision
from events.event import Millis
from events.quota import StopPolicy
from events.workload import ConditionStatus, WorkloadParked, WorkloadQueued, WorkloadRequeued
from projections.workloads import REQUEUED, Workload
from projections.world import World


def decide_waiting(world: World, workload: Workload, at: Millis) -> list[Decision]:
    """Put the workload where it belongs; nothing when it is there already."""
    events: list[Decision] = []
    obstacle = standing_obstacle(world, workload)
    if obstacle is not None:
        reason, message = obstacle
        queue = world.cluster_queue_of(workload)
        line = queue.name if queue is not None else ""
        if _parked_as(world, workload, line) == reason:
            return []
        return [WorkloadParked(workload=workload.key, cluster_queue=line, reason=reason, message=message)]
    queue = world.cluster_queue_of(workload)
    if queue is None:
        return []
    if workload.requeue.at is not None and workload.requeue.at > at:
        if _parked_as(world, workload, queue.name) == "Backoff":
            return []
        message = "Waiting for the back-off after an eviction to end"
        return [WorkloadParked(workload=workload.key, cluster_queue=queue.name, reason="Backoff", message=message)]
    requeued = workload.condition(REQUEUED)
    if requeued is not None and requeued.status is ConditionStatus.FALSE:
        events.append(WorkloadRequeued(workload=workload.key, allowed=True, reason=_allowed_reason(requeued.reason)))
    elsewhere = workload.line != queue.name
    held_back = _parked_as(world, workload, queue.name) in HELD_BACK
    if elsewhere or held_back or events:
        events.append(WorkloadQueued(workload=workload.key, cluster_queue=queue.name))
    return events


HELD_BACK = frozenset({"Backoff", "Suspended", "Misconfigured", "Deactivated", "AdmissionGated", "OnHold"})
"""Reasons to be parked that are this service's own, and end when their cause does."""


def standing_obstacle(world: World, workload: Workload) -> tuple[str, str] | None:
    """Why the workload may not even be tried: reason and message."""
    if not workload.spec.active:
        return "Deactivated", "The workload is deactivated"
    if workload.spec.gated_by:
        return "AdmissionGated", f"Admission is gated by: {','.join(workload.spec.gated_by)}"
    if workload.spec.on_hold:
        return "OnHold", "The job is on hold"
    door = world.local_queues.get(workload.local_queue)
    if door is None:
        return "Misconfigured", f"LocalQueue {workload.spec.queue} doesn't exist"
    queue = world.cluster_queues.get(door.cluster_queue)
    if queue is None:
        return "Misconfigured", f"ClusterQueue {door.cluster_queue} doesn't exist"
    if door.stop is not StopPolicy.NONE:
        return "Suspended", f"LocalQueue {workload.spec.queue} is inactive"
    if not cluster_queue_active(world, queue.name):
        return "Suspended", f"ClusterQueue {queue.name} is inactive"
    return None


def cluster_queue_active(world: World, name: str) -> bool:
    """Whether a cluster queue takes workloads in: not stopped, all of its flavors and checks there (§3.9)."""
    return not inactive_reasons(world, name)


def inactive_reasons(world: World, name: str) -> list[tuple[str, str]]:
    """Why a cluster queue takes nothing in: reason and message, first the one to show."""
    queue = world.cluster_queues[name]
    found: list[tuple[str, str]] = []
    if queue.terminating:
        found.append(("Terminating", "Can't admit new workloads; clusterQueue is terminating"))
    if queue.stop is not StopPolicy.NONE:
        found.append(("Stopped", "Can't admit new workloads: is stopped"))
    if world.quota.cyclic(name):
        found.append(("CohortCycle", f"Can't admit new workloads: cohort {queue.cohort} is part of a cycle"))
    missing = [
        quotas.flavor for group in queue.groups for quotas in group.flavors if quotas.flavor not in world.flavors
    ]
    if missing:
        found.append(
            ("FlavorNotFound", f"Can't admit new workloads: references missing ResourceFlavor(s): {','.join(missing)}")
        )
    absent = [rule.name for rule in queue.checks if rule.name not in world.checks]
    if absent:
        found.append(
            (
                "AdmissionCheckNotFound",
                f"Can't admit new workloads: references missing AdmissionCheck(s): {','.join(absent)}",
            )
        )
    sleeping = [rule.name for rule in queue.checks if rule.name in world.checks and not world.checks[rule.name].active]
    if sleeping:
        found.append(
            (
                "AdmissionCheckInactive",
                f"Can't admit new workloads: references inactive AdmissionCheck(s): {','.join(sleeping)}",
            )
        )
    return found


def _parked_as(world: World, workload: Workload, line: str) -> str | None:
    return world.lines.of(line).parked.get(workload.key) if workload.line == line else None


def _allowed_reason(waited_for: str) -> str:
    match waited_for:
        case "ClusterQueueStopped":
            return "ClusterQueueRestarted"
        case "LocalQueueStopped":
            return "LocalQueueRestarted"
        case reason if reason.startswith("Deactivated"):
            return "Reactivated"
        case _:
            return "BackoffFinished"
