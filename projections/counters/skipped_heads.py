"""Which heads preempted nobody in the last cycle of their queue because others of the cycle took the same.

Rule: docs/metrics.md#skips
"""

from events.admission import AdmissionRefused, PreemptionRequested, QuotaReserved
from events.upkeep import WorkloadDiscarded, WorkloadFailedToStart, WorkloadOrphaned
from events.workload import WorkloadDeactivated, WorkloadDeleted, WorkloadFinished, WorkloadParked
from projections.trail import Trail

Attempt = QuotaReserved | AdmissionRefused | PreemptionRequested
LEAVES_LINE = (
    WorkloadDeactivated
    | WorkloadDeleted
    | WorkloadDiscarded
    | WorkloadFailedToStart
    | WorkloadFinished
    | WorkloadOrphaned
    | WorkloadParked
)


class SkippedHeads:
    """By cluster queue the head that was skipped in its last cycle; empty where none was."""

    def __init__(self, trail: Trail) -> None:
        self._trail = trail
        self.by_queue: dict[str, str] = {}

    def tried(self, attempt: Attempt) -> None:
        """A head of a queue was tried: what is known of the one before it is no longer of the last cycle."""
        skipped = isinstance(attempt, AdmissionRefused) and attempt.skipped
        self._trail.put(self.by_queue, attempt.cluster_queue, attempt.workload if skipped else "")

    def left(self, workload: str, cluster_queue: str) -> None:
        """A workload is in no line any more, so none of that queue is skipped on its account."""
        if workload and self.by_queue.get(cluster_queue) == workload:
            self._trail.put(self.by_queue, cluster_queue, "")

    def removed(self, cluster_queue: str) -> None:
        """The queue is gone, and its gauge with it."""
        self._trail.drop(self.by_queue, cluster_queue)
