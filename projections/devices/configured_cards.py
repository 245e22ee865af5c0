"""The configuration of HAMi in force in a world: resource names, units and policies of cards."""

from projections.devices.card_config import CardConfig
from projections.world import World


def config_of(world: World) -> CardConfig:
    """The configuration of cards by the settings and the ConfigMaps on record."""
    return world.cards.care.config(world.settings.hami)
