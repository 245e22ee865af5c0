"""How many pods each chosen domain gets, level by level down to the leaves.

Rule: docs/rules/topology.md#distribution
"""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from projections.topology.domains.tree import TopologyTree
from projections.topology.requests.level_parameters import SearchShape
from projections.topology.search.counts import LevelCounts
from projections.topology.search.level_search import FoundDomains
from projections.topology.search.order import Fit, best_fit, plain_order, prioritized


class Portion(msgspec.Struct, frozen=True, gc=False):
    """The pods and leaders that one domain gets."""

    domain: int
    pods: int
    leaders: int


class Bundle(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be spread over domains: pods, in bundles of a size, and leaders."""

    pods: int
    leaders: int
    size: int
    by_slices: bool
    """Whole bundles only; else the size does not count."""


def distribute(
    tree: TopologyTree, levels: Sequence[LevelCounts], shape: SearchShape, found: FoundDomains
) -> list[Portion]:
    """What each leaf gets. Empty where the counts promised more than there is."""
    whole = Bundle(pods=shape.count, leaders=shape.leaders, size=shape.slice_size, by_slices=True)
    level = found.level
    portions = spread(levels[level], found.domains, whole, shape)
    while level < shape.slice_level:
        children = tree.below([portion.domain for portion in portions], level)
        level += 1
        portions = spread(levels[level], plain_order(levels[level], children, shape), whole, shape)
    return each_for_itself(tree, levels, shape, level, portions)


def each_for_itself(
    tree: TopologyTree, levels: Sequence[LevelCounts], shape: SearchShape, level: int, portions: list[Portion]
) -> list[Portion]:
    """What each leaf gets where no domain hands any of its pods to another."""
    while level < tree.lowest:
        size = shape.slice_size if level < shape.slice_level else shape.inner[level + 1]
        ranges, counts = tree.children[level], levels[level + 1]
        bundled = _bundled(counts, size)
        level += 1
        portions = [
            child
            for portion in portions
            if portion.pods or portion.leaders
            for child in spread(
                bundled,
                plain_order(counts, ranges[portion.domain], shape),
                Bundle(pods=portion.pods, leaders=portion.leaders, size=size, by_slices=size > 1),
                shape,
            )
        ]
    return portions


def spread(counts: LevelCounts, ordered: list[int], bundle: Bundle, shape: SearchShape) -> list[Portion]:
    """Fill domains in their order; the last one is the tightest that holds what is left, where pods want it tight."""
    size = bundle.size if bundle.by_slices else 1
    left, leaders = bundle.pods // size, bundle.leaders
    rest = prioritized(counts, ordered, left, Fit(slices=bundle.by_slices, leaders=leaders))
    portions: list[Portion] = []
    for place, domain in enumerate(rest):
        fit = Fit(slices=bundle.by_slices, leaders=leaders)
        units = fit.units(counts)
        holds_all = units[domain] >= left and counts.leaders[domain] >= leaders
        if holds_all:
            if not shape.least_free:
                domain = best_fit(counts, rest[place:], left, shape, fit)
            portions.append(Portion(domain, left * size, leaders))
            return portions
        taken = min(units[domain], left)
        led = min(counts.leaders[domain], leaders)
        portions.append(Portion(domain, taken * size, led))
        left -= taken
        leaders -= led
    return []


def _bundled(counts: LevelCounts, size: int) -> LevelCounts:
    """The counts with bundles of this size for slices."""
    if size <= 1:
        return counts
    slices = [pods // size for pods in counts.pods]
    beside = counts.pods_with_leader
    with_leader = slices if beside is counts.pods else [pods // size for pods in beside]
    return replace(counts, slices=slices, slices_with_leader=with_leader)
