"""Why no node takes a pod, in numbers: asked, largest free piece, sum free, and the reasons of the cards."""

from collections.abc import Iterable, Sequence

from events.card import Card, CardRequest
from projections.card_holdings import CardHoldings
from projections.devices.fit import Asking, fit_asking
from projections.devices.use import IDLE, NodeCards

Containers = Sequence[Sequence[CardRequest]]


def refusal(
    cards: CardHoldings, names: Sequence[str], requests: Containers, init: int, pod: Asking
) -> tuple[bool, str]:
    """Whether it would fit if nothing ran there, and the message for a person."""
    counted: dict[str, int] = {}
    for name in names:
        for code, times in fit_asking(cards.digest(name).on, requests, init, pod).refusals.items():
            counted[code] = counted.get(code, 0) + times
    codes = ", ".join(f"{times} {code}" for code, times in sorted(counted.items())) or "no node has cards"
    ever = any(
        fit_asking(on, requests, init, pod).shares is not None
        for on in _distinct(cards.digest(name).on for name in names)
    )
    message = f"asked {asked_text(requests)}; {_largest(cards, names)}; {len(names)} node(s): {codes}"
    return ever, message


def asked_text(requests: Containers) -> str:
    """What the containers ask for, in words."""
    return "; ".join(
        f"{request.count} {request.vendor} card(s) with {_memory_text(request)} and {request.cores} % of the cores each"
        for asked in requests
        for request in asked
    )


def _memory_text(request: CardRequest) -> str:
    if request.memory:
        return f"{request.memory} MiB"
    return "all memory" if request.percent in (None, 100) else f"{request.percent} % of the memory"


def _distinct(nodes: Iterable[NodeCards]) -> list[NodeCards]:
    """The nodes as they would be empty, one of each kind; alike are those whose cards differ in nothing."""
    kinds: dict[tuple[Card, ...] | tuple[tuple[object, ...], ...], NodeCards] = {}
    for on in nodes:
        kind = tuple(_kind(card) for card in on.cards)
        kinds.setdefault(kind, NodeCards(node=on.node, cards=on.cards, annotations=on.annotations))
    return list(kinds.values())


def _kind(card: Card) -> tuple[object, ...]:
    return (card.model, card.slots, card.memory, card.cores, card.numa, card.mode, card.healthy, card.profiles)


def _largest(cards: CardHoldings, names: Sequence[str]) -> str:
    free = [
        (card.memory - on.used.get(card.uuid, IDLE).memory, card.memory)
        for on in (cards.digest(name).on for name in names)
        for card in on.cards
        if card.healthy and card.uuid not in on.cordoned
    ]
    if not free:
        return "no healthy card"
    return (
        f"largest free piece {max(piece for piece, _ in free)} MiB on one card of "
        f"{max(whole for _, whole in free)} MiB, {sum(piece for piece, _ in free)} MiB free in sum"
    )
