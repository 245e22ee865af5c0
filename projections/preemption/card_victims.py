"""Victims that are chosen for their cards, where the quota would suffice (docs/rules/preemption.md#card-victims).

The right to preempt is that of quota (docs/rules/preemption.md#candidates); of those who may be preempted, the ones are
chosen whose cards are of use. Everything here is tried on the ledgers and taken back.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from events.device import NodeObserved, PodPlacement
from projections.devices.holdings.card_holdings import CardHoldings
from projections.devices.placement.gang import Gang, place
from projections.devices.state import DeviceState
from projections.preemption.candidates import Candidate, CandidateGroups, PreemptionContext, Variant
from projections.preemption.classic import discharge, still_borrows
from projections.preemption.state import PreemptionState
from projections.trail import Trail
from projections.workloads.lifecycle import Workload

MOST_SINGLES = 64
"""So many candidates are tried alone before several are looked for."""


def with_card_victims(
    world: PreemptionState, context: PreemptionContext, gangs: Sequence[Gang], chosen: Sequence[Candidate]
) -> list[Candidate] | None:
    """The victims chosen for their quota, and those preempted besides so that all pods find cards.

    One that suffices alone is better than several; of several none is taken without need. None when nobody could make
    enough room. Cards of those who have lost their quota already are on their way back: nobody goes for them, and nobody goes
    who would be of use only together with them.
    """
    with world.trial():
        left = vacate_leavers(world.workloads, world.cards)
        for victim in chosen:
            world.cards.vacate(victim.workload.key)
            discharge(world.trail, victim)
        if _placed(world.cards, world.nodes, world.trail, gangs):
            return list(chosen)
        candidates = list(_holders_of_cards(world, context, {victim.workload.key for victim in chosen}))
        more = _by_right(world, context, gangs, candidates)
    victims = [*chosen, *more]
    return victims if more and (not left or _suffice(world, victims, gangs)) else None


def _suffice(world: DeviceState, victims: Sequence[Candidate], gangs: Sequence[Gang]) -> bool:
    """Whether the cards of victims suffice as they are: those on their way back may be first for somebody else.

    Without this, two who each count on what the other's victims leave preempt them in turns for ever.
    """
    with world.trial():
        for victim in victims:
            world.cards.vacate(victim.workload.key)
        return _placed(world.cards, world.nodes, world.trail, gangs)


def cards_coming_back(
    world: DeviceState, gangs: Sequence[Gang], victims: Iterable[Candidate] = ()
) -> tuple[PodPlacement, ...]:
    """Where the pods will find cards as soon as those are back whose workloads have lost their quota, or are to; else nowhere."""
    with world.trial():
        vacate_leavers(world.workloads, world.cards)
        for victim in victims:
            world.cards.vacate(victim.workload.key)
        return place(world.cards, world.nodes, gangs, world.trail).placements


def _by_right(
    world: DeviceState, context: PreemptionContext, gangs: Sequence[Gang], candidates: Sequence[Candidate]
) -> list[Candidate]:
    """First of all candidates, for who does not borrow then; else of those who may be preempted though he borrows.

    Under fair sharing it is the shares that count, and not who borrows.
    """
    search = _Search(world.cards, world.nodes, world.trail, context, gangs)
    if not world.settings.fair_sharing:
        found = search.among(candidates, borrowing=False)
        if found:
            return found
        candidates = [one for one in candidates if one.variant is not Variant.WITHOUT_BORROWING]
    return search.among(candidates, borrowing=True)


class _Search:
    """Tries which candidates leave cards for all the gangs; whatever it takes away it gives back."""

    __slots__ = ("_cards", "_context", "_gangs", "_nodes", "_trail")

    def __init__(
        self,
        cards: CardHoldings,
        nodes: Mapping[str, NodeObserved],
        trail: Trail,
        context: PreemptionContext,
        gangs: Sequence[Gang],
    ) -> None:
        self._cards, self._nodes, self._trail = cards, nodes, trail
        self._context, self._gangs = context, gangs

    def among(self, candidates: Sequence[Candidate], *, borrowing: bool) -> list[Candidate]:
        """The victims; empty when nobody could make enough room, or only for who borrows and may not."""
        return self._alone(candidates, borrowing=borrowing) or self._several(candidates, borrowing=borrowing)

    def _alone(self, candidates: Sequence[Candidate], *, borrowing: bool) -> list[Candidate]:
        for candidate in candidates[:MOST_SINGLES]:
            if self._suffice([candidate], borrowing=borrowing):
                return [candidate]
        return []

    def _several(self, candidates: Sequence[Candidate], *, borrowing: bool) -> list[Candidate]:
        taken: list[Candidate] = []
        placed = False
        with self._trail.trial():
            for candidate in candidates:
                if self._takes(candidate):
                    taken.append(candidate)
                    placed = self._fits(borrowing=borrowing)
                    if placed:
                        break
        if not placed:
            return []
        for index in range(len(taken) - 2, -1, -1):
            fewer = [*taken[:index], *taken[index + 1 :]]
            if self._suffice(fewer, borrowing=borrowing):
                taken = fewer
        return taken

    def _suffice(self, victims: Sequence[Candidate], *, borrowing: bool) -> bool:
        with self._trail.trial():
            return all([self._takes(one) for one in victims]) and self._fits(borrowing=borrowing)

    def _takes(self, candidate: Candidate) -> bool:
        """Take the candidate's usage and cards away for the trial, if its queue has no right to keep them."""
        if not still_borrows(candidate.node, self._context.node.path, self._context.needed):
            return False
        discharge(self._trail, candidate)
        self._cards.vacate(candidate.workload.key)
        return True

    def _fits(self, *, borrowing: bool) -> bool:
        node, usage = self._context.node, self._context.usage
        if not borrowing and any(node.borrowing_with(column, amount) for column, amount in usage.items()):
            return False
        return _placed(self._cards, self._nodes, self._trail, self._gangs)


def _holders_of_cards(world: PreemptionState, context: PreemptionContext, without: set[str]) -> Iterator[Candidate]:
    for candidate in CandidateGroups(world, context).in_order(by_priority=True):
        key = candidate.workload.key
        if key not in without and (world.cards.attempts_of(key) or world.cards.living.get(key)):
            yield candidate


def vacate_leavers(workloads: Mapping[str, Workload], cards: CardHoldings) -> bool:
    """Take away the cards that are on their way back; whether there were any."""
    leavers = [
        holding.workload
        for holding in cards.holdings.values()
        if (workload := workloads.get(holding.workload)) is None or workload.admission is None or workload.finished
    ]
    for key in leavers:
        cards.vacate(key)
    return bool(leavers)


def _placed(cards: CardHoldings, nodes: Mapping[str, NodeObserved], trail: Trail, gangs: Sequence[Gang]) -> bool:
    return not place(cards, nodes, gangs, trail).reason
