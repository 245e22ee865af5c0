"""Workloads that could make room, in the order in which they are considered (kueue-semantics §6.2)."""

from collections.abc import Iterable, Mapping
from enum import StrEnum

import msgspec

from events.event import Millis
from events.quota import PreemptionPolicy
from projections.holding import usage_of
from projections.preemption.policy import protected, satisfies_policy
from projections.quota_tree import FlavorResource, Node
from projections.workloads import Workload
from projections.world import World

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


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A workload that may be preempted, and what that would free."""

    workload: Workload
    queue: str
    variant: Variant
    usage: Mapping[FlavorResource, int]

    @property
    def reason(self) -> str:
        """The reason that the victim is told."""
        match self.variant:
            case Variant.WITHIN_QUEUE:
                return IN_CLUSTER_QUEUE
            case Variant.HIERARCHICAL | Variant.WITHOUT_BORROWING:
                return IN_COHORT_RECLAMATION
            case Variant.WHILE_BORROWING:
                return IN_COHORT_RECLAIM_WHILE_BORROWING


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """Who needs room: the whole usage that has to fit, and the part of it that does not fit as it is."""

    workload: Workload
    node: Node
    usage: Mapping[FlavorResource, int]
    needed: frozenset[FlavorResource]
    at: Millis


def find_candidates(world: World, ask: Ask) -> tuple[list[Candidate], list[Candidate], list[Candidate]]:
    """Hierarchy candidates, priority candidates, and those of the own queue: each in order."""
    hierarchy: list[Candidate] = []
    priority: list[Candidate] = []
    queue = world.cluster_queues[ask.node.name]
    if ask.node.parent is not None and queue.preemption.reclaim_within_cohort is not PreemptionPolicy.NEVER:
        _from_cohorts(world, ask, hierarchy, priority)
    own = [
        candidate
        for workload, usage in holders_of(world, ask.node.name, ask.needed)
        if (candidate := _own(world, ask, workload, usage)) is not None
    ]
    for candidates in (hierarchy, priority, own):
        candidates.sort(key=lambda candidate: candidate_order(candidate.workload, own=candidate.queue == ask.node.name))
    return hierarchy, priority, own


def candidate_order(workload: Workload, *, own: bool) -> tuple[bool, bool, int, int, str, str]:
    """Already evicted first, other queues first, lower priority first, later reserved first, UID."""
    reserved_at = workload.admission.reserved_at if workload.admission is not None else 0
    return (not workload.evicted, own, workload.priority, -reserved_at, workload.uid, workload.key)


def holders_of(
    world: World, queue: str, needed: frozenset[FlavorResource]
) -> Iterable[tuple[Workload, dict[FlavorResource, int]]]:
    """The workloads of a queue that hold some of the flavors and resources that are needed."""
    for key in world.holding.get(queue, ()):
        workload = world.workloads[key]
        usage = usage_of(workload)
        if any(usage.get(fr, 0) > 0 for fr in needed):
            yield workload, usage


def _own(world: World, ask: Ask, workload: Workload, usage: Mapping[FlavorResource, int]) -> Candidate | None:
    queue = world.cluster_queues[ask.node.name]
    if not satisfies_policy(queue.preemption.within_cluster_queue, ask.workload, workload, world.settings):
        return None
    if protected(workload, queue, ask.at):
        return None
    return Candidate(workload=workload, queue=ask.node.name, variant=Variant.WITHIN_QUEUE, usage=usage)


def _from_cohorts(world: World, ask: Ask, hierarchy: list[Candidate], priority: list[Candidate]) -> None:
    """Climb to the root, gathering from the subtrees that were not visited yet."""
    rest = dict(ask.usage)
    advantage = all(not ask.node.borrowing_with(fr, amount) for fr, amount in rest.items())
    for fr in rest:
        rest[fr] = max(0, rest[fr] - ask.node.local_available(fr))
    visited, ancestor = ask.node, ask.node.parent
    while ancestor is not None:
        for name in sorted(ancestor.children):
            child = ancestor.children[name]
            if child is not visited:
                _from_subtree(world, ask, child, hierarchy if advantage else priority, advantage=advantage)
        if not advantage and all(not ancestor.borrowing_with(fr, amount) for fr, amount in rest.items()):
            advantage = True
        for fr in rest:
            rest[fr] = max(0, rest[fr] - ancestor.local_available(fr))
        visited, ancestor = ancestor, ancestor.parent


def _from_subtree(world: World, ask: Ask, node: Node, into: list[Candidate], *, advantage: bool) -> None:
    if within_nominal(node, ask.needed):
        return
    if not node.is_queue:
        for name in sorted(node.children):
            _from_subtree(world, ask, node.children[name], into, advantage=advantage)
        return
    queue = world.cluster_queues.get(ask.node.name)
    victim_queue = world.cluster_queues.get(node.name)
    if queue is None:
        return
    for workload, usage in holders_of(world, node.name, ask.needed):
        if not satisfies_policy(queue.preemption.reclaim_within_cohort, ask.workload, workload, world.settings):
            continue
        if protected(workload, victim_queue, ask.at):
            continue
        variant = Variant.HIERARCHICAL if advantage else _priority_variant(world, ask, workload)
        into.append(Candidate(workload=workload, queue=node.name, variant=variant, usage=usage))


def _priority_variant(world: World, ask: Ask, workload: Workload) -> Variant:
    rule = world.cluster_queues[ask.node.name].preemption.borrow_within_cohort
    if rule is None or rule.policy is PreemptionPolicy.NEVER or workload.priority >= ask.workload.priority:
        return Variant.WITHOUT_BORROWING
    if rule.max_priority_threshold is not None and workload.priority > rule.max_priority_threshold:
        return Variant.WITHOUT_BORROWING
    return Variant.WHILE_BORROWING


def within_nominal(node: Node, needed: frozenset[FlavorResource]) -> bool:
    """Whether a subtree uses no more than its own of all that is needed."""
    return all(node.usage.get(fr, 0) <= node.subtree.get(fr, 0) for fr in needed)
