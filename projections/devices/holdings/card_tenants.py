"""Of which classes the work is that shares a card, and of what quality of service, where its vendor looks at both."""

from collections.abc import Iterable, Mapping

from events.card import Card, CardShare
from projections.devices.annotations.terms import CLASS
from projections.devices.fit.metax_sharing import quality_after
from projections.devices.holdings.card_stakes import Holding, Stake
from projections.devices.vendors.table import METAX_SLICE

Sharing = Mapping[str, tuple[tuple[CardShare, ...], ...]]
"""By card what each who has a part of it has been given of it; nothing is known of a pod that no queue manages."""


def sharing_of(
    cards: Iterable[Card],
    stakes: Mapping[str, Mapping[str, Stake]],
    attempts: Mapping[str, Mapping[str, None]],
    holdings: Mapping[str, Holding],
    tried: Mapping[str, tuple[CardShare, ...]],
) -> Sharing:
    """Who shares which card: by the log, and by a trial that is under way."""
    found: dict[str, tuple[tuple[CardShare, ...], ...]] = {}
    for card in cards:
        owners = stakes.get(card.uuid, {})
        if card.vendor != METAX_SLICE or not (owners or card.uuid in tried):
            continue
        given = tuple(
            _shares(card.uuid, [holdings[key] for key in sorted(attempts.get(owner, ()))]) for owner in sorted(owners)
        )
        found[card.uuid] = (*given, tried[card.uuid]) if card.uuid in tried else given
    return found


def tenants_of(sharing: Sharing) -> dict[str, tuple[str, ...]]:
    """By card the class of each who has a part of it; a pod that no queue manages has none."""
    return {
        uuid: tuple(
            word for shares in owners for word in [str(share.custom.get(CLASS, "")) for share in shares] or [""]
        )
        for uuid, owners in sharing.items()
    }


def qualities_of(sharing: Sharing) -> dict[str, str]:
    """By card the quality of service that is asked for there, which the card itself tells only later."""
    found = {uuid: quality_after(None, [s for shares in owners for s in shares]) for uuid, owners in sharing.items()}
    return {uuid: quality for uuid, quality in found.items() if quality is not None}


def _shares(uuid: str, holdings: Iterable[Holding]) -> tuple[CardShare, ...]:
    return tuple(
        share
        for holding in holdings
        for placement in holding.placements
        for shares in placement.containers
        for share in shares
        if share.uuid == uuid
    )
