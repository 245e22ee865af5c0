"""The nodes that an embedded cluster begins with: pools as they are written, and the objects that they make."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from ops.files.reading import Unreadable, yaml_file
from ops.sandbox.embedded_cluster.embedded import EmbeddedCluster
from ops.sandbox.embedded_cluster.nodes.hami import HamiNodes
from ops.sandbox.embedded_cluster.nodes.node_objects import gpu_node, plain_node
from ops.sandbox.embedded_cluster.store import Object

_Count = Annotated[int, msgspec.Meta(ge=0)]


class NodePool(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Nodes of one kind, named `<prefix>-1` and so on; those without cards have neither product nor model."""

    count: Annotated[int, msgspec.Meta(ge=1)]
    """How many nodes."""
    prefix: str
    """What their names begin with."""
    product: str = ""
    """The label by which flavors tell them, such as `Tesla-V100-32GB`."""
    zone: str = ""
    """Their label `zone`."""
    cards: _Count = 0
    """How many cards each has."""
    memory_mib: _Count = msgspec.field(name="memoryMiB", default=0)
    """How much memory a card has, in MiB."""
    model: str = ""
    """As the cards are registered with HAMi."""
    vendor: Literal["NVIDIA", "AMD", "Ascend910B3"] = "NVIDIA"
    """Whose cards they are."""
    cores: _Count = 100
    """Percent, or the compute units and AI cores that a card of AMD and Ascend has."""
    labels: dict[str, str] = {}
    """Further labels of each, such as its rack."""

    def __post_init__(self) -> None:
        """Raise `ValueError` where cards are not described."""
        missing = [name for name, value in self._card().items() if self.cards and not value]
        if missing:
            raise ValueError(f"pool {self.prefix} has cards: say their {', '.join(missing)} too")

    def _card(self) -> dict[str, object]:
        return {"product": self.product, "memoryMiB": self.memory_mib, "model": self.model}

    def nodes(self) -> list[Object]:
        """The Node objects."""
        names = [f"{self.prefix}-{number}" for number in range(1, self.count + 1)]
        found = [self._gpu_node(name) if self.cards else plain_node(name, zone=self.zone) for name in names]
        for node in found:
            node["metadata"]["labels"] |= self.labels
        return found

    def _gpu_node(self, name: str) -> Object:
        return gpu_node(
            name,
            product=self.product,
            zone=self.zone,
            cards=self.cards,
            memory_mib=self.memory_mib,
            model=self.model,
            vendor=self.vendor,
            cores=self.cores,
        )


DEMO_NODES = (
    NodePool(
        count=4,
        prefix="gpu-v100",
        product="Tesla-V100-32GB",
        zone="gpu-zone-a",
        cards=8,
        memory_mib=32768,
        model="NVIDIA-Tesla V100-SXM2-32GB",
    ),
    NodePool(
        count=2,
        prefix="gpu-a100",
        product="Tesla-A100-80GB",
        zone="gpu-zone-b",
        cards=8,
        memory_mib=81920,
        model="NVIDIA-A100-SXM4-80GB",
    ),
)
"""The platform of the AI scenario: 4 nodes with 8 V100-32GB, 2 nodes with 8 A100-80GB."""
UP_NODES = (*DEMO_NODES, NodePool(count=1, prefix="cpu"))
"""The same, and a node for pods that ask for no card."""


class _Pools(msgspec.Struct, frozen=True, kw_only=True):
    """As much of a scenario as tells of nodes."""

    nodes: tuple[NodePool, ...]


class NodesBroken(Exception):
    """A file of node pools that can't be read."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path}: {problem}")


def read_pools(path: Path) -> tuple[NodePool, ...]:
    """The pools under `nodes` of a file, which may be a scenario. Raises `NodesBroken`."""
    try:
        return msgspec.convert(yaml_file(path), _Pools).nodes
    except Unreadable as problem:
        raise NodesBroken(path, problem.what) from problem
    except msgspec.ValidationError as problem:
        raise NodesBroken(
            path, f"{problem}; node pools are written as in examples/ai-platform/scenario.yaml"
        ) from problem


def begin_with_nodes(cluster: EmbeddedCluster, pools: Sequence[NodePool] | None) -> None:
    """Add the nodes of these pools that are not there; None for the preset, in a cluster that has no node yet."""
    if pools is None:
        pools = () if cluster.store.of("nodes") else UP_NODES
    add_nodes(cluster, pools)


def add_nodes(cluster: EmbeddedCluster, pools: Sequence[NodePool]) -> None:
    """Add the nodes of these pools that are not there."""
    for pool in pools:
        for node in pool.nodes():
            cluster.add(node)


def nodes_and_cards(cluster: EmbeddedCluster) -> str:
    """How many nodes with how many cards there are."""
    nodes = cluster.store.of("nodes")
    hami = HamiNodes(cluster.store)
    cards = sum(hami.cards_of(node) for node in nodes.values())
    return counted(len(nodes), cards)


def counted(nodes: int, cards: int) -> str:
    """So many of each, in words."""
    return f"{nodes} {'node' if nodes == 1 else 'nodes'} with {cards} {'card' if cards == 1 else 'cards'}"
