"""The domains of one flavor with a topology, level by level down to the leaves, as its nodes are labelled.

Rule: docs/rules/topology.md#domains

Domains of a level stand in the order of their values, so the children of a domain stand side by side: a domain is its
place in its level, and its children are a range of the next one. A tree never changes; it is built anew when a node comes,
goes, or is labelled or tainted otherwise.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from events.device import NodeObserved
from events.selector import Effect, Taint
from projections.nodes.affinity import has_labels

HOSTNAME = "kubernetes.io/hostname"
"""The label that makes each node a leaf of its own."""

Values = tuple[str, ...]


class Leaf(msgspec.Struct, frozen=True, kw_only=True):
    """A domain of the lowest level. Labels and taints are those of its first node, by name, where several share it."""

    key: str
    """The hostname where that is the lowest level; else all values, joined by commas."""
    values: Values
    node: str
    """The name of its first node."""
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    """Only those that keep pods off."""


class TopologyTree:
    """The domains of a flavor. Built by `tree_of`; whoever asks gets the same answers for ever."""

    __slots__ = ("children", "leaf_by_key", "leaf_by_node", "leaves", "levels", "name", "nodes", "tainted", "values")

    def __init__(self, name: str, levels: Sequence[str], leaves: Sequence[Leaf], leaf_by_node: dict[str, int]) -> None:
        self.name = name
        """The name of the topology, for messages."""
        self.levels = tuple(levels)
        """The labels of the levels, the widest first."""
        self.leaves = tuple(leaves)
        self.leaf_by_key = {leaf.key: index for index, leaf in enumerate(leaves)}
        self.leaf_by_node = leaf_by_node
        """By name of a node, the place of its leaf."""
        self.nodes = _nodes_by_leaf(leaf_by_node, len(leaves))
        """By leaf, its nodes by name."""
        self.tainted = tuple(index for index, leaf in enumerate(leaves) if leaf.taints)
        self.values = tuple(_values_of(leaves, level) for level in range(len(levels)))
        """By level, the values of each domain from the highest level down to its own."""
        self.children = tuple(_children(self.values[level], self.values[level + 1]) for level in range(len(levels) - 1))
        """By level, for each domain its children as a range of places in the next level."""

    @property
    def by_host(self) -> bool:
        """Whether every leaf is a host, so that pods are told the host alone and nodes are chosen by label and taint."""
        return self.levels[-1] == HOSTNAME

    @property
    def lowest(self) -> int:
        """The number of the lowest level, that of the leaves; the widest is 0."""
        return len(self.levels) - 1

    def level_of(self, label: str) -> int | None:
        """The place of a level, 0 for the widest; None if the topology has no such level."""
        return self.levels.index(label) if label in self.levels else None

    def below(self, domains: Sequence[int], level: int) -> list[int]:
        """The children of domains of one level, in the order of their values."""
        ranges = self.children[level]
        return [child for domain in sorted(domains) for child in ranges[domain]]

    def descendants(self, domain: int, level: int, target: int) -> range:
        """The domains of a level below (or the same) that lie in a domain."""
        found = range(domain, domain + 1)
        for step in range(level, target):
            found = range(self.children[step][found[0]].start, self.children[step][found[-1]].stop)
        return found

    def ancestor(self, leaf: int, level: int) -> int:
        """The domain of a level in which a leaf lies."""
        return bisect_left(self.values[level], self.leaves[leaf].values[: level + 1])

    def leaf_at(self, values: Sequence[str]) -> int | None:
        """The leaf that an assignment's values name; None if there is none (any more)."""
        return self.leaf_by_key.get(leaf_key(values, by_host=self.by_host)) if values else None

    def assigned_levels(self) -> tuple[str, ...]:
        """The levels that an assignment names: the hostname alone where hosts are leaves."""
        return self.levels[-1:] if self.by_host else self.levels

    def assigned_values(self, leaf: int) -> Values:
        """What an assignment says of a leaf."""
        values = self.leaves[leaf].values
        return values[-1:] if self.by_host else values


def tree_of(name: str, levels: Sequence[str], labels: Mapping[str, str], nodes: Iterable[NodeObserved]) -> TopologyTree:
    """The tree of a flavor with these node labels. The order in which nodes come does not matter."""
    by_host = levels[-1] == HOSTNAME
    found: dict[str, Leaf] = {}
    homes: dict[str, str] = {}
    for node in sorted((node for node in nodes if takes(node, levels, labels)), key=lambda node: node.name):
        values = tuple(node.labels[level] for level in levels)
        key = leaf_key(values, by_host=by_host)
        homes[node.name] = key
        if key not in found:
            taints = tuple(taint for taint in node.taints if taint.effect is not Effect.PREFER_NO_SCHEDULE)
            found[key] = Leaf(key=key, values=values, node=node.name, labels=node.labels, taints=taints)
    leaves = sorted(found.values(), key=lambda leaf: leaf.values)
    places = {leaf.key: index for index, leaf in enumerate(leaves)}
    return TopologyTree(name, levels, leaves, {node: places[key] for node, key in homes.items()})


def leaf_key(values: Sequence[str], *, by_host: bool) -> str:
    """What a leaf is known by: the host alone where leaves are hosts, else all its values."""
    return values[-1] if by_host else ",".join(values)


def takes(node: NodeObserved, levels: Iterable[str], labels: Mapping[str, str]) -> bool:
    """Whether a node is one of a flavor's: ready, schedulable, with the flavor's labels and a label for every level."""
    return (
        node.ready
        and not node.unschedulable
        and has_labels(node, labels)
        and all(level in node.labels for level in levels)
    )


def same_place(before: NodeObserved, after: NodeObserved) -> bool:
    """Whether trees with the node stay as they are: at most what it can hold has changed."""
    return (before.labels, before.taints, before.ready, before.unschedulable) == (
        after.labels,
        after.taints,
        after.ready,
        after.unschedulable,
    )


def _nodes_by_leaf(leaf_by_node: Mapping[str, int], leaves: int) -> tuple[tuple[str, ...], ...]:
    found: list[list[str]] = [[] for _ in range(leaves)]
    for node in sorted(leaf_by_node):
        found[leaf_by_node[node]].append(node)
    return tuple(map(tuple, found))


def _values_of(leaves: Sequence[Leaf], level: int) -> tuple[Values, ...]:
    return tuple(dict.fromkeys(leaf.values[: level + 1] for leaf in leaves))


def _children(parents: Sequence[Values], children: Sequence[Values]) -> tuple[range, ...]:
    ranges: list[range] = []
    start = 0
    for parent in parents:
        stop = start
        while stop < len(children) and children[stop][:-1] == parent:
            stop += 1
        ranges.append(range(start, stop))
        start = stop
    return tuple(ranges)
