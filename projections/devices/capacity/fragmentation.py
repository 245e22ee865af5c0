"""How scattered the free parts of cards are, and whom to move or stop so that a request fits.

Rule: docs/rules/devices.md#making-room

Everything here is a question: what is tried on the ledger is taken back before the answer is given.
"""

from collections.abc import Container, Iterable, Sequence
from enum import StrEnum
from typing import Protocol

import msgspec

from events.card import CardRequest
from events.device import PodPlacement
from projections.devices.capacity.model_capacity import ModelRoom
from projections.devices.card_use import NodeCards, states_of, whole_of
from projections.devices.fit.pod_fit import Asking, fit_container
from projections.devices.holdings.card_stakes import POD
from projections.devices.placement.gang import Gang, place, suits
from projections.devices.placement.workload_gangs import gangs_of
from projections.devices.state import DeviceState

MOST_TRIED = 200
"""How many holders are tried one by one before several are taken together."""


class Way(StrEnum):
    """How a holder of cards makes room."""

    MOVE = "move"
    """It fits elsewhere, so it may be started there at once."""
    PREEMPT = "preempt"
    """It has to wait until cards are free again."""
    STOP = "stop"
    """A pod that no queue manages: somebody has to end it by hand."""


class DefragmentationStep(msgspec.Struct, frozen=True, kw_only=True):
    """What is to happen to one holder of cards."""

    way: Way
    holder: str
    """A workload, or `pod:namespace/name`."""
    cards: tuple[str, ...]
    """The cards that it gives back; none where it is in the way without holding any."""
    to: tuple[PodPlacement, ...] = ()
    """Which cards a workload that moves would get."""


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    """How to make room for a request; without steps it fits as things are."""

    steps: tuple[DefragmentationStep, ...]
    placements: tuple[PodPlacement, ...]
    """Where the request would go then."""


def stranded(nodes: Iterable[NodeCards], asked: Sequence[CardRequest], pod: Asking) -> ModelRoom:
    """What is free on sound cards of which none of these requests could get its part: it waits for nobody.

    Each request is looked at card by card, as if it asked for one card.
    """
    single = [msgspec.structs.replace(request, count=1) for request in asked]
    found = ModelRoom()
    for on in nodes:
        for state in states_of(on):
            if not state.card.healthy or state.cordoned:
                continue
            alone = NodeCards(node=on.node, cards=(state.card,), annotations=on.annotations)
            if any(fit_container([state], [request], pod, on=alone).fit.complete for request in single):
                continue
            found = found.plus(
                1,
                max(state.card.slots - state.use.slots, 0),
                max(state.card.memory - state.use.memory, 0),
                max(whole_of(state.card).cores - state.use.cores, 0),
            )
    return found


class Rearranged(Protocol):
    """What holders of cards have, to be taken away and given anew on trial; what a request finds then."""

    def holders(self) -> list[str]:
        """Who might make room, in the order in which they should."""
        ...

    def vacate(self, holder: str) -> None:
        """Take away all that a holder has."""
        ...

    def fit(self) -> tuple[PodPlacement, ...] | None:
        """Place the request and charge it; the cards that it gets, or None where it finds no place."""
        ...

    def move(self, holder: str) -> tuple[PodPlacement, ...] | None:
        """Place a holder anew and charge it; the cards that it gets, or None where it finds no place."""
        ...


def make_room(world: DeviceState, gangs: Sequence[Gang]) -> Advice | None:
    """Whom to move or stop so that these gangs fit; None if even the end of everybody would not help."""
    return room_by(world, _Cards(world, gangs))


def room_by(world: DeviceState, rearranged: Rearranged) -> Advice | None:
    """Whom to move or stop so that a request fits; None if even the end of everybody would not help.

    One holder that can move is better than one that has to wait, one is better than several; of equals lower priority
    goes first, then who holds less. Several are found greedily in that order, and those that are not needed stay.
    """
    placed = _try(world, rearranged, ())
    if placed is not None:
        return Advice(steps=(), placements=placed)
    holders = rearranged.holders()
    best: Advice | None = None
    for holder in holders[:MOST_TRIED]:
        advice = _advice(world, rearranged, [holder])
        if advice is None:
            continue
        if advice.steps[0].way is Way.MOVE:
            return advice
        best = best or advice
    return best or _several(world, rearranged, holders)


class _Cards:
    """Cards alone, wherever they are on nodes that suit."""

    def __init__(self, world: DeviceState, gangs: Sequence[Gang]) -> None:
        self._world, self._gangs = world, gangs

    def holders(self) -> list[str]:
        suitable = {
            name
            for name in self._world.cards.nodes
            if name in self._world.nodes and any(suits(self._world.nodes[name], gang) for gang in self._gangs)
        }
        return holders_on(self._world, suitable)

    def vacate(self, holder: str) -> None:
        vacate_cards(self._world, holder)

    def fit(self) -> tuple[PodPlacement, ...] | None:
        return self._placed(self._gangs)

    def move(self, holder: str) -> tuple[PodPlacement, ...] | None:
        workload = self._world.workloads.get(holder)
        gangs = gangs_of(self._world, workload) if workload is not None else []
        return self._placed(gangs) if gangs else None

    def _placed(self, gangs: Sequence[Gang]) -> tuple[PodPlacement, ...] | None:
        found = place(self._world.cards, self._world.nodes, gangs, self._world.trail).placements
        self._world.cards.trial(found)
        return found or None


def _several(world: DeviceState, rearranged: Rearranged, holders: Sequence[str]) -> Advice | None:
    """The fewest first holders, in the order given, that make room together, without those that prove not to be needed."""
    if _try(world, rearranged, holders) is None:
        return None
    too_few, enough = 0, len(holders)
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        if _try(world, rearranged, holders[:middle]) is not None:
            enough = middle
        else:
            too_few = middle
    chosen = list(holders[:enough])
    for holder in holders[: min(enough, MOST_TRIED)]:
        fewer = [each for each in chosen if each != holder]
        if _try(world, rearranged, fewer) is not None:
            chosen = fewer
    return _advice(world, rearranged, chosen)


def _advice(world: DeviceState, rearranged: Rearranged, leaving: Sequence[str]) -> Advice | None:
    with world.trial():
        cards = {holder: _cards_of(world, holder) for holder in leaving}
        for holder in leaving:
            rearranged.vacate(holder)
        placed = rearranged.fit()
        if placed is None:
            return None
        steps: list[DefragmentationStep] = []
        for holder in leaving:
            to = rearranged.move(holder)
            way = Way.STOP if holder.startswith(POD) else Way.PREEMPT if to is None else Way.MOVE
            steps.append(DefragmentationStep(way=way, holder=holder, cards=cards[holder], to=to or ()))
        return Advice(steps=tuple(steps), placements=placed)


def _try(world: DeviceState, rearranged: Rearranged, leaving: Sequence[str]) -> tuple[PodPlacement, ...] | None:
    with world.trial():
        for holder in leaving:
            rearranged.vacate(holder)
        return rearranged.fit()


def vacate_cards(world: DeviceState, holder: str) -> None:
    """Take away the cards of a workload, or of a pod that no queue manages, for the time of a trial."""
    if holder.startswith(POD):
        world.cards.remove_pod(holder.removeprefix(POD))
    else:
        world.cards.vacate(holder)


def holders_on(world: DeviceState, nodes: Container[str], others: Iterable[str] = ()) -> list[str]:
    """The holders of cards on these nodes, and others besides, in the order in which they should make room."""
    memory: dict[str, int] = dict.fromkeys(others, 0)
    for name in sorted(world.cards.nodes):
        if name not in nodes:
            continue
        for card in world.cards.nodes[name].cards:
            for holder, stake in world.cards.stakes.get(card.uuid, {}).items():
                memory[holder] = memory.get(holder, 0) + stake.charged().memory

    def order(holder: str) -> tuple[bool, int, int, str]:
        workload = world.workloads.get(holder)
        priority = workload.spec.priority if workload is not None else 0
        return (holder.startswith(POD), priority, memory[holder], holder)

    return sorted(memory, key=order)


def _cards_of(world: DeviceState, holder: str) -> tuple[str, ...]:
    return tuple(sorted(uuid for uuid, row in world.cards.stakes.items() if holder in row))
