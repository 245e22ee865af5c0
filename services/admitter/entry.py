"""An entry: one head under decision in a cycle, with what nomination found for it (docs/rules/cycle.md#nominate)."""

from collections.abc import Callable, Mapping

import msgspec

from events.admission import Mode, Recomputation, RequeueReason
from events.device import PodPlacement
from events.event import Millis
from events.quota import ClusterQueueObserved
from projections.flavors.assignment import Assignment
from projections.flavors.search import refusal_reason
from projections.preemption.candidates import Candidate, PreemptionContext
from projections.queues.pending_queues import ScanProgress
from projections.quota.columns import Column
from projections.quota.node import Node
from projections.quota.tree import QuotaTree
from projections.workloads.lifecycle import Workload


class When(msgspec.Struct, frozen=True, kw_only=True):
    """The time of a cycle, and whether its decisions in a tree may change by time alone."""

    at: Millis
    timed: bool = False
    """Victims in the tree are protected for a time (minimum runtime, cooldown)."""
    moving: bool = False
    """Past usage, which decays, orders workloads or victims in the tree (admission fair sharing)."""
    in_line: bool = False
    """Only who is in line is tried, and nobody who was refused."""


class QueueHead(msgspec.Struct, frozen=True, kw_only=True):
    """The head of a queue: first in line, or first of a parked class that may be tried again."""

    workload: Workload
    queue: ClusterQueueObserved
    parked_as: str = ""
    """The class of refused workloads that it is parked under; empty when it is in line."""
    when: When = When(at=0)
    """The time of the cycle, and what time alone changes in its tree."""


class AdmissionEntry(msgspec.Struct, kw_only=True):
    """One head under decision in a cycle: nomination fills it, processing reads it."""

    head: QueueHead
    node: Node | None = None
    """Its ClusterQueue in the quota tree; None when there is no such queue."""
    assignment: Assignment | None = None
    """A flavor for each pod set and resource; None when it could not even be tried."""
    replaces: Workload | None = None
    """The slice of the same job that holds quota here, and ends when this one gets its own."""
    victims: list[Candidate] = []
    """The workloads to preempt for it, in order."""
    placements: tuple[PodPlacement, ...] = ()
    """The devices of its pods, where they ask for any; those that pods of the slice before keep are not among them."""
    kept: tuple[PodPlacement, ...] = ()
    """The devices that pods of the slice before keep."""
    requeue: RequeueReason = RequeueReason.GENERIC
    reason: str = ""
    message: str = ""
    timestamp: Millis = 0
    """Its place in line by time: of creation, or of the last eviction, as the settings have it."""
    at: Millis = 0
    """The time of the cycle."""
    searched: dict[tuple[Column, int], list[Candidate]] = {}
    """Victims found while flavors were searched, by column and amount: what was searched once is not searched again."""
    progress: Mapping[tuple[str, str], int] = {}
    """The index of the last flavor tried before, by pod set and resource: the search goes on behind it."""
    placed: bool = False
    """Its usage counts for the rest of the cycle."""
    skipped: bool = False
    """It had victims, and entries before it took them or the room that they would make."""
    recomputed: Recomputation = Recomputation.NONE
    """What came of choosing its victims once more in the cycle."""
    deferred: bool = False
    """It fits once victims of others have left or cards are given back (docs/rules/cycle.md#same-victims)."""

    @property
    def workload(self) -> Workload:
        """The workload that is tried."""
        return self.head.workload

    @property
    def queue(self) -> ClusterQueueObserved:
        """The cluster queue in which it is tried."""
        return self.head.queue

    @property
    def mode(self) -> Mode:
        """Fit, Preempt or NoFit; NoFit also when it could not even be tried."""
        return self.assignment.representative if self.assignment is not None else Mode.NO_FIT

    @property
    def usage(self) -> Mapping[Column, int]:
        """The quota it would use, by column (flavor and resource), in the resource's smallest unit."""
        return self.assignment.usage if self.assignment is not None else {}

    @property
    def borrow(self) -> int:
        """Its borrowing level: the height of the lowest subtree that it fits in; 0 within its own quota."""
        return self.assignment.borrow if self.assignment is not None else 0

    @property
    def come_to(self) -> ScanProgress:
        """How far this attempt has come in trying flavors; empty where it has reached the last ones."""
        return () if self.assignment is None else tuple(step for step in self.assignment.progress if step[2] >= 0)

    def refused(self, reason: str, message: str, requeue: RequeueReason = RequeueReason.GENERIC) -> "AdmissionEntry":
        """This entry, marked with why it was not even tried and where it waits."""
        self.reason, self.message, self.requeue = reason, message, requeue
        return self

    def refusal(self) -> tuple[str, str]:
        """The reason and message of the QuotaReserved=False condition."""
        if self.reason:
            return self.reason, self.message or (self.assignment.message if self.assignment is not None else "")
        if self.assignment is None:
            return "PendingEvaluation", "Workload is pending evaluation in the scheduling queue"
        return refusal_reason(self.assignment), self.assignment.message


def preemption_context_of(
    entry: AdmissionEntry,
    at: Millis,
    usage: Mapping[Column, int],
    needed: tuple[Column, ...],
    placed: Callable[[], bool] | None = None,
    *,
    with_cards: bool = False,
) -> PreemptionContext:
    """What the search for victims needs to know of an entry. Raises `LookupError` when its queue is in no tree."""
    if entry.node is None:
        raise LookupError(entry.queue.name)
    return PreemptionContext(
        workload=entry.workload,
        queue=entry.queue,
        node=entry.node,
        usage=dict(usage),
        needed=needed,
        at=at,
        placed=placed,
        with_cards=with_cards,
    )


def needed_by(quota: QuotaTree, assignment: Assignment) -> tuple[Column, ...]:
    """The columns (flavor and resource) of an assignment that do not fit without preemption."""
    columns = quota.columns
    needed = {
        columns.of(choice.flavor, resource): None
        for pod_set in assignment.pod_sets
        for resource, choice in pod_set.flavors.items()
        if choice.mode is not Mode.FIT
    }
    return tuple(needed)
