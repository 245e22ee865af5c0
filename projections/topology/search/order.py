"""In what order domains are taken, and which of them is the tightest that still holds what is left.

Rule: docs/rules/topology.md#order
"""

from collections.abc import Sequence

import msgspec

from projections.topology.requests.level_parameters import SearchShape
from projections.topology.search.counts import LevelCounts


class Fit(msgspec.Struct, frozen=True, kw_only=True):
    """What is counted while domains are taken: slices or pods, and how many leaders are to be placed beside them."""

    slices: bool
    leaders: int = 0

    def units(self, level: LevelCounts) -> list[int]:
        """How much of it each domain takes."""
        if self.slices:
            return level.slices_with_leader if self.leaders else level.slices
        return level.pods_with_leader if self.leaders else level.pods


def plain_order(level: LevelCounts, domains: Sequence[int], shape: SearchShape) -> list[int]:
    """Domains as they are taken for pods alone; `domains` in the order of their values, which decides last.

    Before it decides where fewest whole cards are broken (docs/rules/topology.md#whole-cards).
    """
    slices, pods, affinity, opened = level.slices, level.pods, level.affinity, level.opened
    if opened is not None:
        domains = sorted(domains, key=lambda one: opened[one])
    if shape.by_affinity:
        sign = 1 if shape.least_free else -1
        return sorted(domains, key=lambda one: (-affinity[one], sign * slices[one], pods[one]))
    if shape.least_free:
        return sorted(domains, key=lambda one: (slices[one], pods[one]))
    return sorted(domains, key=lambda one: (-slices[one], pods[one]))


def leader_order(level: LevelCounts, domains: Sequence[int], shape: SearchShape) -> list[int]:
    """Domains as they are taken while a leader is to be placed; `domains` in the order of their values."""
    if not shape.leaders:
        return plain_order(level, domains, shape)
    leaders, slices, pods, affinity = (
        level.leaders,
        level.slices_with_leader,
        level.pods_with_leader,
        level.affinity,
    )
    opened = level.opened
    if opened is not None:
        domains = sorted(domains, key=lambda one: opened[one])
    sign = 1 if shape.least_free else -1
    if shape.by_affinity:
        return sorted(domains, key=lambda one: (-leaders[one], -affinity[one], sign * slices[one], pods[one]))
    return sorted(domains, key=lambda one: (-leaders[one], sign * slices[one], pods[one]))


def best_fit(level: LevelCounts, ordered: Sequence[int], need: int, shape: SearchShape, fit: Fit) -> int:
    """The domain with least room of those that hold what is needed, the first of several; if none does, the first."""
    units, leaders, opened = fit.units(level), level.leaders, level.opened
    found, least = ordered[0], None
    for one in _preferred(level, ordered) if shape.by_affinity else ordered:
        if leaders[one] < fit.leaders or units[one] < need:
            continue
        tighter = least is None or units[one] < least
        if tighter or (opened is not None and units[one] == least and opened[one] < opened[found]):
            found, least = one, units[one]
    return found


def prioritized(level: LevelCounts, ordered: list[int], need: int, fit: Fit) -> list[int]:
    """The first domain in which a leader leaves room for all moves to the front; the list as it is if there is none."""
    if not fit.leaders:
        return ordered
    units, beside = (level.slices, level.slices_with_leader) if fit.slices else (level.pods, level.pods_with_leader)
    available = sum(units[one] for one in ordered)
    for place, one in enumerate(ordered):
        if level.leaders[one] >= fit.leaders and available - (units[one] - beside[one]) >= need:
            return [one, *ordered[:place], *ordered[place + 1 :]]
    return ordered


def _preferred(level: LevelCounts, ordered: Sequence[int]) -> Sequence[int]:
    """The domains that are as much preferred as the first."""
    first = level.affinity[ordered[0]]
    end = next((place for place, one in enumerate(ordered) if level.affinity[one] != first), len(ordered))
    return ordered[:end]
