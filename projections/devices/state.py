"""The part of the world that says who holds which cards, and the configuration of HAMi that is in force in it."""

from typing import Protocol

from events.device import PodCardsAssigned
from events.pod import PodEndForced
from projections.devices.card_config import CardConfig
from projections.devices.holdings.card_holdings import CardHoldings
from projections.nodes.state import NodeState
from projections.workloads.state import WorkloadState


class DeviceState(NodeState, WorkloadState, Protocol):
    """The cards of all nodes with who holds them, and which pod got which of its workload's."""

    cards: CardHoldings
    pod_cards: dict[str, tuple[PodCardsAssigned, ...]]
    """The assignments of cards to single pods, by workload."""
    elastic_pods: dict[str, dict[str, None]]
    """Keys of the pods of elastic jobs, by the slice to which they belong."""
    hanging_pods: dict[str, None]
    """Keys of pods that are being deleted and may be ended by force."""
    forced_pods: dict[str, PodEndForced]
    """Pods that are to be ended by force, by key, until they are gone."""


def config_of(world: DeviceState) -> CardConfig:
    """The configuration of cards by the settings and the ConfigMaps on record."""
    return world.cards.care.config(world.settings.hami)
