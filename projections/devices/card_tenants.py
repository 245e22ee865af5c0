"""The classes of the workloads that share a card, for vendors that do not let all classes share."""

from collections.abc import Iterable, Mapping

from events.card import Card
from projections.devices.card_stakes import Holding, Stake
from projections.devices.terms import CLASS
from projections.devices.vendors import METAX_SLICE


def tenants_of(
    cards: Iterable[Card],
    stakes: Mapping[str, Mapping[str, Stake]],
    attempts: Mapping[str, Mapping[str, None]],
    holdings: Mapping[str, Holding],
) -> dict[str, tuple[str, ...]]:
    """By card the class of each who has a part of it, as the log has given it; a pod that no queue manages has none."""
    return {
        card.uuid: tuple(
            word
            for owner in sorted(stakes[card.uuid])
            for word in _classes(card.uuid, [holdings[key] for key in sorted(attempts.get(owner, ()))])
        )
        for card in cards
        if card.vendor == METAX_SLICE and stakes.get(card.uuid)
    }


def _classes(uuid: str, holdings: Iterable[Holding]) -> list[str]:
    found = [
        str(share.custom.get(CLASS, ""))
        for holding in holdings
        for placement in holding.placements
        for shares in placement.containers
        for share in shares
        if share.uuid == uuid
    ]
    return found or [""]
