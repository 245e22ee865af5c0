"""Which heads preempted nobody in the last cycle of their queue because others of the cycle took the same, and who chose victims once more.

Rule: docs/metrics.md#skips
"""

from collections.abc import Callable

from events.admission import AdmissionRefused, PreemptionRequested, QuotaReserved, Recomputation
from events.catalogue import AnyEvent
from events.control import ObjectRemoved
from events.multikueue import WorkloadEndedElsewhere
from events.upkeep import WorkloadDiscarded, WorkloadFailedToStart, WorkloadOrphaned
from events.workload import WorkloadDeactivated, WorkloadDeleted, WorkloadFinished, WorkloadParked
from projections.trail import Trail

SKIPS, RECOMPUTATIONS = "kueue_admission_cycle_preemption_skips", "kueue_preemption_target_recomputations_total"
_LEAVES_LINE = (
    WorkloadDeactivated
    | WorkloadDeleted
    | WorkloadDiscarded
    | WorkloadEndedElsewhere
    | WorkloadFailedToStart
    | WorkloadFinished
    | WorkloadOrphaned
    | WorkloadParked
)


class SkippedHeads:
    """By cluster queue the head that was skipped in its last cycle; empty where none was. Repeated searches are counted with `count`."""

    def __init__(self, trail: Trail, count: Callable[..., None]) -> None:
        self._trail, self._count = trail, count
        self.by_queue: dict[str, str] = {}

    @property
    def gauge(self) -> dict[str, int]:
        """By cluster queue, how many of its heads were skipped in its last cycle although they had victims."""
        return {name: int(bool(one)) for name, one in sorted(self.by_queue.items())}

    def hear(self, event: AnyEvent, workload: str) -> None:
        """What an event about a workload means: most mean nothing."""
        match event:
            case QuotaReserved() | AdmissionRefused() | PreemptionRequested():
                # What is known of the head before it is no longer of the last cycle.
                skipped = isinstance(event, AdmissionRefused) and event.skipped
                self._trail.put(self.by_queue, event.cluster_queue, event.workload if skipped else "")
                if not isinstance(event, QuotaReserved) and event.recomputed is not Recomputation.NONE:
                    self._count(RECOMPUTATIONS, event.cluster_queue, event.recomputed)
            case ObjectRemoved(kind="ClusterQueue"):
                self._trail.drop(self.by_queue, event.name)
            case _ if isinstance(event, _LEAVES_LINE):
                for queue in [name for name, one in self.by_queue.items() if one == workload]:
                    self._trail.put(self.by_queue, queue, "")
            case _:
                pass
