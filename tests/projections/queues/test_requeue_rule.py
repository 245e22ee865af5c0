"""Where a refused workload waits: in line, or parked (docs/rules/queues.md#requeue)."""

from events.admission import RequeueReason
from events.quota import ClusterQueueObserved, QueueingStrategy
from projections.queues.requeue_rule import stays_in_line

STRICT = ClusterQueueObserved(name="cq", strategy=QueueingStrategy.STRICT_FIFO)
BEST_EFFORT = ClusterQueueObserved(name="cq", strategy=QueueingStrategy.BEST_EFFORT_FIFO)


def test_in_a_strict_queue_all_stay_in_line_but_those_whose_namespace_is_not_admitted() -> None:
    parked = {reason for reason in RequeueReason if not stays_in_line(STRICT, reason, ())}
    assert parked == {RequeueReason.NAMESPACE_MISMATCH}


def test_in_a_best_effort_queue_those_stay_in_line_who_lost_against_another_or_wait_for_others() -> None:
    in_line = {reason for reason in RequeueReason if stays_in_line(BEST_EFFORT, reason, ())}
    assert in_line == {
        RequeueReason.FAILED_AFTER_NOMINATION,
        RequeueReason.PENDING_PREEMPTION,
        RequeueReason.PENDING_MIGRATION,
        RequeueReason.PREEMPTION_FAILED,
    }


def test_who_has_flavors_left_stays_in_line_and_who_was_tried_on_the_last_one_is_parked() -> None:
    def tried(index: int) -> bool:
        return stays_in_line(BEST_EFFORT, RequeueReason.NO_FIT, (("main", "cpu", -1), ("main", "gpu", index)))

    assert tried(0)
    assert not tried(-1)
