"""How much is free on each leaf of a topology: what nodes offer, less what pods hold there.

Rule: docs/rules/topology.md#capacity

Amounts stand in a column per resource, in the order of the tree's leaves: counting pods goes over whole columns.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from events.amount import Requests
from events.device import NodeObserved
from events.topology import TopologyAssignment
from projections.topology.domains.tree import TopologyTree

PODS = "pods"
MOST_PODS = 2**31 - 1
"""No leaf counts for more pods than this, also if they ask for nothing."""


class LeafAmounts:
    """Amounts of resources per leaf of one tree. Changed in place; adding what was added with -1 `times` takes it back."""

    __slots__ = ("_columns", "_leaves")

    def __init__(self, leaves: int) -> None:
        self._leaves = leaves
        self._columns: dict[str, list[int]] = {}

    def add(self, leaf: int, amounts: Mapping[str, int], times: int = 1) -> None:
        """Add amounts to a leaf, so many times."""
        for resource, amount in amounts.items():
            column = self._columns.get(resource)
            if column is None:
                column = self._columns[resource] = [0] * self._leaves
            column[leaf] += amount * times

    def column(self, resource: str) -> Sequence[int] | None:
        """The amount of a resource on each leaf; None where nobody has any."""
        return self._columns.get(resource)


class LeafUsage:
    """What pods placed by topology hold, by the key of the leaf.

    It outlives the trees: usage on a leaf that is gone counts again once the leaf is back. Changed in place; adding with
    negative `times` takes back what was added.
    """

    __slots__ = ("_held", "_views")

    def __init__(self) -> None:
        self._held: dict[str, Requests] = {}
        self._views: dict[str, tuple[TopologyTree, LeafAmounts]] = {}

    def add(self, leaf: str, amounts: Mapping[str, int], times: int = 1) -> None:
        """Add what so many pods hold on a leaf."""
        take(self._held, leaf, amounts, times)
        for tree, view in self._views.values():
            index = tree.leaf_by_key.get(leaf)
            if index is not None:
                view.add(index, amounts, times)

    def on(self, flavor: str, tree: TopologyTree) -> LeafAmounts:
        """The usage on the leaves of a flavor's tree, kept as a column per resource from the first time it is asked for."""
        found = self._views.get(flavor)
        if found is not None and found[0] is tree:
            return found[1]
        view = LeafAmounts(len(tree.leaves))
        for leaf, held in self._held.items():
            index = tree.leaf_by_key.get(leaf)
            if index is not None:
                view.add(index, held)
        self._views[flavor] = (tree, view)
        return view

    def forget(self, flavor: str) -> None:
        """Keep no columns for a flavor that is gone."""
        self._views.pop(flavor, None)

    def held(self) -> Mapping[str, Mapping[str, int]]:
        """What is held, by leaf and resource."""
        return self._held


class LeafRoom(msgspec.Struct, frozen=True, kw_only=True):
    """What is free on the leaves of a tree, for one attempt to place pods.

    Without `usage` the cluster is as if nobody were placed there by topology. `taken` says by key of the leaf what else is
    held beside the usage; negative amounts are those of victims that would be gone. `assumed` is what pods of the same
    workload were given before.
    """

    tree: TopologyTree
    capacity: LeafAmounts
    """What nodes offer, less what pods outside of the topology hold."""
    usage: LeafAmounts | None = None
    taken: Mapping[str, Mapping[str, int]] = {}
    assumed: Mapping[str, Mapping[str, int]] = {}

    def free(self, resource: str) -> list[int]:
        """How much of a resource is free on each leaf; below zero where more is held than there is."""
        capacity = self.capacity.column(resource)
        used = self.usage.column(resource) if self.usage is not None else None
        if capacity is None:
            free = [0] * len(self.tree.leaves) if used is None else [-amount for amount in used]
        elif used is None:
            free = list(capacity)
        else:
            free = [have - held for have, held in zip(capacity, used, strict=True)]
        for beside in (self.taken, self.assumed):
            for key, amounts in beside.items():
                amount = amounts.get(resource, 0)
                leaf = self.tree.leaf_by_key.get(key) if amount else None
                if leaf is not None:
                    free[leaf] -= amount
        return free

    def holds(self, assignment: TopologyAssignment, requests: Mapping[str, int]) -> bool:
        """Whether every domain of an assignment is still there and has room for its pods, each seen for itself."""
        columns = {resource: self.free(resource) for resource, amount in requests.items() if amount > 0}
        for domain in assignment.domains:
            leaf = self.tree.leaf_at(domain.values)
            if leaf is None or any(
                columns[resource][leaf] // requests[resource] < domain.count for resource in columns
            ):
                return False
        return True


def capacity_of(tree: TopologyTree, nodes: Iterable[NodeObserved]) -> LeafAmounts:
    """What the nodes of a tree offer; others do not count. What pods outside of the topology hold is added with -1 `times`."""
    amounts = LeafAmounts(len(tree.leaves))
    for node in nodes:
        leaf = tree.leaf_by_node.get(node.name)
        if leaf is not None:
            amounts.add(leaf, node.allocatable)
    return amounts


def held_by(requests: Mapping[str, int]) -> Requests:
    """What one pod holds of a leaf: its requests, and its place among the pods."""
    return {**requests, PODS: 1}


def take(taken: dict[str, Requests], leaf: str, amounts: Mapping[str, int], times: int) -> None:
    """Add what so many pods hold on a leaf to what is held; nothing is kept of what comes to zero."""
    held = taken.setdefault(leaf, {})
    for resource, amount in amounts.items():
        total = held.get(resource, 0) + amount * times
        if total:
            held[resource] = total
        else:
            held.pop(resource, None)
    if not held:
        del taken[leaf]
