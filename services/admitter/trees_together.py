"""Which trees are decided about in one cycle: they share no quota, but those with flavors that have a topology share its hosts.

Rule: docs/rules/cycle.md#trees-together
"""

from projections.quota.state import QuotaState


def trees_together(world: QuotaState) -> list[tuple[str, ...]]:
    """All trees in order, each for itself but for those that have a flavor with a topology."""
    trees = world.quota.trees()
    if not world.topologies:
        return [(tree,) for tree in trees]
    sharing = world.quota.trees_with(name for name, flavor in world.flavors.items() if flavor.topology)
    together = tuple(tree for tree in trees if tree in sharing)
    return [together if tree in sharing else (tree,) for tree in trees if tree not in sharing or tree == together[0]]
