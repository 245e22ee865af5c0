"""Borrowers: the cluster queues that use more than their own quota of a flavor."""

from projections.quota.columns import Column
from projections.quota.node import Node


def borrowers(node: Node, column: Column) -> tuple[str, ...]:
    """The other cluster queues of the tree that use more than their own of a flavor and resource, most first."""
    if node.parent is None:
        return ()
    over = [
        (leaf.subtree[column] - leaf.usage[column], leaf.name)
        for leaf in node.root.leaves()
        if leaf is not node and leaf.usage[column] > leaf.subtree[column]
    ]
    return tuple(name for _, name in sorted(over))
