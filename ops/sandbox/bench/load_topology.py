"""The nodes, the topology and the flavor of a generator file of Kueue's scheduler benchmark, and what its workloads ask of them."""

from collections.abc import Iterator
from typing import Literal

import msgspec

from events.catalogue import Fact
from events.device import NodeObserved
from events.quantity import to_units
from events.quota import FlavorObserved
from events.topology import SliceConstraint, TopologyObserved, TopologyRequest
from projections.topology.domains.tree import HOSTNAME

NODE_GROUP = "tas"
"""The value that Kueue's generator gives the flavor's label on every node."""
PODS = 110
"""The pods that a node of Kueue's generator has room for."""
_LEAST_LEVELS = 2


class NodeCapacity(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one node has, as Kubernetes quantities."""

    cpu: str = "96"
    memory: str = "256Gi"


class LevelOfLoad(msgspec.Struct, frozen=True, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """One level: in each domain above it so many domains, told apart by the value of a label on their nodes."""

    name: str
    count: int
    node_label: str
    capacity: NodeCapacity = NodeCapacity()
    """Of the last level alone, whose domains are the nodes."""


class TopologyOfLoad(msgspec.Struct, frozen=True, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """A topology with all of its nodes; levels are the widest first."""

    name: str
    levels: tuple[LevelOfLoad, ...]

    def __post_init__(self) -> None:
        if len(self.levels) < _LEAST_LEVELS:
            raise ValueError(f"a topology has at least {_LEAST_LEVELS} levels, the last of them its nodes")


class FlavorOfLoad(msgspec.Struct, frozen=True, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """The one flavor of all queues, and the label by which it knows its nodes."""

    name: str
    node_label: str = ""
    topology_name: str = ""

    def __post_init__(self) -> None:
        if self.topology_name and not self.node_label:
            raise ValueError("a flavor with a topology needs nodeLabel")

    @property
    def labels(self) -> dict[str, str]:
        """The labels of its nodes."""
        return {self.node_label: NODE_GROUP} if self.topology_name else {}

    def fact(self) -> Fact:
        """The flavor as the log has it."""
        return FlavorObserved(name=self.name, node_labels=self.labels, topology=self.topology_name)


Constraint = Literal["", "required", "preferred", "balanced"]


def topology_request(constraint: Constraint, level: str, slice_size: int) -> TopologyRequest | None:
    """What a workload of a class asks for; `balanced` are slices of which each stays in one domain of the level."""
    match constraint:
        case "":
            return None
        case "required":
            return TopologyRequest(required=level)
        case "preferred":
            return TopologyRequest(preferred=level)
        case "balanced":
            return TopologyRequest(slices=(SliceConstraint(topology=level, size=slice_size),))


def topology_facts(topology: TopologyOfLoad) -> Iterator[Fact]:
    """The topology and its nodes as the log has them."""
    yield TopologyObserved(name=topology.name, levels=tuple(level.node_label for level in topology.levels))
    capacity = topology.levels[-1].capacity
    allocatable = {
        "cpu": to_units("cpu", capacity.cpu),
        "memory": to_units("memory", capacity.memory),
        "pods": PODS,
    }
    for name, labels in nodes_of(topology):
        yield NodeObserved(name=name, labels=labels, allocatable=allocatable)


def nodes_of(topology: TopologyOfLoad) -> Iterator[tuple[str, dict[str, str]]]:
    """Each node with its labels, as Kueue's generator makes them, but that a host's label is its own name, as kubelets write it.

    Kueue's generator numbers the hosts of each rack anew, and hosts that share that label are one domain to Kueue as well.
    """
    found: list[tuple[str, dict[str, str]]] = [("node", {"tas-node-group": NODE_GROUP})]
    for level in topology.levels:
        found = [
            (f"{name}-{level.name[0]}{index}", {**labels, level.node_label: f"{level.name}-{index}"})
            for name, labels in found
            for index in range(level.count)
        ]
    for name, labels in found:
        yield name, {**labels, HOSTNAME: name} if HOSTNAME in labels else labels
