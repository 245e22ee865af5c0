"""Workloads that could make room, in the order in which they are considered (docs/rules/preemption.md#candidates).

Candidates are looked up one at a time: each queue keeps its holders sorted, and a search seldom needs more than the
first few of them.
"""

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from heapq import merge
from itertools import repeat

import msgspec

from events.event import Millis
from events.quota import ClusterQueueObserved, PreemptionPolicy
from projections.devices.holdings.held_cards import HeldCards
from projections.preemption.policy import may_go_for_a_borrower, policy_towards, protected, satisfies_policy
from projections.preemption.state import PreemptionState
from projections.preemption.usage_order import in_order_of_usage
from projections.queues.active_condition import takes_in
from projections.quota.columns import Column, Usage
from projections.quota.holders import HolderOrder
from projections.quota.node import Node
from projections.topology.usage import HeldDomains
from projections.workloads.lifecycle import Workload

IN_CLUSTER_QUEUE = "InClusterQueue"
IN_COHORT_RECLAMATION = "InCohortReclamation"
IN_COHORT_FAIR_SHARING = "InCohortFairSharing"
IN_COHORT_RECLAIM_WHILE_BORROWING = "InCohortReclaimWhileBorrowing"


class Variant(StrEnum):
    """By which right a candidate may be preempted."""

    WITHIN_QUEUE = "WithinClusterQueue"
    HIERARCHICAL = "HierarchicalReclaim"
    WITHOUT_BORROWING = "ReclaimWithoutBorrowing"
    WHILE_BORROWING = "ReclaimWhileBorrowing"
    FAIR_SHARING = "FairSharing"

    @property
    def reason(self) -> str:
        """The reason of a victim's condition Preempted."""
        match self:
            case Variant.WITHIN_QUEUE:
                return IN_CLUSTER_QUEUE
            case Variant.HIERARCHICAL | Variant.WITHOUT_BORROWING:
                return IN_COHORT_RECLAMATION
            case Variant.WHILE_BORROWING:
                return IN_COHORT_RECLAIM_WHILE_BORROWING
            case Variant.FAIR_SHARING:
                return IN_COHORT_FAIR_SHARING


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A workload that may be preempted, and what that would free."""

    workload: Workload
    node: Node
    variant: Variant
    usage: Mapping[Column, int]
    domains: HeldDomains | None = None
    """The domains of topologies that its pods lie in."""
    cards: HeldCards | None = None
    """Its cards, where the preemptor's pods need some in their domains."""

    @property
    def reason(self) -> str:
        """The reason of the victim's condition Preempted."""
        return self.variant.reason


class PreemptionContext(msgspec.Struct, frozen=True, kw_only=True):
    """A preemptor: the whole usage that has to fit, and the columns of it that do not fit as things stand."""

    workload: Workload
    queue: ClusterQueueObserved
    node: Node
    usage: Usage
    needed: tuple[Column, ...]
    at: Millis
    placed: Callable[[], bool] | None = None
    """Whether the pods find their domains as things stand; None where they ask for no topology."""
    with_cards: bool = False
    """Whether they need cards there, so that those of victims are of use (docs/rules/topology.md#card-preemption)."""


class CandidateGroups:
    """The nodes whose holders could make room: by right of the hierarchy, by priority, and the own queue.

    They are gathered when they are first asked for: a queue that may not borrow never looks at its whole cohort.
    """

    __slots__ = ("_ask", "_gathered", "_levels", "_world", "own")

    def __init__(self, world: PreemptionState, context: PreemptionContext) -> None:
        self._world, self._ask = world, context
        rules = context.queue.preemption
        self.own = [context.node] if rules.within_cluster_queue is not PreemptionPolicy.NEVER else []
        self._levels = _levels(context) if rules.reclaim_within_cohort is not PreemptionPolicy.NEVER else []
        self._gathered: dict[bool, list[Node]] = {}

    @property
    def hierarchy(self) -> list[Node]:
        """Queues below ancestors within whose own quota the request fits."""
        return self._gather(advantage=True)

    @property
    def priority(self) -> list[Node]:
        """Queues below the other ancestors."""
        return self._gather(advantage=False)

    def _gather(self, *, advantage: bool) -> list[Node]:
        found = self._gathered.get(advantage)
        if found is None:
            found = self._gathered[advantage] = []
            for level in self._levels:
                if level.advantage is advantage:
                    _gather(self._world, level.ancestor, level.visited, self._ask.needed, found)
        return found

    def in_order(self, *, by_priority: bool) -> Iterator[Candidate]:
        """Candidates that are evicted already, by group; then the others, by group. The priority group can be left out."""
        groups = [(self.hierarchy, True), (self.priority if by_priority else [], False), (self.own, False)]
        for leaving in (True, False):
            for nodes, hierarchical in groups:
                yield from self._merged(nodes, leaving=leaving, hierarchical=hierarchical)

    def any_foreign(self) -> bool:
        """Whether some candidate is in another queue."""
        return self.any_hierarchical() or self._any(self.priority)

    def any_hierarchical(self) -> bool:
        """Whether some candidate may be preempted by right of the hierarchy."""
        return self._any(self.hierarchy)

    def _any(self, nodes: list[Node]) -> bool:
        return any(
            _may_make_room(self._world, self._ask, node, key, usage)
            for node in nodes
            for key, usage in self._world.holders(node.name).usage.items()
        )

    def _merged(self, nodes: list[Node], *, leaving: bool, hierarchical: bool) -> Iterator[Candidate]:
        """The candidates of several queues as one sorted row, as far as their priority lets them be preempted."""
        policy = policy_towards(self._ask.queue.preemption, own_queue=nodes == self.own)
        anybody = policy is PreemptionPolicy.ANY or self._world.settings.admission_fair_sharing is not None
        most = None if anybody else self._ask.workload.priority
        rows = [zip(self._row(node, leaving=leaving), repeat(node)) for node in nodes]
        for order, node in merge(*rows):
            if most is not None and order[0] > most:
                return
            candidate = self._candidate(order[3], node, hierarchical=hierarchical)
            if candidate is not None:
                yield candidate

    def _row(self, node: Node, *, leaving: bool) -> list[HolderOrder]:
        holders = self._world.holders(node.name)
        row = holders.leaving if leaving else holders.staying
        return in_order_of_usage(self._world, node.name, row, self._ask.at)

    def _candidate(self, key: str, node: Node, *, hierarchical: bool) -> Candidate | None:
        if node is self._ask.node:
            return as_candidate(self._world, self._ask, node, key, Variant.WITHIN_QUEUE)
        return as_candidate(self._world, self._ask, node, key, Variant.HIERARCHICAL if hierarchical else None)


def as_candidate(
    world: PreemptionState, context: PreemptionContext, node: Node, key: str, variant: Variant | None
) -> Candidate | None:
    """A holder of a queue as a candidate by some right, or by the one that its priority gives; None when it is none."""
    usage = world.holding[node.name].usage[key]
    if not _may_make_room(world, context, node, key, usage):
        return None
    workload = world.workloads[key]
    variant = variant or priority_variant(context, workload)
    return holder_of_quota(world, node, workload, usage, variant, with_cards=context.with_cards)


def _may_make_room(
    world: PreemptionState, context: PreemptionContext, node: Node, key: str, usage: Mapping[Column, int]
) -> bool:
    """Whether a holder of a queue is a candidate: it has some of what is needed, the policy means it, and nothing protects it.

    Rule: docs/rules/preemption.md#within-queue, docs/rules/preemption.md#reclaim
    """
    if not any(usage.get(column) for column in context.needed):
        return False
    if key == context.workload.spec.replaces:
        return False  # It ends anyhow: what it holds is not asked for.
    workload = world.workloads[key]
    policy = policy_towards(context.queue.preemption, own_queue=node is context.node)
    return satisfies_policy(policy, context.workload, workload, world.settings) and not protected(
        workload, world.cluster_queues.get(node.name), context.at
    )


def holder_of_quota(
    world: PreemptionState,
    node: Node,
    workload: Workload,
    usage: Mapping[Column, int],
    variant: Variant,
    *,
    with_cards: bool = False,
) -> Candidate:
    """Who holds this usage of a queue, with all else that it would give back; whether it may be preempted is asked before."""
    return Candidate(
        workload=workload,
        node=node,
        variant=variant,
        usage=usage,
        domains=world.domains.held_by(workload.key),
        cards=HeldCards(world.cards, workload.key) if with_cards else None,
    )


def priority_variant(context: PreemptionContext, workload: Workload) -> Variant:
    """The right by which a candidate without hierarchical advantage may go: with or without borrowing.

    Rule: docs/rules/preemption.md#borrow-within-cohort
    """
    allowed = may_go_for_a_borrower(context.queue.preemption, context.workload, workload)
    return Variant.WHILE_BORROWING if allowed else Variant.WITHOUT_BORROWING


class Level(msgspec.Struct, frozen=True):
    """One ancestor of the preemptor's queue."""

    ancestor: Node
    visited: Node
    """The subtree below it that was visited before."""
    advantage: bool
    """The request fits within the own quota of a subtree below it: its candidates may go by right of the hierarchy."""


def _levels(context: PreemptionContext) -> list[Level]:
    """The ancestors of the preemptor's queue, from the nearest to the root."""
    rest = dict(context.usage)
    visited = context.node
    advantage = all(not visited.borrowing_with(column, amount) for column, amount in rest.items())
    found: list[Level] = []
    for ancestor in context.node.path[1:]:
        for column in rest:
            rest[column] = max(0, rest[column] - visited.local_available(column))
        found.append(Level(ancestor, visited, advantage))
        advantage = advantage or all(not ancestor.borrowing_with(column, amount) for column, amount in rest.items())
        visited = ancestor
    return found


def _gather(
    world: PreemptionState, node: Node, visited: Node | None, needed: tuple[Column, ...], into: list[Node]
) -> None:
    """The queues below a node that may have to give, but for the subtree that was visited already."""
    for child in node.children.values():
        if child is visited:
            continue
        if child.is_queue:
            if may_have_to_give(world, child, needed):
                into.append(child)
        elif not child.within_nominal(needed):
            _gather(world, child, None, needed, into)


def may_have_to_give(world: PreemptionState, queue: Node, needed: tuple[Column, ...]) -> bool:
    """Whether another queue uses more than its own of what is needed, and takes workloads in itself.

    Rule: docs/rules/preemption.md#candidates
    """
    return not queue.within_nominal(needed) and takes_in(world, queue.name)
