"""Which nodes belong to which flavors with a topology, by their labels (docs/rules/topology.md#retries)."""

from collections.abc import Mapping

from events.device import NodeObserved
from events.quota import FlavorObserved


def bears(labels: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    """Whether a node with these labels has all that a flavor wants."""
    return all(labels.get(key) == value for key, value in wanted.items())


def placing_flavors(flavors: Mapping[str, FlavorObserved], node: NodeObserved | None) -> list[str]:
    """The flavors with a topology whose nodes this one is among, by name; a node that is not known is nobody's."""
    if node is None:
        return []
    return [name for name, one in sorted(flavors.items()) if one.topology and bears(node.labels, one.node_labels)]
