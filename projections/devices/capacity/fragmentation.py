"""How scattered the free parts of cards are, and whom to move or stop so that a request fits.

Rule: docs/rules/devices.md#making-room

Everything here is a question: what is tried on the ledger is taken back before the answer is given.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum

import msgspec

from events.card import CardRequest
from events.device import PodPlacement
from projections.devices.capacity.model_capacity import Room
from projections.devices.card_use import NodeCards, states_of
from projections.devices.fit.pod_fit import Asking, fit_container
from projections.devices.holdings.card_stakes import POD
from projections.devices.placement.gang import Gang, Placed, place, suits
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


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """What is to happen to one holder of cards."""

    way: Way
    holder: str
    """A workload, or `pod:namespace/name`."""
    cards: tuple[str, ...]
    """The cards that it gives back."""
    to: tuple[PodPlacement, ...] = ()
    """Where a workload that moves would go."""


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    """How to make room for a request; without steps it fits as things are."""

    steps: tuple[Step, ...]
    placements: tuple[PodPlacement, ...]
    """Where the request would go then."""


def stranded(nodes: Iterable[NodeCards], asked: Sequence[CardRequest], pod: Asking) -> Room:
    """What is free on sound cards of which none of these requests could get its part: it waits for nobody.

    Each request is looked at card by card, as if it asked for one card.
    """
    single = [msgspec.structs.replace(request, count=1) for request in asked]
    found = Room()
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
                max(state.card.cores - state.use.cores, 0),
            )
    return found


def make_room(world: DeviceState, gangs: Sequence[Gang]) -> Advice | None:
    """Whom to move or stop so that these gangs fit; None if even the end of everybody would not help.

    One holder that can move is better than one that has to wait, one is better than several; of equals lower priority
    goes first, then who holds less. Several are found greedily in that order, and those that are not needed stay.
    """
    placed = _try(world, gangs, ())
    if placed.placements:
        return Advice(steps=(), placements=placed.placements)
    holders = _holders(world, gangs)
    best: Advice | None = None
    for holder in holders[:MOST_TRIED]:
        advice = _advice(world, gangs, [holder])
        if advice is None:
            continue
        if advice.steps[0].way is Way.MOVE:
            return advice
        best = best or advice
    return best or _several(world, gangs, holders)


def _several(world: DeviceState, gangs: Sequence[Gang], holders: Sequence[str]) -> Advice | None:
    """The fewest first holders, in the order given, that make room together, without those that prove not to be needed."""
    if not _try(world, gangs, holders).placements:
        return None
    too_few, enough = 0, len(holders)
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        if _try(world, gangs, holders[:middle]).placements:
            enough = middle
        else:
            too_few = middle
    chosen = list(holders[:enough])
    for holder in holders[: min(enough, MOST_TRIED)]:
        fewer = [each for each in chosen if each != holder]
        if _try(world, gangs, fewer).placements:
            chosen = fewer
    return _advice(world, gangs, chosen)


def _advice(world: DeviceState, gangs: Sequence[Gang], leaving: Sequence[str]) -> Advice | None:
    with world.trial():
        cards = {holder: _cards_of(world, holder) for holder in leaving}
        for holder in leaving:
            _vacate(world, holder)
        placed = place(world.cards, world.nodes, gangs, world.trail)
        if not placed.placements:
            return None
        world.cards.trial(placed.placements)
        steps: list[Step] = []
        for holder in leaving:
            to = _elsewhere(world, holder)
            world.cards.trial(to)
            way = Way.STOP if holder.startswith(POD) else Way.MOVE if to else Way.PREEMPT
            steps.append(Step(way=way, holder=holder, cards=cards[holder], to=to))
        return Advice(steps=tuple(steps), placements=placed.placements)


def _elsewhere(world: DeviceState, holder: str) -> tuple[PodPlacement, ...]:
    workload = world.workloads.get(holder)
    gangs = gangs_of(world, workload) if workload is not None else []
    return place(world.cards, world.nodes, gangs, world.trail).placements if gangs else ()


def _try(world: DeviceState, gangs: Sequence[Gang], leaving: Sequence[str]) -> Placed:
    with world.trial():
        for holder in leaving:
            _vacate(world, holder)
        return place(world.cards, world.nodes, gangs, world.trail)


def _vacate(world: DeviceState, holder: str) -> None:
    if holder.startswith(POD):
        world.cards.remove_pod(holder.removeprefix(POD))
    else:
        world.cards.vacate(holder)


def _holders(world: DeviceState, gangs: Sequence[Gang]) -> list[str]:
    """The holders of cards on suitable nodes, in the order in which they should make room."""
    memory: dict[str, int] = {}
    for name in sorted(world.cards.nodes):
        node = world.nodes.get(name)
        if node is None or not any(suits(node, gang) for gang in gangs):
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
