"""Which cards come into service again, and which go out of it because their plugin is silent: when time is up."""

from collections.abc import Iterator

from events.catalogue import Decision
from events.device import CardReturned, PluginLost
from events.event import Millis
from projections.devices.handshake import TIMEOUT
from projections.devices.health import due
from projections.world import World


def returns(world: World, at: Millis) -> Iterator[Decision]:
    """Cards that have been healthy for long enough."""
    health = world.cards.care.health
    for card in sorted(health):
        known = health[card]
        time = due(known)
        if time is not None and known.healthy_since is not None and time <= at:
            yield CardReturned(node=known.node, card=card, healthy_since=known.healthy_since)


def losses(world: World, at: Millis) -> Iterator[Decision]:
    """Plugins that have been silent for too long."""
    care = world.cards.care
    for key in sorted(care.silent.keys() - care.lost.keys()):
        if care.silent[key] + TIMEOUT <= at:
            node, _, vendor = key.partition("/")
            yield PluginLost(node=node, vendor=vendor, since=care.silent[key])
