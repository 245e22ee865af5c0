"""What is taken of a node's cards, put together again from what stands on its pods (docs/rules/devices.md#books).

A share on a card that the node no longer registers is left out. A MIG card on which a pod holds a share, but no piece
is told for it, counts as unhealthy: what is free on it is not known (docs/rules/devices.md#mig).
"""

from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

from events.card import Card, CardShare
from projections.devices.annotations.allocated_cards import MigAllocation
from projections.devices.card_use import IDLE, CardState, CardUse, use_of
from projections.devices.fit.pick import MIG_MODE


class PodShares(msgspec.Struct, frozen=True, kw_only=True):
    """What one pod holds of a node's cards in effect, and the pieces of MIG cards that are told for it."""

    shares: tuple[CardShare, ...]
    pieces: tuple[MigAllocation, ...] = ()


def rebuilt(cards: Sequence[Card], pods: Iterable[PodShares]) -> list[CardState]:
    """The cards with all that pods hold of them."""
    known = {card.uuid: card for card in cards}
    used: dict[str, CardUse] = {}
    unknown: set[str] = set()
    for pod in pods:
        for share in pod.shares:
            card = known.get(share.uuid)
            if card is None:
                continue
            used[share.uuid] = used.get(share.uuid, IDLE).plus(use_of(share))
            if card.mode == MIG_MODE and not any(piece.gpu_uuid == share.uuid for piece in pod.pieces):
                unknown.add(share.uuid)
        for piece in pod.pieces:
            if piece.gpu_uuid in known:
                taken = CardUse(instances=(piece.instance(),))
                used[piece.gpu_uuid] = used.get(piece.gpu_uuid, IDLE).plus(taken)
    return [
        CardState(
            replace(card, healthy=False) if card.uuid in unknown else card,
            used.get(card.uuid, IDLE),
        )
        for card in cards
    ]
