"""What a namespace has of cards beside its ResourceQuotas (docs/rules/devices.md#namespace-quota)."""

from collections.abc import Iterable

from events.card import CardShare
from events.device import PodPlacement
from projections.devices.annotations.allocated_cards import by_vendor
from projections.devices.card_use import CardUse, effective_use
from projections.devices.holdings.card_holdings import CardHoldings
from projections.devices.holdings.card_stakes import POD
from projections.devices.namespace_quota import Limit, Limits, Names, charged, in_force


def limits_of(cards: CardHoldings, namespace: str, names: Names) -> Limits:
    """The limits of a namespace with what it has; nothing where it has none."""
    limits = in_force(quota.hard for quota in cards.care.quotas.get(namespace, ()))
    if not limits:
        return {}
    vendors = {card.uuid: card.vendor for registered in cards.nodes.values() for card in registered.cards}
    held: dict[str, list[CardShare]] = {}
    for uuid, stakes in cards.stakes.items():
        for owner, stake in stakes.items():
            if owner.removeprefix(POD).partition("/")[0] == namespace:
                word = vendors.get(uuid, "")
                held.setdefault(word, []).append(_share(uuid, word, stake.charged()))
    return charged(limits, {word: (tuple(shares),) for word, shares in held.items()}, names)


def with_placements(limits: Limits, placements: Iterable[PodPlacement], names: Names) -> Limits:
    """The limits after these pods have come as well."""
    for one in placements if limits else ():
        shares = {
            word: (tuple(_share(uuid, word, use) for uuid, use in effective_use(slots, one.init).items()),)
            for word, slots in by_vendor(one.containers).items()
        }
        limits = charged(limits, shares, names)
    return limits


def emptied(limits: Limits) -> Limits:
    """The limits as they would be if the namespace had nothing."""
    return {name: Limit(limit=limit.limit) for name, limit in limits.items()}


def _share(uuid: str, word: str, use: CardUse) -> CardShare:
    return CardShare(uuid=uuid, vendor=word, memory=use.memory, cores=use.cores, slots=use.slots)
