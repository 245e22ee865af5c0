"""The classic search for victims: few, of low priority, and none that is not needed.

Rule: docs/rules/preemption.md#search
"""

from collections.abc import Mapping
from itertools import takewhile

from events.quota import PreemptionPolicy
from projections.preemption.candidates import Candidate, CandidateGroups, PreemptionContext, Variant
from projections.preemption.state import PreemptionState
from projections.quota.columns import Column
from projections.quota.node import Node
from projections.trail import Trail


def find_victims(world: PreemptionState, context: PreemptionContext) -> list[Candidate]:
    """The workloads that have to make room, in order; empty when no set of candidates would do.

    The world is as it was afterwards. The set is minimal with regard to leaving out single victims.
    """
    groups = CandidateGroups(world, context)
    for borrowing in _attempts(context, groups):
        victims = _search(world.trail, context, groups, borrowing=borrowing)
        if victims:
            return victims
    return []


def _attempts(context: PreemptionContext, groups: CandidateGroups) -> tuple[bool, ...]:
    forbidden = borrow_forbidden(context)
    at_nominal = any(context.node.usage[column] >= context.node.subtree[column] for column in context.needed)
    if (forbidden and at_nominal) or not groups.any_foreign():
        return (True,)
    return (False, True) if forbidden and not groups.any_hierarchical() else (True, False)


def borrow_forbidden(context: PreemptionContext) -> bool:
    """Whether nobody may be preempted by priority for a workload that ends up borrowing."""
    rule = context.queue.preemption.borrow_within_cohort
    return rule is None or rule.policy is PreemptionPolicy.NEVER


def _search(trail: Trail, context: PreemptionContext, groups: CandidateGroups, *, borrowing: bool) -> list[Candidate]:
    with trail.trial():
        return _taken(trail, context, groups, borrowing=borrowing)


def _taken(trail: Trail, context: PreemptionContext, groups: CandidateGroups, *, borrowing: bool) -> list[Candidate]:
    """Take one candidate after the other until it fits; the tree is left without the victims."""
    victims: list[Candidate] = []
    above = context.node.path
    forbidden = borrow_forbidden(context)
    for candidate in groups.in_order(by_priority=not (borrowing and forbidden)):
        if borrowing and candidate.variant is Variant.WITHOUT_BORROWING:
            continue
        if not still_borrows(candidate.node, above, context.needed):
            continue
        discharge(trail, candidate)
        victims.append(candidate)
        if fits_without_victims(context, borrowing=borrowing):
            return fill_back(trail, context, victims, borrowing=borrowing)
    return []


def still_borrows(node: Node, above: tuple[Node, ...], needed: tuple[Column, ...]) -> bool:
    """Whether a queue, and every cohort above it that is not among these, uses more than its own as the tree stands."""
    below = takewhile(lambda one: one not in above, node.path)
    return not any(one.within_nominal(needed) for one in below)


def discharge(trail: Trail, candidate: Candidate) -> None:
    """Take away the candidate's usage for the trial: of quota, of the domains that its pods lie in, and of cards that count."""
    free(trail, candidate.node, candidate.usage)
    if candidate.domains is not None:
        candidate.domains.vacate()
    if candidate.cards is not None:
        candidate.cards.vacate()


def give_back(trail: Trail, candidate: Candidate) -> None:
    """The candidate keeps its usage after all, within the trial in which it was taken away."""
    charge(trail, candidate.node, candidate.usage)
    if candidate.domains is not None:
        candidate.domains.occupy()
    if candidate.cards is not None:
        candidate.cards.occupy()


def charge(trail: Trail, node: Node, usage: Mapping[Column, int]) -> None:
    """Charge so much more to a node for the trial."""
    for column, amount in usage.items():
        node.charge(trail, column, amount)


def free(trail: Trail, node: Node, usage: Mapping[Column, int]) -> None:
    """Charge so much less to a node for the trial."""
    for column, amount in usage.items():
        node.discharge(trail, column, amount)


def fits_now(node: Node, usage: Mapping[Column, int], *, borrowing: bool) -> bool:
    """Whether the usage fits as the tree stands, with or without borrowing."""
    for column, amount in usage.items():
        if amount > node.available(column) or (not borrowing and node.borrowing_with(column, amount)):
            return False
    return True


def fits_without_victims(context: PreemptionContext, *, borrowing: bool) -> bool:
    """Whether the preemptor fits as things stand: by quota, and in its topology where it asks for one.

    Rule: docs/rules/topology.md#topology-preemption
    """
    if not fits_now(context.node, context.usage, borrowing=borrowing):
        return False
    return context.placed is None or context.placed()


def fill_back(
    trail: Trail, context: PreemptionContext, victims: list[Candidate], *, borrowing: bool
) -> list[Candidate]:
    """Give back, from the last but one to the first, every victim without which it fits too."""
    *others, _ = kept = list(victims)
    for index, candidate in reversed([*enumerate(others)]):
        give_back(trail, candidate)
        if fits_without_victims(context, borrowing=borrowing):
            kept[index] = kept[-1]
            kept.pop()
        else:
            discharge(trail, candidate)
    return kept
