"""An assignment as pods per leaf of a tree, and back.

Rule: docs/rules/topology.md#assignment
"""

from collections.abc import Iterable, Mapping

from events.topology import TopologyAssignment, TopologyDomain
from projections.topology.domains.tree import TopologyTree


def assignment_of(tree: TopologyTree, pods: Mapping[int, int]) -> TopologyAssignment:
    """The assignment of so many pods per leaf, in the order of the leaves' values; leaves without pods are left out."""
    return TopologyAssignment(
        levels=tree.assigned_levels(),
        domains=tuple(
            TopologyDomain(values=tree.assigned_values(leaf), count=pods[leaf]) for leaf in sorted(pods) if pods[leaf]
        ),
    )


def leaves_of(tree: TopologyTree, domains: Iterable[TopologyDomain]) -> dict[int, int] | TopologyDomain:
    """How many pods each leaf has; or the first domain of which there is no leaf (any more)."""
    found: dict[int, int] = {}
    for domain in domains:
        leaf = tree.leaf_at(domain.values)
        if leaf is None:
            return domain
        found[leaf] = found.get(leaf, 0) + domain.count
    return found


def merged(one: Mapping[int, int], other: Mapping[int, int]) -> dict[int, int]:
    """How many pods each leaf has by two assignments of the same workload."""
    total = dict(one)
    for leaf, pods in other.items():
        total[leaf] = total.get(leaf, 0) + pods
    return total
