"""A node's cards in short: enough to pass over a node that cannot hold a request, and to order the others.

A digest is made when it is asked for and dropped when something is taken of the node's cards or given back, so that a
search over many nodes costs work only for those that changed.
"""

from collections.abc import Sequence

import msgspec

from events.card import CardRequest
from projections.devices.pick import MIG_MODE
from projections.devices.score import node_fullness
from projections.devices.use import NodeCards, states_of
from projections.devices.vendors import BY_WORD


class NodeDigest(msgspec.Struct, frozen=True, kw_only=True):
    """The cards of a node, how full they are together, and the most that one usable card has left."""

    on: NodeCards
    fullness: int
    usable: int
    """Healthy cards that nobody cordoned and that have a slot left."""
    memory: int
    cores: int
    pieces: bool
    """Whether some card is cut into pieces, so that it may serve one request several times."""


def digest(on: NodeCards) -> NodeDigest:
    """The digest of a node."""
    states = states_of(on)
    open_cards = [
        state for state in states if state.card.healthy and not state.cordoned and state.use.slots < state.card.slots
    ]
    return NodeDigest(
        on=on,
        fullness=node_fullness(states),
        usable=len(open_cards),
        memory=max((state.card.memory - state.use.memory for state in open_cards), default=0),
        cores=max((state.card.cores - state.use.cores for state in open_cards), default=0),
        pieces=any(state.card.mode == MIG_MODE for state in open_cards),
    )


def may_hold(node: NodeDigest, requests: Sequence[Sequence[CardRequest]]) -> bool:
    """Whether the node is worth a closer look; False only where no container order could make it fit."""
    return all(
        (request.count <= node.usable or node.pieces)
        and request.memory <= node.memory
        and (request.cores <= node.cores or _counts_units(request))
        for asked in requests
        for request in asked
    )


def _counts_units(request: CardRequest) -> bool:
    vendor = BY_WORD.get(request.vendor)
    return vendor is not None and vendor.rules.compute_units
