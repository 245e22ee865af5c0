"""One head of a queue under decision in a cycle, and what was found for it (docs/rules/cycle.md#nominate)."""

from collections.abc import Mapping

import msgspec

from events.admission import Mode, RequeueReason
from events.device import PodPlacement
from events.event import Millis
from events.quota import ClusterQueueObserved
from projections.flavors.assignment import Assignment
from projections.flavors.search import refusal_reason
from projections.preemption.candidates import Candidate, PreemptionContext
from projections.quota.columns import Column
from projections.quota.node import Node
from projections.workloads.lifecycle import Workload
from projections.world import World


class When(msgspec.Struct, frozen=True, kw_only=True):
    """A time, and whether what is decided in a tree may be otherwise at another one though nothing happened between."""

    at: Millis
    timed: bool = False
    """What protects victims there ends with time."""
    moving: bool = False
    """Past usage orders some line there, and who has to make room."""


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """The first of a queue: in line, or of a class of refused workloads that may be tried again."""

    workload: Workload
    queue: ClusterQueueObserved
    parked_as: str = ""
    """The class of refused workloads; empty when it is in line."""
    when: When = When(at=0)
    """When it is decided about, and what time alone changes in its tree."""


class Entry(msgspec.Struct, kw_only=True):
    """One head under decision in a cycle."""

    head: Head
    node: Node | None = None
    assignment: Assignment | None = None
    victims: list[Candidate] = []
    placements: tuple[PodPlacement, ...] = ()
    requeue: RequeueReason = RequeueReason.GENERIC
    reason: str = ""
    message: str = ""
    timestamp: Millis = 0
    at: Millis = 0
    """When it is decided about."""
    searched: dict[tuple[Column, int], list[Candidate]] = {}
    """Victims that the search for flavors found, by column and amount."""
    progress: Mapping[tuple[str, str], int] = {}
    """Where the search for flavors goes on, by pod set and resource."""
    placed: bool = False
    """Its usage counts for the rest of the cycle."""
    deferred: bool = False
    """It fits, but only when the victims of others have left (docs/rules/cycle.md#same-victims)."""

    @property
    def workload(self) -> Workload:
        """The workload."""
        return self.head.workload

    @property
    def queue(self) -> ClusterQueueObserved:
        """Its cluster queue."""
        return self.head.queue

    @property
    def mode(self) -> Mode:
        """How well it suits; NoFit when it could not even be tried."""
        return self.assignment.representative if self.assignment is not None else Mode.NO_FIT

    @property
    def usage(self) -> Mapping[Column, int]:
        """The quota it would use."""
        return self.assignment.usage if self.assignment is not None else {}

    @property
    def borrow(self) -> int:
        """Its borrowing level."""
        return self.assignment.borrow if self.assignment is not None else 0

    def refused(self, reason: str, message: str, requeue: RequeueReason = RequeueReason.GENERIC) -> "Entry":
        """The entry with the reason why it was not even tried."""
        self.reason, self.message, self.requeue = reason, message, requeue
        return self

    def refusal(self) -> tuple[str, str]:
        """The reason and the message that the workload is told."""
        if self.reason:
            return self.reason, self.message or (self.assignment.message if self.assignment is not None else "")
        if self.assignment is None:
            return "PendingEvaluation", "Workload is pending evaluation in the scheduling queue"
        return refusal_reason(self.assignment), self.assignment.message


def preemption_context_of(
    entry: Entry, at: Millis, usage: Mapping[Column, int], needed: tuple[Column, ...]
) -> PreemptionContext:
    """The question who makes room for the entry."""
    if entry.node is None:
        raise LookupError(entry.queue.name)
    return PreemptionContext(
        workload=entry.workload, queue=entry.queue, node=entry.node, usage=dict(usage), needed=needed, at=at
    )


def needed_by(world: World, assignment: Assignment) -> tuple[Column, ...]:
    """What does not fit as it is."""
    columns = world.quota.columns
    needed = {
        columns.of(choice.flavor, resource): None
        for pod_set in assignment.pod_sets
        for resource, choice in pod_set.flavors.items()
        if choice.mode is not Mode.FIT
    }
    return tuple(needed)
