"""Laying quota trees from what is observed of queues and cohorts: parents, derived quota, cycles."""

from collections.abc import Iterable, Iterator, Mapping, Set
from typing import TypeVar

from events.amount import add, subtract
from events.quota import ClusterQueueObserved, CohortObserved, Quota, ResourceGroup
from projections.quota.columns import Column, Columns
from projections.quota.lending_limit import keep_beyond_lending_limit
from projections.quota.node import Node

V = TypeVar("V")


class Layout:
    """All trees, or some of them, as they were laid at once."""

    __slots__ = ("cohorts", "cyclic", "members", "queues", "roots", "timed", "trees_of_flavor")

    def __init__(
        self,
        queues: Mapping[str, ClusterQueueObserved],
        cohorts: Mapping[str, CohortObserved],
        columns: Columns,
    ) -> None:
        cohorts = {name: cohort for name, cohort in cohorts.items() if name}
        quotas = {name: quotas_of(queue.groups, columns) for name, queue in queues.items()}
        pools = {name: quotas_of(cohort.groups, columns) for name, cohort in cohorts.items()}
        width = columns.width
        named = {queue.cohort for queue in queues.values()} | {cohort.parent for cohort in cohorts.values()}
        self.cohorts = {name: Node(name, is_queue=False, width=width) for name in sorted((named | set(cohorts)) - {""})}
        self.cyclic = frozenset(name for name in self.cohorts if _in_cycle(name, cohorts))
        """Cohorts that are their own ancestors, or below such ones."""
        for name, cohort in sorted(cohorts.items()):
            node = self.cohorts[name]
            node.weight = cohort.weight
            _give(node, pools[name])
            if cohort.parent and name not in self.cyclic:
                _attach(node, self.cohorts[cohort.parent])
        self.queues = {name: Node(name, is_queue=True, width=width) for name in sorted(queues)}
        for name, node in self.queues.items():
            node.weight = queues[name].weight
            _give(node, quotas[name])
            if queues[name].cohort:
                _attach(node, self.cohorts[queues[name].cohort])
        nodes = (*self.queues.values(), *self.cohorts.values())
        self.roots = {node.key: node for node in nodes if node.parent is None}
        self.members: dict[str, tuple[str, ...]] = {}
        """The cluster queues of each tree, in order."""
        for key in sorted(self.roots):
            _derive(self.roots[key], ())
            self.members[key] = tuple(sorted(leaf.name for leaf in self.roots[key].leaves()))
        found: dict[str, dict[str, None]] = {}
        for name, queue in sorted(queues.items()):
            for flavor in queue.flavors:
                found.setdefault(flavor, {})[self.queues[name].root.key] = None
        self.trees_of_flavor = found
        """The trees whose queues have quota of a flavor."""
        self.timed = frozenset(
            self.queues[name].root.key
            for name, queue in queues.items()
            if queue.preemption.minimum_runtime or queue.preemption.cooldown
        )
        """Trees in which something protects victims only for a time."""

    def nodes_of(self, trees: Iterable[str]) -> Iterator[Node]:
        """All nodes of some trees."""
        left = [self.roots[key] for key in trees]
        while left:
            yield (node := left.pop())
            left += node.children.values()

    def stand_for(self, trees: Set[str], before: "Layout") -> None:
        """Take over all trees of another layout but these, for which those that were laid here stand."""
        gone = list(before.nodes_of(trees))
        self.queues = _replaced(before.queues, (one.name for one in gone if one.is_queue), self.queues)
        self.cohorts = _replaced(before.cohorts, (one.name for one in gone if not one.is_queue), self.cohorts)
        self.roots = _replaced(before.roots, trees, self.roots)
        self.members = _replaced(before.members, trees, self.members)
        found = dict(before.trees_of_flavor)
        for flavor in found.keys() | self.trees_of_flavor.keys():
            known, laid = found.get(flavor, {}), self.trees_of_flavor.get(flavor, {})
            if laid or not trees.isdisjoint(known):
                found[flavor] = _replaced(known, trees & known.keys(), laid)
        self.trees_of_flavor = found
        self.timed = (before.timed - trees) | self.timed


def _replaced(before: Mapping[str, V], gone: Iterable[str], laid: Mapping[str, V]) -> dict[str, V]:
    """A table in its order, with what was laid instead of what is gone."""
    found = dict(before)
    for key in gone:
        if key not in laid:
            del found[key]
    found.update(laid)
    return found if laid.keys() <= before.keys() else dict(sorted(found.items()))


def quotas_of(groups: Iterable[ResourceGroup], columns: Columns) -> dict[Column, Quota]:
    """The quotas of all groups by column."""
    return {
        columns.of(flavor.flavor, quota.resource): quota
        for group in groups
        for flavor in group.flavors
        for quota in flavor.quotas
    }


def _give(node: Node, quotas: dict[Column, Quota]) -> None:
    node.quotas = quotas
    for column, quota in quotas.items():
        node.nominal[column] = quota.nominal
        node.borrowing_limit[column] = quota.borrowing_limit


def _attach(node: Node, parent: Node) -> None:
    node.parent = parent
    parent.children[node.key] = node


def _derive(node: Node, above: tuple[Node, ...]) -> None:
    """Reckon the quota of a subtree, from the leaves up: what a node may not lend stays with it.

    Rule: docs/rules/quota.md#lending-limit
    """
    node.path = (node, *above)
    node.root = node.path[-1]
    node.children = dict(sorted(node.children.items()))
    subtree = node.subtree
    subtree[:] = node.nominal
    for child in node.children.values():
        _derive(child, node.path)
        node.height = max(node.height, child.height + 1)
        local = child.local
        for column, amount in enumerate(child.subtree):
            if amount:
                subtree[column] = add(subtree[column], subtract(amount, local[column]))
    node.below = tuple(leaf for child in node.children.values() for leaf in child.leaves())
    node.declared = tuple(sorted({*node.quotas}.union(*(child.declared for child in node.children.values()))))
    keep_beyond_lending_limit(node)


def _in_cycle(name: str, cohorts: Mapping[str, CohortObserved]) -> bool:
    """Whether walking up from a cohort never ends: it is part of a cycle, or below one."""
    seen: set[str] = set()
    while name:
        if name in seen:
            return True
        seen.add(name)
        observed = cohorts.get(name)
        name = observed.parent if observed is not None else ""
    return False
