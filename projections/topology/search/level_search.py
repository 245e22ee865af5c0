"""Which domains of which level together hold what is asked for.

Rule: docs/rules/topology.md#search
"""

from collections.abc import Sequence

import msgspec

from projections.topology.domains.tree import TopologyTree
from projections.topology.requests.level_parameters import SearchShape
from projections.topology.search.counts import LevelCounts
from projections.topology.search.order import Fit, best_fit, leader_order, plain_order, prioritized


class FoundDomains(msgspec.Struct, frozen=True, kw_only=True):
    """Domains of one level that hold everything, in the order in which they are filled."""

    level: int
    domains: list[int]


class NoFit(msgspec.Struct, frozen=True, kw_only=True):
    """No domain, and no set of domains that is allowed, holds all slices."""

    level: int
    """The level at which the search ended."""
    fit: int
    """How many slices would have found their place."""


class NoDomains(msgspec.Struct, frozen=True, kw_only=True):
    """The level has no domains: no node of the flavor is there."""

    level: int


Searched = FoundDomains | NoFit | NoDomains


def search(tree: TopologyTree, levels: Sequence[LevelCounts], shape: SearchShape) -> Searched:
    """The domains, sought at the level that is asked for and, where it is only preferred, at wider ones."""
    for level in range(shape.level, -1, -1):
        domains = tree.values[level]
        if not domains:
            return NoDomains(level=level)
        counts = levels[level]
        ordered = leader_order(counts, range(len(domains)), shape)
        one = _one_domain(counts, ordered, shape)
        if one is not None:
            return FoundDomains(level=level, domains=[one])
        if shape.required:
            return _another_tier(level, counts, ordered, shape)
        if shape.unconstrained or level == 0:
            return _several(level, counts, ordered, shape)
    raise AssertionError("a search ends at the widest level at the latest")


def _one_domain(counts: LevelCounts, ordered: Sequence[int], shape: SearchShape) -> int | None:
    """The domain that holds all by itself, if there is one where it is looked for."""
    fit = Fit(slices=True, leaders=shape.leaders)
    units, need = fit.units(counts), shape.slices

    def holds(one: int) -> bool:
        return units[one] >= need and counts.leaders[one] >= shape.leaders

    if shape.least_free:
        return next((one for one in ordered if holds(one)), None)
    return best_fit(counts, ordered, need, shape, fit) if holds(ordered[0]) else None


def as_good(counts: LevelCounts, domain: int, shape: SearchShape) -> list[int]:
    """The domains that might as well have been found as one that holds all by itself, by their values."""
    units = Fit(slices=True, leaders=shape.leaders).units(counts)
    pods = counts.pods_with_leader if shape.leaders else counts.pods

    def like(one: int) -> tuple[int, int, int]:
        return (units[one], counts.affinity[one], pods[one] if shape.least_free else 0)

    return [one for one in range(len(units)) if counts.leaders[one] >= shape.leaders and like(one) == like(domain)]


def _another_tier(level: int, counts: LevelCounts, ordered: Sequence[int], shape: SearchShape) -> Searched:
    """A domain that is preferred less; without preferences the first domain was the roomiest, and there is no other."""
    fit = Fit(slices=True, leaders=shape.leaders)
    units = fit.units(counts)
    for place in range(1, len(ordered)) if shape.by_affinity else ():
        one = ordered[place]
        if units[one] >= shape.slices and counts.leaders[one] >= shape.leaders:
            return FoundDomains(level=level, domains=[best_fit(counts, ordered[place:], shape.slices, shape, fit)])
    return NoFit(level=level, fit=counts.slices[ordered[0]])


def _several(level: int, counts: LevelCounts, ordered: list[int], shape: SearchShape) -> Searched:
    """As many domains as it takes, one after the other; first the one for the leader, then the rest."""
    rest, taken, missing = list(ordered), list[int](), shape.slices
    if shape.leaders:
        first, *rest = prioritized(counts, ordered, missing, Fit(slices=True, leaders=shape.leaders))
        if not counts.leaders[first]:
            return NoFit(level=level, fit=0)
        taken, missing = [first], missing - counts.slices_with_leader[first]
        rest = plain_order(counts, sorted(rest), shape)
    for place, one in enumerate(rest):
        if missing <= 0:
            break
        if not shape.least_free and counts.slices[one] >= missing:
            one = best_fit(counts, rest[place:], missing, shape, Fit(slices=True))
        if counts.slices[one]:
            taken.append(one)
            missing -= counts.slices[one]
    if missing > 0:
        return NoFit(level=level, fit=shape.slices - missing)
    return FoundDomains(level=level, domains=taken)
