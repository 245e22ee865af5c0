"""By which configuration of HAMi a world's cards are asked for and given."""

from projections.devices.card_config import CardConfig
from projections.world import World


def config_of(world: World) -> CardConfig:
    """What is in force."""
    return world.cards.care.config(world.settings.hami)
