"""Which preemptions were of no use: victims had to stop, and who they made room for went without quota.

Rule: docs/metrics.md#wasted
"""

from collections.abc import Mapping

import msgspec

from events.admission import QuotaReserved
from events.catalogue import AnyEvent
from events.multikueue import WorkloadEndedElsewhere
from events.preemption import PreemptionWasted
from events.slices import WorkloadSliceDropped
from events.upkeep import WorkloadDiscarded, WorkloadFailedToStart, WorkloadOrphaned
from events.variants import VariantDropped
from events.workload import EvictionOrdered, WorkloadDeactivated, WorkloadDeleted, WorkloadFinished
from projections.trail import Trail

_WENT_WITHOUT = (
    EvictionOrdered
    | VariantDropped
    | WorkloadDeactivated
    | WorkloadDeleted
    | WorkloadDiscarded
    | WorkloadEndedElsewhere
    | WorkloadFailedToStart
    | WorkloadFinished
    | WorkloadOrphaned
)


class Preemption(msgspec.Struct, frozen=True, gc=False):
    """One that was ordered: for whose queue, and by which rule."""

    queue: str
    reason: str


Open = Mapping[str, tuple[Preemption, ...]]
"""By preemptor, the preemptions for it since it last got quota."""


class PreemptionOutcomes:
    """Preemptions of which it is not known yet whether they were of use."""

    def __init__(self, trail: Trail) -> None:
        self._trail = trail
        self.open: dict[str, tuple[Preemption, ...]] = {}

    def ordered(self, preemptor: str, preemption: Preemption) -> None:
        """One more was ordered for a workload."""
        self._trail.put(self.open, preemptor, (*self.open.get(preemptor, ()), preemption))

    def wasted(self, event: AnyEvent, workload: str) -> tuple[Preemption, ...]:
        """Those of which an event about a workload shows that they were of no use."""
        if isinstance(event, PreemptionWasted):
            return self._settled(event.preemptor)
        if workload not in self.open:
            return ()
        match event:
            case WorkloadSliceDropped():
                # What it asked for is asked for under another name.
                for preemption in self._settled(workload):
                    self.ordered(event.by, preemption)
            case QuotaReserved():
                self._settled(workload)
            case _ if isinstance(event, _WENT_WITHOUT):
                return self._settled(workload)
            case _:
                pass
        return ()

    def _settled(self, preemptor: str) -> tuple[Preemption, ...]:
        found = self.open.get(preemptor, ())
        self._trail.drop(self.open, preemptor)
        return found
