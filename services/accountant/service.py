"""What time alone changes about cards: healthy ones return to service, those of a silent device plugin go out of it.

Rule: docs/rules/devices.md#health, docs/rules/devices.md#handshake
"""

from collections.abc import Iterator
from functools import partial

from events.catalogue import Decision
from events.device import CardReturned, PluginLost
from events.event import Millis
from projections.devices.holdings.card_holdings import CardHoldings
from projections.devices.registration.card_health import due
from projections.devices.registration.handshake import TIMEOUT
from projections.set_aside.records import Scope
from services.accountant.guarding import each, one
from services.accountant.state import AccountantState


def returns(world: AccountantState, at: Millis) -> Iterator[Decision]:
    """Return cards to service that have been healthy for long enough."""
    yield from each(world, Scope.CARD, sorted(world.cards.care.health), lambda card: _returned(world.cards, card, at))


def losses(world: AccountantState, at: Millis) -> Iterator[Decision]:
    """Take cards out of service whose device plugin has been silent for too long."""
    care = world.cards.care
    for key in sorted(care.silent.keys() - care.lost.keys()):
        node, _, vendor = key.partition("/")
        yield from one(world, Scope.NODE, node, partial(_lost, node, vendor, care.silent[key], at))


def _returned(cards: CardHoldings, card: str, at: Millis) -> list[Decision]:
    known = cards.care.health[card]
    time = due(known)
    if time is None or known.healthy_since is None or time > at:
        return []
    return [CardReturned(node=known.node, card=card, healthy_since=known.healthy_since)]


def _lost(node: str, vendor: str, since: Millis, at: Millis) -> list[Decision]:
    return [PluginLost(node=node, vendor=vendor, since=since)] if since + TIMEOUT <= at else []
