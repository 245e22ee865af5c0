"""The classic search for victims: few, of low priority, and none that is not needed (kueue-semantics §6.3)."""

from collections.abc import Mapping

from events.quota import PreemptionPolicy
from projections.preemption.candidates import Ask, Candidate, Variant, find_candidates, within_nominal
from projections.quota_tree import FlavorResource, Node
from projections.world import World


def find_victims(world: World, ask: Ask) -> list[Candidate]:
    """The workloads that have to make room, in order; empty when no set of candidates would do.

    The world is as it was afterwards. The set is minimal with regard to leaving out single victims.
    """
    hierarchy, priority, own = find_candidates(world, ask)
    ordered = [
        candidate
        for evicted in (True, False)
        for group in (hierarchy, priority, own)
        for candidate in group
        if candidate.workload.evicted is evicted
    ]
    if not ordered:
        return []
    for borrowing in _attempts(world, ask, ordered, hierarchy):
        victims = _search(world, ask, ordered, borrowing=borrowing)
        if victims:
            return victims
    return []


def _attempts(world: World, ask: Ask, ordered: list[Candidate], hierarchy: list[Candidate]) -> tuple[bool, ...]:
    rule = world.cluster_queues[ask.node.name].preemption.borrow_within_cohort
    forbidden = rule is None or rule.policy is PreemptionPolicy.NEVER
    foreign = any(candidate.variant is not Variant.WITHIN_QUEUE for candidate in ordered)
    at_nominal = any(ask.node.usage.get(fr, 0) >= ask.node.subtree.get(fr, 0) for fr in ask.needed)
    if not foreign or (forbidden and at_nominal):
        return (True,)
    return (False, True) if forbidden and not hierarchy else (True, False)


def _search(world: World, ask: Ask, ordered: list[Candidate], *, borrowing: bool) -> list[Candidate]:
    mark = world.mark()
    victims: list[Candidate] = []
    fits = False
    for candidate in ordered:
        if borrowing and candidate.variant is Variant.WITHOUT_BORROWING:
            continue
        if candidate.variant is not Variant.WITHIN_QUEUE and not _still_borrows(world, ask, candidate):
            continue
        world.quota.remove_usage(candidate.queue, candidate.usage)
        victims.append(candidate)
        if fits_now(ask.node, ask.usage, borrowing=borrowing):
            fits = True
            break
    if fits:
        victims = fill_back(world, ask, victims, borrowing=borrowing)
    world.undo(mark)
    return victims if fits else []


def _still_borrows(world: World, ask: Ask, candidate: Candidate) -> bool:
    """Whether the candidate's queue, and every cohort below the common ancestor, is still above its nominal quota."""
    node = world.quota.node(candidate.queue)
    above = {id(ancestor) for ancestor in ask.node.path()}
    while node is not None and id(node) not in above:
        if within_nominal(node, ask.needed):
            return False
        node = node.parent
    return True


def fits_now(node: Node, usage: Mapping[FlavorResource, int], *, borrowing: bool) -> bool:
    """Whether the usage fits as the tree stands, with or without borrowing."""
    return all(
        amount <= node.available(fr) and (borrowing or not node.borrowing_with(fr, amount))
        for fr, amount in usage.items()
    )


def fill_back(world: World, ask: Ask, victims: list[Candidate], *, borrowing: bool) -> list[Candidate]:
    """Give back, from the last but one to the first, every victim without which it fits too."""
    kept = list(victims)
    for index in range(len(kept) - 2, -1, -1):
        candidate = kept[index]
        world.quota.add_usage(candidate.queue, candidate.usage)
        if fits_now(ask.node, ask.usage, borrowing=borrowing):
            kept[index] = kept[-1]
            kept.pop()
        else:
            world.quota.remove_usage(candidate.queue, candidate.usage)
    return kept
