"""Why no node takes a pod, in numbers: asked, largest free piece, sum free, and the reasons of the cards."""

from collections.abc import Hashable, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from events.card import Card, CardRequest
from events.device import NodeObserved
from events.quota import FlavorObserved
from projections.devices.card_use import NodeCards
from projections.devices.fit.node_summary import NodeSummary, summarized
from projections.devices.fit.pod_fit import Asking, fit_asking
from projections.devices.holdings.card_holdings import CardHoldings
from projections.devices.placement.suitability import NOT_READY, NodeSuitability
from projections.devices.requests.card_requests import PodCardRequests
from projections.devices.vendors.table import BY_WORD
from projections.devices.vendors.vendor import is_card_of

REASONS_OF = 100
"""Nodes over which reasons are counted."""

Containers = Sequence[Sequence[CardRequest]]

NO_NODE_HAS_CARDS = "no node has cards"
"""Of a flavor: no node that is ready bears its labels and has reported cards."""
NO_NODE_TAKES_IT = "take no such pod"
"""Of a flavor: nodes bear its labels and have reported cards, and the pod may go to none of them."""
_REASONS_TOLD = 3


class CardRefusal(msgspec.Struct, frozen=True):
    """A pod finds no cards: why, and whether it would if nothing ran."""

    for_now: bool
    """It would fit if nothing ran there."""
    message: str
    """For a person."""


def refusal(
    cards: CardHoldings, names: Sequence[str], asked: PodCardRequests, pod: Asking, alone: Asking
) -> CardRefusal:
    """Why a pod finds no cards on these nodes; `alone` is the pod if its namespace had nothing.

    The reasons are counted over the first nodes by name only, so that a refusal costs little on a large fleet.
    """
    counted: dict[str, int] = {}
    for name in names[:REASONS_OF]:
        for code, times in fit_asking(
            cards.summary_of(name).on, asked.containers, asked.init, pod, asked.sidecars
        ).refusals.items():
            counted[code] = counted.get(code, 0) + times
    codes = ", ".join(f"{times} {code}" for code, times in sorted(counted.items())) or NO_NODE_HAS_CARDS
    looked_at = f", reasons of the first {REASONS_OF}" if len(names) > REASONS_OF else ""
    ever = any(
        fit_asking(on, asked.containers, asked.init, alone, asked.sidecars).shares is not None
        for on in _emptied(cards, names, by_card=alone.names_cards())
    )
    message = f"asked {asked_text(asked.containers)}; {_largest(cards, names, asked.containers)}; {len(names)} node(s){looked_at}: {codes}"
    return CardRefusal(ever, message)


def barred(
    cards: CardHoldings,
    nodes: Mapping[str, NodeObserved],
    flavor: FlavorObserved | None,
    suitable: NodeSuitability,
    asked: PodCardRequests,
) -> CardRefusal | None:
    """Why a pod may go to no node of a flavor that has cards, such as a taint that nobody tolerates; None where none is ready."""
    wanted: Mapping[str, str] = flavor.node_labels if flavor is not None else {}
    counted: dict[str, int] = {}
    for name in cards.nodes:
        node = nodes.get(name)
        if node is not None and wanted.items() <= node.labels.items():
            why = suitable.refuses(node)
            counted[why] = counted.get(why, 0) + 1
    if not counted.keys() - {NOT_READY}:
        return None
    told = sorted(counted.items(), key=lambda one: (-one[1], one[0]))
    codes = ", ".join(f"{times} {why}" for why, times in told[:_REASONS_TOLD])
    more = ", ..." if len(told) > _REASONS_TOLD else ""
    how_many = f"{sum(counted.values())} node(s) with cards"
    return CardRefusal(False, f"asked {asked_text(asked.containers)}; {how_many} {NO_NODE_TAKES_IT}: {codes}{more}")


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


def _emptied(cards: CardHoldings, names: Sequence[str], *, by_card: bool) -> Iterator[NodeCards]:
    """The nodes as they would be if nothing ran there, one of each kind: those whose cards are alike, if none is asked for by itself."""
    seen: set[Hashable] = set()
    for name in names:
        on = cards.summary_of(name).on
        kind = (tuple(_kind(card, by_card=by_card) for card in on.cards), tuple(sorted(on.annotations.items())))
        if kind not in seen:
            seen.add(kind)
            yield NodeCards(node=on.node, cards=on.cards, annotations=on.annotations)


def _kind(card: Card, *, by_card: bool) -> Hashable:
    what = (card.model, card.slots, card.memory, card.cores, card.numa, card.mode, card.healthy, card.profiles)
    return (*what, card.index, tuple(sorted(card.custom.items())), card.uuid if by_card else "")


def _largest(cards: CardHoldings, names: Sequence[str], asked: Containers) -> str:
    """What is free of each vendor that is asked for: a card of another one is of no use."""
    vendors = sorted({request.vendor for requests in asked for request in requests})
    told = [_largest_of([_of_vendor(cards.summary_of(name), vendor) for name in names]) for vendor in vendors]
    return "; ".join(told if len(told) == 1 else map(": ".join, zip(vendors, told, strict=True)))


def _of_vendor(node: NodeSummary, word: str) -> NodeSummary:
    vendor = BY_WORD.get(word)
    own = tuple(card for card in node.on.cards if vendor is None or is_card_of(vendor, card))
    return node if len(own) == len(node.on.cards) else summarized(replace(node.on, cards=own))


def _largest_of(nodes: Sequence[NodeSummary]) -> str:
    if not any(node.healthy for node in nodes):
        return "no healthy card"
    return (
        f"largest free piece {max(0, *(node.memory for node in nodes))} MiB on one card of "
        f"{max(node.whole for node in nodes)} MiB, {sum(node.free for node in nodes)} MiB free in sum"
    )
