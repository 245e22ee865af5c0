"""One node of the quota tree: what a cluster queue or a cohort owns, uses, lends and may still borrow.

The rules are in docs/rules/quota.md#the-tree. Quantities lie in rows, by column; a row is changed in place, through the
trail.
"""

from collections.abc import Iterable

from events.amount import UNLIMITED, add, subtract
from events.quota import Quota, Weight
from projections.quota.columns import Column
from projections.trail import Trail


class Node:
    """A cluster queue or a cohort. `subtree` and `local` are derived from quotas; `usage` is what is charged."""

    __slots__ = (
        "borrowing_limit",
        "below",
        "children",
        "declared",
        "height",
        "is_queue",
        "key",
        "lendable",
        "local",
        "name",
        "nominal",
        "parent",
        "path",
        "quotas",
        "root",
        "stamps",
        "subtree",
        "usage",
        "weight",
    )

    def __init__(self, name: str, *, is_queue: bool, width: int) -> None:
        self.name = name
        self.is_queue = is_queue
        self.key = f"{'queue' if is_queue else 'cohort'}/{name}"
        """The key of the node in the trees; differs between a cluster queue and a cohort of the same name."""
        self.parent: Node | None = None
        self.children: dict[str, Node] = {}
        self.below: tuple[Node, ...] = ()
        """Of a cohort: the cluster queues in it, by name, a subtree at a time."""
        self.quotas: dict[Column, Quota] = {}
        self.declared: tuple[Column, ...] = ()
        """The columns for which it, or anybody below, has a quota."""
        self.nominal = [0] * width
        self.borrowing_limit: list[int | None] = [None] * width
        self.subtree = [0] * width
        """What the node and all below it own, less what they keep to themselves."""
        self.local = [0] * width
        """The part of it that is not lent to others (guaranteed)."""
        self.usage = [0] * width
        self.weight = Weight()
        self.lendable: dict[str, int] | None = None
        """By resource, the most that the children could use: worked out when fair sharing first needs it."""
        self.height = 0
        """Distance to the furthest cluster queue below."""
        self.root: Node = self
        self.path: tuple[Node, ...] = (self,)
        """The node and its ancestors, up to the root."""
        self.stamps = [0, 0, 0]
        """Of a root: grows when quota of the tree changes or usage is given back, with every change at all, and when others leave less of what trees share."""

    def widen(self, width: int) -> None:
        """Make room for columns that were given since the node was laid."""
        missing = width - len(self.usage)
        for row in (self.nominal, self.subtree, self.local, self.usage):
            row.extend([0] * missing)
        self.borrowing_limit.extend([None] * missing)

    def local_available(self, column: Column) -> int:
        """What is left of the part that is not lent to others."""
        return max(0, subtract(self.local[column], self.usage[column]))

    def borrowing_with(self, column: Column, amount: int) -> bool:
        """Whether the node would use more than its subtree owns if it used so much more."""
        return self.subtree[column] < self.usage[column] + amount

    def available(self, column: Column) -> int:
        """What the node may still use; negative for an over-admitted cohort, never for a queue."""
        free = self._available(column)
        return max(0, free) if self.is_queue else free

    def _available(self, column: Column) -> int:
        subtree, usage = self.subtree[column], self.usage[column]
        parent = self.parent
        if parent is None:
            return UNLIMITED if subtree == UNLIMITED else subtree - usage
        from_parent = parent._available(column)
        local, limit = self.local[column], self.borrowing_limit[column]
        if limit is not None and subtree != UNLIMITED and limit != UNLIMITED:
            above = usage - local
            room = subtree - local - (above if above > 0 else 0) + limit
            if room < from_parent:
                from_parent = room
        if from_parent == UNLIMITED:  # As it is wherever what is kept here is unlimited.
            return UNLIMITED
        return from_parent + local - usage if local > usage else from_parent

    def potential(self, column: Column) -> int:
        """What the node could use if nobody used anything."""
        if self.parent is None:
            return self.subtree[column]
        most = add(self.local[column], self.parent.potential(column))
        limit = self.borrowing_limit[column]
        return most if limit is None else min(most, add(self.subtree[column], limit))

    def charge(self, trail: Trail, column: Column, amount: int) -> None:
        """Use so much more; what the node can't serve from its own spills over to its parent."""
        node: Node | None = self
        while node is not None:
            row = node.usage
            free = node.local_available(column) if node.local[column] else 0
            trail.set_item(row, column, row[column] + amount)
            if amount <= free:
                return
            amount -= free
            node = node.parent

    def discharge(self, trail: Trail, column: Column, amount: int) -> None:
        """Use so much less: the exact inverse of `charge`."""
        node: Node | None = self
        while node is not None:
            row = node.usage
            used = row[column]
            trail.set_item(row, column, used - amount)
            stored = used - node.local[column]
            if stored <= 0:
                return
            amount = min(amount, stored)
            node = node.parent

    def leaves(self) -> Iterable["Node"]:
        """The cluster queues below, by name, a subtree at a time."""
        return (self,) if self.is_queue else self.below

    def borrowed(self, column: Column) -> int:
        """What it uses beyond its own quota; never below zero."""
        return max(self.usage[column] - self.subtree[column], 0)

    def borrowers(self, column: Column) -> list["Node"]:
        """The other cluster queues of the tree that use more than their own, most first, of equals by name."""
        found = [leaf for leaf in self.root.leaves() if leaf is not self and leaf.borrowed(column)]
        return sorted(found, key=lambda leaf: (-leaf.borrowed(column), leaf.name))

    def within_nominal(self, columns: Iterable[Column]) -> bool:
        """Whether the subtree uses no more than its own of all these columns."""
        usage, subtree = self.usage, self.subtree
        for column in columns:  # noqa: SIM110 - asked of every queue of a cohort, and a generator takes thrice as long
            if usage[column] > subtree[column]:
                return False
        return True
