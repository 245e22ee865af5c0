"""Who holds what others miss: the cluster queues that use more than their own of a flavor."""

from projections.quota_tree import FlavorResource, Node


def borrowers(node: Node, fr: FlavorResource) -> tuple[str, ...]:
    """The other cluster queues of the tree that use more than their own of a flavor and resource, most first."""
    if node.parent is None:
        return ()
    over = [
        (leaf.usage.get(fr, 0) - leaf.subtree.get(fr, 0), leaf.name)
        for leaf in node.root.leaves()
        if leaf is not node and leaf.usage.get(fr, 0) > leaf.subtree.get(fr, 0)
    ]
    return tuple(name for _, name in sorted(over, key=lambda pair: (-pair[0], pair[1])))
