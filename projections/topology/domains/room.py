"""How much is free on each leaf of a topology: what nodes offer, less what pods hold there.

Rule: docs/rules/topology.md#capacity

Amounts stand in a column per resource, in the order of the tree's leaves: counting pods goes over whole columns.
"""

from collections.abc import Iterable, Mapping, Sequence
from operator import sub

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

    __slots__ = ("_columns", "_leaves", "_changes", "_forgotten")

    def __init__(self, leaves: int) -> None:
        self._leaves = leaves
        self._columns: dict[str, list[int]] = {}
        self._changes: list[int] = []
        """The leaves that changed, one after the other, as far as they are remembered."""
        self._forgotten = 0
        """How many changes before those."""

    def add(self, leaf: int, amounts: Mapping[str, int], times: int = 1) -> None:
        """Add amounts to a leaf, so many times."""
        if len(self._changes) > self._leaves:
            self._forgotten += len(self._changes)
            self._changes.clear()
        self._changes.append(leaf)
        for resource, amount in amounts.items():
            column = self._columns.get(resource)
            if column is None:
                column = self._columns[resource] = [0] * self._leaves
            column[leaf] += amount * times

    def column(self, resource: str) -> Sequence[int] | None:
        """The amount of a resource on each leaf; None where nobody has any."""
        return self._columns.get(resource)

    @property
    def changes(self) -> int:
        """How often it has changed, for `changed_since`."""
        return self._forgotten + len(self._changes)

    def changed_since(self, changes: int) -> Sequence[int] | None:
        """The leaves that changed since it had changed so often, some of them named twice; None when that is forgotten."""
        return None if changes < self._forgotten else self._changes[changes - self._forgotten :]


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


class LeafFits:
    """How many pods of each shape fit on each leaf by what nodes offer and pods hold, kept from one attempt to the next.

    Leaves are counted anew only where something has changed since. It decides nothing: `LeafRoom` without it says the same.
    """

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: dict[tuple[tuple[str, int], ...], _KeptFits] = {}

    def of(self, capacity: LeafAmounts, usage: LeafAmounts | None, pod: Mapping[str, int], leaves: int) -> list[int]:
        """The pods by leaf, in a list of the caller's own."""
        shape = tuple(sorted(pod.items()))
        books = (capacity,) if usage is None else (capacity, usage)
        kept = self._kept.get(shape)
        changed = None if kept is None else kept.changed(books)
        if kept is None or changed is None:
            if len(self._kept) >= _MOST_SHAPES:
                self._kept.clear()
            pods = _all_fits(capacity, usage, pod, leaves)
            kept = self._kept[shape] = _KeptFits(pods, books)
        else:
            for leaf in changed:
                kept.pods[leaf] = _fit(capacity, usage, pod, leaf)
        kept.seen()
        return kept.pods.copy()


class _KeptFits:
    """The fits of one shape, and how far the changes of what they rest on are in them."""

    __slots__ = ("pods", "_books", "_marks")

    def __init__(self, pods: list[int], books: tuple[LeafAmounts, ...]) -> None:
        self.pods, self._books = pods, books
        self._marks: tuple[int, ...] = ()

    def changed(self, books: tuple[LeafAmounts, ...]) -> list[int] | None:
        """The leaves to be counted anew; None for all of them."""
        if len(books) != len(self._books):
            return None
        found: list[int] = []
        for book, mine, mark in zip(books, self._books, self._marks, strict=True):
            since = book.changed_since(mark) if book is mine else None
            if since is None:
                return None
            found += since
        return found

    def seen(self) -> None:
        """All changes up to now are in the fits."""
        self._marks = tuple(book.changes for book in self._books)


_MOST_SHAPES = 256
"""So many shapes of pods are kept for a flavor; where there are more, memory stays bounded."""


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
    fits: LeafFits | None = None
    """What is kept of earlier attempts on this tree, if anything is."""

    def fitting(self, pod: Mapping[str, int]) -> list[int]:
        """How many pods fit on each leaf by what is free there, in a list of the caller's own."""
        leaves = len(self.tree.leaves)
        if self.fits is None:
            found = _all_fits(self.capacity, self.usage, pod, leaves)
        else:
            found = self.fits.of(self.capacity, self.usage, pod, leaves)
        for key in (*self.taken, *self.assumed):
            leaf = self.tree.leaf_by_key.get(key)
            if leaf is not None:
                found[leaf] = self._fit_on(leaf, pod)
        return found

    def _fit_on(self, leaf: int, pod: Mapping[str, int]) -> int:
        """How many pods fit on one leaf."""
        key = self.tree.leaves[leaf].key
        return _fit(self.capacity, self.usage, pod, leaf, [self.taken.get(key, {}), self.assumed.get(key, {})])

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

    def holds(self, assignment: TopologyAssignment, pod: Mapping[str, int]) -> bool:
        """Whether every domain of an assignment is still there and has room for its pods, each of which holds so much."""
        for domain in assignment.domains:
            leaf = self.tree.leaf_at(domain.values)
            if leaf is None or self._fit_on(leaf, pod) < domain.count:
                return False
        return True


def _all_fits(capacity: LeafAmounts, usage: LeafAmounts | None, pod: Mapping[str, int], leaves: int) -> list[int]:
    """How many pods fit on each leaf, a resource after the other."""
    found = [MOST_PODS] * leaves
    for resource, amount in pod.items():
        if amount > 0:
            have = capacity.column(resource) or [0] * leaves
            used = usage.column(resource) if usage is not None else None
            free = have if used is None else map(sub, have, used)
            found = [
                fit if fit < most else most for fit, most in zip((one // amount for one in free), found, strict=True)
            ]
    return [fit if fit > 0 else 0 for fit in found]


def _fit(
    capacity: LeafAmounts,
    usage: LeafAmounts | None,
    pod: Mapping[str, int],
    leaf: int,
    beside: Iterable[Mapping[str, int]] = (),
) -> int:
    """How many pods fit on a leaf, where others hold something of it beside the usage."""
    found = MOST_PODS
    for resource, amount in pod.items():
        if amount > 0:
            have = capacity.column(resource)
            used = usage.column(resource) if usage is not None else None
            free = (0 if have is None else have[leaf]) - (0 if used is None else used[leaf])
            free -= sum(held.get(resource, 0) for held in beside)
            found = min(found, free // amount)
    return max(found, 0)


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
