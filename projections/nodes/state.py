"""The part of the world that says which nodes and pods there are."""

from typing import Protocol

from events.amount import Requests
from events.device import DevicesRegistered, NodeLockObserved, NodeObserved, PodObserved


class NodeState(Protocol):
    """Nodes and pods as the cluster last showed them; pods by `namespace/name`."""

    nodes: dict[str, NodeObserved]
    node_locks: dict[str, NodeLockObserved]
    node_usage: dict[str, Requests]
    """By node, what its pods hold that are not placed by topology."""
    registered: dict[str, DevicesRegistered]
    """By node, the cards that its device plugins have registered."""
    pods: dict[str, PodObserved]
