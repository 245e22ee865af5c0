"""Where a workload waits after a failed attempt: in line, or parked beside it (docs/rules/queues.md#requeue)."""

from collections.abc import Sequence

from events.admission import RequeueReason
from events.quota import ClusterQueueObserved, QueueingStrategy
from projections.workloads.conditions import NODE_FAILURES
from projections.workloads.lifecycle import OBJECT_DELETED, OTHER_PODS

IMMEDIATE = frozenset(
    {
        RequeueReason.FAILED_AFTER_NOMINATION,
        RequeueReason.PENDING_PREEMPTION,
        RequeueReason.PENDING_MIGRATION,
        RequeueReason.PREEMPTION_FAILED,
    }
)
"""Refusals after which a BestEffortFIFO workload stays in line."""


def stays_in_line(
    queue: ClusterQueueObserved | None, requeue: RequeueReason, progress: Sequence[tuple[str, str, int]]
) -> bool:
    """Whether the workload is tried again without a wake-up; also while flavors are left that were not tried."""
    if any(index >= 0 for _, _, index in progress):
        return True
    if queue is not None and queue.strategy is QueueingStrategy.STRICT_FIFO:
        return requeue is not RequeueReason.NAMESPACE_MISMATCH
    return requeue in IMMEDIATE


def comes_back(reason: str, *, alone: bool) -> bool:
    """Whether who was evicted for this reason may queue again at once; a pod that was lost does not come back."""
    return reason in ("Preempted", OBJECT_DELETED, OTHER_PODS) or (reason == NODE_FAILURES and not alone)
