"""Folding the queue manager's decisions: queued, parked, allowed to queue again."""

from typing import TypeAlias, assert_never

from msgspec.structs import replace

from events.quota import StopPolicy
from events.workload import (
    ConditionStatus,
    WorkloadParked,
    WorkloadQueued,
    WorkloadRequeued,
)
from projections.budgets.enforcement import EXHAUSTED
from projections.log_position import LogPosition
from projections.preemption.claims import end_claim
from projections.preemption.requested import end_request
from projections.preemption.state import PreemptionState
from projections.queues.enqueue import enqueue
from projections.queues.state import QueueState
from projections.workloads.changed_part import changed_part
from projections.workloads.conditions import in_line, parked
from projections.workloads.lifecycle import REQUEUED, Workload, condition_at, with_condition
from projections.workloads.state import WorkloadState

LineEvent: TypeAlias = WorkloadQueued | WorkloadParked | WorkloadRequeued

_WAIT_IN_QUEUE = frozenset({"Suspended", "Backoff", EXHAUSTED})
"""Reasons to be parked under which a workload stays in its queue."""


def evolve_lines(world: PreemptionState, event: LineEvent, position: LogPosition) -> None:  # noqa: C901 - one case after the other
    """Fold one decision of the queue manager about the lines."""
    match event:
        case WorkloadQueued():
            workload = world.workloads.get(event.workload)
            if workload is not None:
                _queue(world, workload, event.cluster_queue, position)
        case WorkloadParked():
            workload = world.workloads.get(event.workload)
            if workload is not None:
                _park(world, workload, event, position)
        case WorkloadRequeued():
            workload = world.workloads.get(event.workload)
            if workload is not None:
                _requeue(world, workload, event, position)
        case _:
            assert_never(event)


def _queue(world: QueueState, workload: Workload, cluster_queue: str, position: LogPosition) -> None:
    if workload.line != cluster_queue:
        world.lines.leave(world.trail, workload.line, workload.key)
    queued = in_line(workload, world.settings, position)
    # Even when nothing about it changes, with the first decision the cluster shows it.
    decided = position.sequence if queued is not workload or not workload.decided else workload.decided
    if queued is not workload or decided != workload.decided or workload.line != cluster_queue:
        workload = replace(queued, decided=decided, line=cluster_queue)
        world.put_workload(workload)
    enqueue(world, workload)


def _park(world: PreemptionState, workload: Workload, event: WorkloadParked, position: LogPosition) -> None:
    if workload.line != event.cluster_queue:
        world.lines.leave(world.trail, workload.line, workload.key)
    end_claim(world.claims, world.quota, world.trail, workload.key)
    end_request(world.requests, world.answered, world.trail, workload.key)
    line = world.lines.of(event.cluster_queue)
    line.park(world.trail, workload.key, event.reason)
    if not _stays_in_queue(world, workload, event):
        line.forget_roles(world.trail, workload.key)
    changed = parked(workload, world.settings, event.reason, event.message, position)
    world.put_workload(replace(changed, line=event.cluster_queue, decided=position.sequence))


def _stays_in_queue(world: WorkloadState, workload: Workload, event: WorkloadParked) -> bool:
    """Whether a parked workload waits for its queue, or for a time, and has not left it.

    Rule: docs/rules/queues.md#preemptor-first
    """
    local_queue = world.local_queues.get(workload.local_queue)
    if local_queue is None or local_queue.stop is not StopPolicy.NONE or not workload.spec.active:
        return False
    return event.reason in _WAIT_IN_QUEUE


def _requeue(world: WorkloadState, workload: Workload, event: WorkloadRequeued, position: LogPosition) -> None:
    status = ConditionStatus.TRUE if event.allowed else ConditionStatus.FALSE
    condition = condition_at(REQUEUED, status, event.reason, event.message, workload, position)
    requeue = replace(workload.stops.requeue, at=None) if event.allowed else workload.stops.requeue
    stops = changed_part(workload.stops, requeue=requeue)
    world.put_workload(replace(with_condition(workload, condition), stops=stops, decided=position.sequence))
