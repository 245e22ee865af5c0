"""What is taken of a card, and what a pod takes: slots, MiB, cores and pieces of MIG cards.

Pieces are kept as a multiset, so that adding and giving back are exact inverses in any order.
"""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from events.card import Card, CardShare, MigInstance
from projections.devices.vendors.table import BY_WORD


class CardUse(msgspec.Struct, frozen=True):
    """What is taken of a card: slots, MiB, percent, and the pieces if it is cut by MIG."""

    slots: int = 0
    memory: int = 0
    cores: int = 0
    instances: tuple[MigInstance, ...] = ()

    def plus(self, other: "CardUse") -> "CardUse":
        """The use of a card by both together."""
        pieces = self.instances + other.instances if other.instances else self.instances
        return CardUse(self.slots + other.slots, self.memory + other.memory, self.cores + other.cores, pieces)

    def minus(self, other: "CardUse") -> "CardUse":
        """What is left when the other is given back."""
        pieces = self.instances
        if other.instances:
            left = list(pieces)
            for piece in other.instances:
                if piece in left:
                    left.remove(piece)
            pieces = tuple(left)
        return CardUse(self.slots - other.slots, self.memory - other.memory, self.cores - other.cores, pieces)

    def larger(self, other: "CardUse") -> "CardUse":
        """The larger of both in each dimension; pieces of both."""
        pieces = self.instances + tuple(piece for piece in other.instances if piece not in self.instances)
        return CardUse(
            max(self.slots, other.slots), max(self.memory, other.memory), max(self.cores, other.cores), pieces
        )


IDLE = CardUse()
_PERCENT = 100
SLOTS_ONLY = "kunlun"
_MOST = 2**31 - 1
"""HAMi counts no further."""


class NodeCards(msgspec.Struct, frozen=True, kw_only=True):
    """The cards of one node, which are cordoned, and what is taken of each."""

    node: str
    cards: tuple[Card, ...]
    cordoned: frozenset[str] = frozenset()
    used: Mapping[str, CardUse] = {}
    pair_scores: Mapping[str, Mapping[str, int]] = {}
    annotations: Mapping[str, str] = {}
    tenants: Mapping[str, tuple[str, ...]] = {}
    """By card the classes of those who share it, empty for one that names none; only where its vendor knows of them."""
    qualities: Mapping[str, str] = {}
    """By card the quality of service that those who share it ask for, where it is known."""


class CardState(msgspec.Struct, frozen=True):
    """A card with what is taken of it."""

    card: Card
    use: CardUse = IDLE
    cordoned: bool = False
    tenants: tuple[str, ...] = ()
    quality: str | None = None
    """What those who share it ask for; None where only the card itself tells."""

    def holding(self, more: CardUse) -> "CardState":
        """The card with so much more in use; its slots are never counted beyond what HAMi can hold."""
        use = self.use.plus(more)
        if use.slots > _MOST:
            use = msgspec.structs.replace(use, slots=_MOST)
        return msgspec.structs.replace(self, use=use)


def states_of(on: NodeCards) -> list[CardState]:
    """The cards of a node with their use, in the order of registration."""
    return [
        CardState(
            card,
            on.used.get(card.uuid, IDLE),
            card.uuid in on.cordoned,
            on.tenants.get(card.uuid, ()),
            on.qualities.get(card.uuid),
        )
        for card in on.cards
    ]


def whole_of(card: Card) -> CardUse:
    """All that there is of a card; a chip that may be split by software has its AI cores in percent then."""
    vendor = BY_WORD.get(card.vendor)  # Only HAMi's configuration names others, and those are chips.
    chip = vendor is None or vendor.rules.soft_split
    return CardUse(card.slots, card.memory, max(card.cores, _PERCENT) if chip else card.cores)


def use_of(share: CardShare) -> CardUse:
    """What one share takes of its card."""
    return CardUse(share.slots, share.memory, share.cores, () if share.instance is None else (share.instance,))


def charged_of(share: CardShare) -> CardUse:
    """What HAMi charges a card for one share: whole cards of Kunlunxin count by their slot alone."""
    return CardUse(share.slots) if share.vendor == SLOTS_ONLY else use_of(share)


def effective_use(
    containers: Sequence[Sequence[CardShare]],
    init: int,
    *,
    sidecars: Sequence[int] = (),
    init_done: bool = False,
    each: Callable[[CardShare], CardUse] = use_of,
) -> dict[str, CardUse]:
    """What a pod takes of each card: its init containers' peak or its containers' sum; sidecars count in both.

    Rule: docs/rules/devices.md#init-containers
    """
    peak: dict[str, CardUse] = {}
    total: dict[str, CardUse] = {}
    for position, shares in enumerate(containers):
        ends = position < init and position not in sidecars
        if ends and init_done:
            continue
        taken = dict[str, CardUse]() if ends else total
        for share in shares:
            taken[share.uuid] = taken.get(share.uuid, total.get(share.uuid, IDLE)).plus(each(share))
        if ends:
            for uuid, use in taken.items():
                peak[uuid] = peak.get(uuid, IDLE).larger(use)
    return {uuid: peak.get(uuid, IDLE).larger(total.get(uuid, IDLE)) for uuid in sorted({*peak, *total})}
