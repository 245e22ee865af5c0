"""The moments at which the log has decided about a workload, for folds that keep no conditions of it.

By them a status that kuelog has written, and that is reported late or written behind the times, is told from what another manager has
decided. Rule: docs/rules/adoption.md#word-of-others
"""

from collections.abc import Iterable
from typing import TypeAlias

import msgspec

from events.admission import AdmissionRefused, PreemptionRequested, QuotaReserved, WorkloadAdmitted
from events.event import Millis
from events.preemption import PreemptionOrdered
from events.workload import Condition, EvictionOrdered, QuotaReleased, WorkloadParked, WorkloadQueued
from projections.workloads.lifecycle import SECOND, decided_at

Wait: TypeAlias = WorkloadQueued | WorkloadParked | AdmissionRefused | PreemptionRequested
"""Decisions that leave a workload without quota: said again, they turn no condition."""
DecidedEvent: TypeAlias = Wait | QuotaReserved | WorkloadAdmitted | PreemptionOrdered | EvictionOrdered | QuotaReleased
"""Decisions that turn one of the conditions that `decided_at` goes by."""


class DecidedMoments(msgspec.Struct, frozen=True, gc=False):
    """What the object of a workload may still show of what was decided: since the last reservation that it is known to show."""

    seconds: tuple[int, ...] = ()
    reserved: int = 0
    """The index of the last reservation among them."""
    last: int = 0
    """The sequence of the last of these decisions."""
    waits: tuple[str, ...] = ()
    """The kinds of decisions that have left it without quota since it last had any: of each the first counts."""

    def noted(self, event: DecidedEvent, at: Millis, sequence: int) -> "DecidedMoments":
        """With one more decision, which was made at this time and has this sequence on its partition."""
        waits: tuple[str, ...] = ()
        if isinstance(event, Wait):
            kind = type(event).__name__
            if kind in self.waits:
                return self
            waits = (*self.waits, kind)
        reserved = len(self.seconds) if isinstance(event, QuotaReserved) else self.reserved
        return DecidedMoments((*self.seconds, at // SECOND), reserved, sequence, waits)

    def shown(self, sequence: int) -> "DecidedMoments":
        """Once the object is known to show the decision of this sequence."""
        if sequence < self.last or not self.reserved:
            return self
        return DecidedMoments(self.seconds[self.reserved :], 0, self.last, self.waits)

    def second_of_others(self, conditions: Iterable[Condition]) -> int:
        """The second in which another manager has decided last, as these conditions say; 0 where the log has said that itself."""
        decided = decided_at(conditions)
        return 0 if decided in self.seconds else decided

    def taken_over(self, second: int) -> "DecidedMoments":
        """Once the word of another manager counts, which decided in this second."""
        return DecidedMoments((*self.seconds, second), self.reserved, self.last)
