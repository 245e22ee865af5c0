"""A summary of a node's cards: enough to pass over a node that cannot hold a request, and to order the others.

A summary is made when it is asked for and dropped when something is taken of the node's cards or given back, so that a
search over many nodes costs work only for those that changed.
"""

from collections.abc import Sequence

import msgspec

from events.card import WHOLE_CARD, CardRequest
from projections.devices.card_use import NodeCards, states_of
from projections.devices.fit.pick import MIG_MODE
from projections.devices.fit.score import node_fullness
from projections.devices.vendors.table import BY_WORD
from projections.devices.vendors.vendor import Rules


class NodeSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The cards of a node, how full they are together, and the most that one usable card has left."""

    on: NodeCards
    fullness: int
    usable: int
    """Healthy cards that nobody cordoned and that have a slot left."""
    memory: int
    """The most MiB that one usable card has left."""
    cores: int
    healthy: int
    """Cards that are healthy and not cordoned, full or not."""
    whole: int
    """The MiB of the largest of them."""
    free: int
    """The MiB that are left on all of them."""
    open: tuple[tuple[int, int, bool], ...]
    """Of each usable card the MiB and cores left, and whether it may be had alone."""
    pieces: bool
    """Whether some card is cut into pieces, so that it may serve one request several times."""


def summarized(on: NodeCards) -> NodeSummary:
    """What a node has at most on one card and in all, so that nodes where pods can't fit are passed over without looking at each card."""
    states = states_of(on)
    sound = [state for state in states if state.card.healthy and not state.cordoned]
    open_cards = [state for state in sound if state.use.slots < state.card.slots]
    return NodeSummary(
        on=on,
        fullness=node_fullness(states),
        usable=len(open_cards),
        memory=max((state.card.memory - state.use.memory for state in open_cards), default=0),
        cores=max((state.card.cores - state.use.cores for state in open_cards), default=0),
        healthy=len(sound),
        whole=max((state.card.memory for state in sound), default=0),
        free=sum(max(0, state.card.memory - state.use.memory) for state in sound),
        open=tuple(
            (
                state.card.memory - state.use.memory,
                state.card.cores - state.use.cores,
                not state.use.slots or state.card.cores != WHOLE_CARD,
            )
            for state in open_cards
        ),
        pieces=any(state.card.mode == MIG_MODE for state in open_cards),
    )


def may_hold(node: NodeSummary, requests: Sequence[Sequence[CardRequest]]) -> bool:
    """Whether the node is worth a closer look; False only where no choice of cards could make it fit."""
    return all(_may_serve(node, request) for asked in requests for request in asked)


def _may_serve(node: NodeSummary, request: CardRequest) -> bool:
    if node.pieces:
        return request.memory <= node.memory
    vendor = BY_WORD.get(request.vendor)
    percent = 0 if vendor is None or _looks_at_cores_itself(vendor.rules) else min(request.cores, WHOLE_CARD)
    if request.count > node.usable or request.memory > node.memory or percent > node.cores:
        return False
    alone = percent == WHOLE_CARD and vendor is not None and vendor.rules.exclusive
    if request.count == 1 and not alone:
        return True
    serving = sum(
        memory >= request.memory and cores >= percent and (free or not alone) for memory, cores, free in node.open
    )
    return serving >= request.count


def _looks_at_cores_itself(rules: Rules) -> bool:
    """Whether cores that are asked for are not what a card must have free of those that it registers."""
    return rules.compute_units or rules.classes or rules.soft_split or rules.same_size
