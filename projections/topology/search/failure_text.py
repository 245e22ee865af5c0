"""Why pods find no place in a topology, in Kueue's words.

Rule: docs/rules/topology.md#failure-texts
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from projections.topology.domains.tree import TopologyTree
from projections.topology.requests.level_parameters import SearchShape
from projections.topology.search.counts import Demand, LeafCounts, LevelCounts
from projections.topology.search.level_search import NoFit


def shortage(tree: TopologyTree, levels: Sequence[LevelCounts], shape: SearchShape, failed: NoFit) -> str:
    """How much of what is asked for would fit."""
    if any(shape.inner):
        return f'topology "{tree.name}" doesn\'t allow to fit{_by_layer(tree, levels, shape, failed.level)}'
    unit = "pod" if shape.slice_size == 1 else "slice"
    if failed.fit == 0:
        return f'topology "{tree.name}" doesn\'t allow to fit any of {shape.slices} {unit}(s)'
    return f'topology "{tree.name}" allows to fit only {failed.fit} out of {shape.slices} {unit}(s)'


def exclusions(tree: TopologyTree, leaves: LeafCounts, asked: Demand) -> str:
    """On how many leaves no pod fits, and what keeps it off; empty where every leaf would take one."""
    reasons = Counter(leaves.excluded.values())
    full = [leaf for leaf, count in enumerate(leaves.counts.pods) if not count and leaf not in leaves.excluded]
    free = {resource: leaves.free(resource) for resource, amount in asked.pod.items() if amount > 0} if full else {}
    for leaf in full:
        reasons[f'resource "{_scarcest(free, leaf, asked)}"'] += 1
    if not reasons:
        return ""
    told = sorted(f"{reason}: {count}" for reason, count in reasons.items())
    return f". Total nodes: {len(tree.leaves)}; excluded: {', '.join(told)}"


def _by_layer(tree: TopologyTree, levels: Sequence[LevelCounts], shape: SearchShape, level: int) -> str:
    """How many slices of each layer fit into the domain that takes most of them."""
    slices = levels[level].slices
    if not slices:
        return ""
    best = slices.index(max(slices))
    told = ""
    for layer in shape.constraints:
        target = tree.level_of(layer.topology)
        if target is None:
            continue
        pods = levels[target].pods
        fit = sum(pods[one] // layer.size for one in tree.descendants(best, level, target))
        told += f"; {fit}/{shape.count // layer.size} slice(s) fit on level {layer.topology}"
    return told


def _scarcest(free: Mapping[str, Sequence[int]], leaf: int, asked: Demand) -> str:
    """The resource of which fewest pods fit on a leaf, by name among equals."""
    scarcest = min((max(column[leaf] // asked.pod[resource], 0), resource) for resource, column in free.items())
    if scarcest[0] and asked.limit is not None:
        return min(scarcest, (asked.limit.pods[leaf], asked.limit.resource))[1]
    return scarcest[1]
