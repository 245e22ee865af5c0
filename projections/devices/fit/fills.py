"""How many pods of one shape a node's cards take, and which of its cards: what is known of it, by node and by kind of node.

It is found out in `projections/devices/placement/filling.py`. Two nodes are of one kind if their cards are alike and as much is taken of
each: what holds for one holds for the other, card by card in the order of registration.
"""

from collections.abc import Hashable, Mapping

import msgspec
from msgspec.structs import replace

from events.card import CardRequest, CardShare
from projections.devices.card_config import CardConfig
from projections.devices.card_use import IDLE, NodeCards

PodShares = tuple[tuple[CardShare, ...], ...]
"""The shares of one pod, by container, init containers first."""

_MOST_SHAPES = 64
_MOST_KINDS = 4096


class CardShape(msgspec.Struct, frozen=True, kw_only=True):
    """What a pod asks of cards, as far as all nodes see it alike: pods of one shape get cards in one way."""

    requests: tuple[tuple[CardRequest, ...], ...]
    init: int
    sidecars: tuple[int, ...] = ()
    annotations: tuple[tuple[str, str], ...]
    policies: tuple[str, ...]
    """The card policies that are tried on a node; empty stands for the pod's own, or HAMi's default."""
    config: CardConfig
    by_card: bool
    """Whether the pod names single cards, so that no two nodes are alike to it."""
    in_parts: bool
    """Whether it leaves something of a card to others."""


class Fill(msgspec.Struct, frozen=True, kw_only=True):
    """The pods of one shape that a node takes one after the other, until it takes no more."""

    pods: tuple[PodShares, ...] = ()
    policy: str = ""
    """The card policy under which they were found, where it is not the pod's own."""
    uuids: tuple[str, ...] = ()
    """The cards of the node for which it was found out, in the order of registration."""
    opened: tuple[int, ...] = (0,)
    """By the number of pods, of how many cards they take the first part."""

    def opened_by(self, count: int) -> int:
        """Of how many cards the first so many pods take the first part, as far as the node takes them."""
        return self.opened[min(count, len(self.pods))]


class NodeFill(msgspec.Struct, frozen=True):
    """The fill of a node as it was at some version of its cards."""

    version: int
    fill: Fill
    uuids: tuple[str, ...]

    def shares(self, count: int) -> tuple[PodShares, ...]:
        """What the first so many pods get of this node's cards."""
        pods = self.fill.pods[:count]
        if not pods or self.uuids == self.fill.uuids:
            return pods
        own = dict(zip(self.fill.uuids, self.uuids, strict=True))
        return tuple(
            tuple(tuple(replace(share, uuid=own[share.uuid]) for share in shares) for shares in pod) for pod in pods
        )


class FillColumn(msgspec.Struct, kw_only=True):
    """How many pods the cards of each leaf of a topology take, and the versions of its nodes for which that was found out."""

    homes: Mapping[str, int]
    """By node, its leaf."""
    nodes: list[str]
    pods: list[int]
    versions: list[int] = []
    fills: dict[str, Fill] = {}
    """By node."""
    opened: dict[int, list[int]] = {}
    """By a number of pods and leaf, of how many cards they take the first part there, as many of them as it takes."""


class ShapeFills(msgspec.Struct):
    """What is known of one shape, alone or beside a pod of another one. A cache: changed in place, kept outside the trail."""

    by_kind: dict[Hashable, Fill] = {}
    by_node: dict[str, NodeFill] = {}
    column: FillColumn | None = None

    def keep(self, kind: Hashable, fill: Fill) -> None:
        """Remember the fill of a kind of node."""
        if len(self.by_kind) >= _MOST_KINDS:
            self.by_kind.clear()
        self.by_kind[kind] = fill


class KnownFills:
    """What is known of each shape that was asked for lately."""

    __slots__ = ("_shapes",)

    def __init__(self) -> None:
        self._shapes: dict[tuple[CardShape, CardShape | None], ShapeFills] = {}

    def of(self, shape: CardShape, beside: CardShape | None = None) -> ShapeFills:
        """Of a shape, on nodes that have taken one pod of another shape before where one is named."""
        key = (shape, beside)
        found = self._shapes.get(key)
        if found is None:
            if len(self._shapes) >= _MOST_SHAPES:
                del self._shapes[next(iter(self._shapes))]
            found = self._shapes[key] = ShapeFills()
        return found


def kind_of(on: NodeCards) -> Hashable:
    """What nodes whose cards are alike, and of which as much is taken, have in common."""
    return (
        tuple(
            (
                (card.vendor, card.model, card.mode, card.index, card.slots, card.memory, card.cores, card.numa),
                card.healthy and card.uuid not in on.cordoned,
                on.used.get(card.uuid, IDLE),
                card.profiles,
                tuple(sorted(card.custom.items())),
                on.tenants.get(card.uuid, ()),
                on.qualities.get(card.uuid),
            )
            for card in on.cards
        ),
        _pairs(on),
        tuple(sorted(on.annotations.items())),
    )


def _pairs(on: NodeCards) -> Hashable:
    if not on.pair_scores:
        return ()
    nothing: Mapping[str, int] = {}
    return tuple(
        on.pair_scores.get(one.uuid, nothing).get(other.uuid)
        for one in on.cards
        for other in on.cards
        if other is not one
    )
