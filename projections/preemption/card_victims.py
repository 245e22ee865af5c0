"""Victims that are chosen for their cards, where the quota would suffice (docs/rules/preemption.md#card-victims).

The right to preempt is that of quota (docs/rules/preemption.md#candidates); of those who may be preempted, the ones are
chosen whose cards are of use. Everything here is tried on the ledgers and taken back.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from events.device import NodeObserved, PodPlacement
from projections.devices.card_holdings import CardHoldings
from projections.devices.gang import Gang, place
from projections.preemption.candidates import Candidate, CandidateGroups, PreemptionContext, Variant
from projections.preemption.classic import discharge, still_borrows
from projections.trail import Trail
from projections.workloads.lifecycle import Workload
from projections.world import World

MOST_SINGLES = 64
"""So many candidates are tried alone before several are looked for."""


def with_card_victims(
    world: World, context: PreemptionContext, gangs: Sequence[Gang], chosen: Sequence[Candidate]
) -> list[Candidate] | None:
    """The victims chosen for their quota, and those preempted besides so that all pods find cards.

    One that suffices alone is better than several; of several none is taken without need. None when nobody could make
    enough room. Cards of those who have lost their quota already are on their way back: nobody goes for them, and nobody goes
    who would be of use only together with them.
    """
    with world.trial():
        _vacate_leavers(world.workloads, world.cards)
        for victim in chosen:
            world.cards.vacate(victim.workload.key)
            discharge(world.trail, victim)
        if _placed(world.cards, world.nodes, world.trail, gangs):
            return list(chosen)
        candidates = list(_holders_of_cards(world, context, {victim.workload.key for victim in chosen}))
        more = _by_right(world, context, gangs, candidates)
    victims = [*chosen, *more]
    return victims if more and _suffice(world, victims, gangs) else None


def _suffice(world: World, victims: Sequence[Candidate], gangs: Sequence[Gang]) -> bool:
    """Whether the cards of victims suffice as they are: those on their way back may be first for somebody else.

    Without this, two who each count on what the other's victims leave preempt them in turns for ever.
    """
    with world.trial():
        for victim in victims:
            world.cards.vacate(victim.workload.key)
        return _placed(world.cards, world.nodes, world.trail, gangs)


def cards_coming_back(world: World, gangs: Sequence[Gang]) -> tuple[PodPlacement, ...]:
    """Where the pods will find cards as soon as those are back whose workloads have lost their quota; else nowhere."""
    with world.trial():
        _vacate_leavers(world.workloads, world.cards)
        return place(world.cards, world.nodes, gangs, world.trail).placements


def _by_right(
    world: World, context: PreemptionContext, gangs: Sequence[Gang], candidates: Sequence[Candidate]
) -> list[Candidate]:
    """First of all candidates, for who does not borrow then; else of those who may be preempted though he borrows.

    Under fair sharing it is the shares that count, and not who borrows.
    """
    if not world.settings.fair_sharing:
        found = _found(world.cards, world.nodes, world.trail, context, gangs, candidates, borrowing=False)
        if found:
            return found
        candidates = [one for one in candidates if one.variant is not Variant.WITHOUT_BORROWING]
    return _found(world.cards, world.nodes, world.trail, context, gangs, candidates, borrowing=True)


def _found(
    cards: CardHoldings,
    nodes: Mapping[str, NodeObserved],
    trail: Trail,
    context: PreemptionContext,
    gangs: Sequence[Gang],
    candidates: Sequence[Candidate],
    *,
    borrowing: bool,
) -> list[Candidate]:
    def fits() -> bool:
        return (borrowing or not _borrows(context)) and _placed(cards, nodes, trail, gangs)

    return _alone(cards, trail, context, candidates, fits) or _several(cards, trail, context, candidates, fits)


def _borrows(context: PreemptionContext) -> bool:
    return any(context.node.borrowing_with(column, amount) for column, amount in context.usage.items())


def _alone(
    cards: CardHoldings,
    trail: Trail,
    context: PreemptionContext,
    candidates: Sequence[Candidate],
    fits: Callable[[], bool],
) -> list[Candidate]:
    for candidate in candidates[:MOST_SINGLES]:
        with trail.trial():
            suffices = _takes(cards, trail, context, candidate) and fits()
        if suffices:
            return [candidate]
    return []


def _several(
    cards: CardHoldings,
    trail: Trail,
    context: PreemptionContext,
    candidates: Sequence[Candidate],
    fits: Callable[[], bool],
) -> list[Candidate]:
    taken: list[Candidate] = []
    placed = False
    with trail.trial():
        for candidate in candidates:
            if _takes(cards, trail, context, candidate):
                taken.append(candidate)
                placed = fits()
                if placed:
                    break
    if not placed:
        return []
    for index in range(len(taken) - 2, -1, -1):
        fewer = [*taken[:index], *taken[index + 1 :]]
        with trail.trial():
            if all([_takes(cards, trail, context, one) for one in fewer]) and fits():
                taken = fewer
    return taken


def _takes(cards: CardHoldings, trail: Trail, context: PreemptionContext, candidate: Candidate) -> bool:
    """Take the candidate's usage and cards away for the trial, if its queue has no right to keep them."""
    if not still_borrows(candidate.node, context.node.path, context.needed):
        return False
    discharge(trail, candidate)
    cards.vacate(candidate.workload.key)
    return True


def _holders_of_cards(world: World, context: PreemptionContext, without: set[str]) -> Iterator[Candidate]:
    for candidate in CandidateGroups(world, context).in_order(by_priority=True):
        key = candidate.workload.key
        if key not in without and (world.cards.attempts_of(key) or world.cards.living.get(key)):
            yield candidate


def _vacate_leavers(workloads: Mapping[str, Workload], cards: CardHoldings) -> None:
    for holding in list(cards.holdings.values()):
        workload = workloads.get(holding.workload)
        if workload is None or workload.admission is None or workload.finished:
            cards.vacate(holding.workload)


def _placed(cards: CardHoldings, nodes: Mapping[str, NodeObserved], trail: Trail, gangs: Sequence[Gang]) -> bool:
    return not place(cards, nodes, gangs, trail).reason
