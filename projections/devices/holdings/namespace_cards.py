"""What a namespace has of cards beside its ResourceQuotas (docs/rules/devices.md#namespace-quota)."""

from collections.abc import Iterable

from events.card import CardShare
from events.device import PodPlacement
from projections.devices.card_use import CardUse
from projections.devices.fit.card_checks import cores_counted
from projections.devices.holdings.card_holdings import CardHoldings
from projections.devices.holdings.card_stakes import POD, uses_of
from projections.devices.namespace_quota import Limit, Limits, Names, charged, in_force
from projections.devices.vendors.table import BY_WORD


def limits_of(cards: CardHoldings, namespace: str, names: Names) -> Limits:
    """The limits of a namespace with what it has; nothing where it has none."""
    limits = in_force(quota.hard for quota in cards.care.quotas.get(namespace, ()))
    if not limits:
        return {}
    held = [
        (uuid, stake.charged())
        for uuid, stakes in cards.stakes.items()
        for owner, stake in stakes.items()
        if owner.removeprefix(POD).partition("/")[0] == namespace
    ]
    return _with(cards, limits, held, names)


def with_placements(cards: CardHoldings, limits: Limits, placements: Iterable[PodPlacement], names: Names) -> Limits:
    """The limits after these pods have come as well."""
    return _with(cards, limits, uses_of(placements).items(), names) if limits else limits


def emptied(limits: Limits) -> Limits:
    """The limits as they would be if the namespace had nothing."""
    return {name: Limit(limit=limit.limit) for name, limit in limits.items()}


def _with(cards: CardHoldings, limits: Limits, taken: Iterable[tuple[str, CardUse]], names: Names) -> Limits:
    """The limits with what is taken of these cards, as far as nodes register them."""
    shares: dict[str, list[CardShare]] = {}
    for uuid, use in taken:
        card = cards.registered(uuid)
        if card is not None:
            vendor = BY_WORD.get(card.vendor)
            cores = use.cores if vendor is None else cores_counted(card, vendor, use.cores)
            share = CardShare(uuid=uuid, vendor=card.vendor, memory=use.memory, cores=cores)
            shares.setdefault(card.vendor, []).append(share)
    return charged(limits, {word: (tuple(found),) for word, found in shares.items()}, names)
