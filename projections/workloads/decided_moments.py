"""The moments at which the log has decided about a workload, for folds that keep no conditions of it.

By them a status that kuelog has written, and that is reported late or written behind the times, is told from what another manager has
decided. Rule: docs/rules/adoption.md#word-of-others
"""

from typing import TypeAlias

import msgspec

from events.admission import AdmissionRefused, PreemptionRequested, QuotaReserved, WorkloadAdmitted
from events.application import DecisionApplied
from events.catalogue import AnyEvent
from events.control import ResourceVersionsRestarted
from events.event import Millis
from events.preemption import PreemptionOrdered
from events.workload import DecidedElsewhere, EvictionOrdered, QuotaReleased, WorkloadParked, WorkloadQueued
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
    written: int = 0
    """The resourceVersion with which the object showed the last reservation before these; what it was before says nothing."""

    def noted(self, event: DecidedEvent, at: Millis, sequence: int) -> "DecidedMoments":
        """With one more decision, which was made at this time and has this sequence on its partition."""
        waits: tuple[str, ...] = ()
        if isinstance(event, Wait):
            kind = type(event).__name__
            if kind in self.waits:
                return self
            waits = (*self.waits, kind)
        reserved = len(self.seconds) if isinstance(event, QuotaReserved) else self.reserved
        return DecidedMoments((*self.seconds, at // SECOND), reserved, sequence, waits, self.written)

    def shown(self, sequence: int, version: int) -> "DecidedMoments":
        """Once the object is known to show the decision of this sequence, at a resourceVersion; 0 where that is not known."""
        if sequence < self.last or not self.reserved or not version:
            return self
        return DecidedMoments(self.seconds[self.reserved :], 0, self.last, self.waits, version)

    def second_of_others(self, told: DecidedElsewhere) -> int:
        """The second in which another manager has decided last, as is told; 0 where the log has said that itself."""
        decided = decided_at(told.status.conditions)
        return 0 if told.version <= self.written or decided in self.seconds else decided

    def taken_over(self, second: int) -> "DecidedMoments":
        """Once the word of another manager counts, which decided in this second."""
        return DecidedMoments((*self.seconds, second), self.reserved, self.last, written=self.written)

    def restarted(self) -> "DecidedMoments":
        """Once resourceVersions begin anew: those from before can't be compared with those to come."""
        return msgspec.structs.replace(self, written=0) if self.written else self


_NOTHING_DECIDED = DecidedMoments()


class MomentsByWorkload:
    """The moments of every workload that was decided about, for a fold that hears everything."""

    def __init__(self) -> None:
        self._of: dict[str, DecidedMoments] = {}

    def hear(self, event: AnyEvent, at: Millis, sequence: int) -> None:
        """Take note of one event of the log."""
        match event:
            case _ if isinstance(event, DecidedEvent):
                self._of[event.workload] = self._known(event.workload).noted(event, at, sequence)
            case DecisionApplied() if event.workload in self._of:
                self._of[event.workload] = self._of[event.workload].shown(event.sequence, event.version)
            case ResourceVersionsRestarted():
                self._of = {workload: one.restarted() for workload, one in self._of.items()}
            case _:
                pass

    def take_over(self, told: DecidedElsewhere) -> bool:
        """Whether what is told is the word of another manager, which then counts."""
        known = self._known(told.workload)
        decided = known.second_of_others(told)
        if decided:
            self._of[told.workload] = known.taken_over(decided)
        return decided > 0

    def forget(self, workload: str) -> None:
        """Of a workload that is long gone nothing is needed any more."""
        self._of.pop(workload, None)

    def _known(self, workload: str) -> DecidedMoments:
        return self._of.get(workload, _NOTHING_DECIDED)
