"""The part of the world that says who is placed in which domains."""

from typing import Protocol

from projections.devices.state import DeviceState
from projections.topology.usage import TopologyUsage


class TopologyState(DeviceState, Protocol):
    """What is free and held in the domains of all topologies, beside the nodes and cards in them."""

    domains: TopologyUsage
    placed_pods: dict[str, dict[str, None]]
    """Keys of the pods that are placed by topology, by workload."""
