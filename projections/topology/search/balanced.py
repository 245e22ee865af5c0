"""Pods spread evenly over as few domains as possible, below one domain above the preferred level.

Rule: docs/rules/topology.md#balanced
"""

from collections.abc import Sequence
from itertools import groupby

import msgspec

from projections.topology.domains.tree import TopologyTree
from projections.topology.requests.level_parameters import SearchShape
from projections.topology.search.counts import LevelCounts, count_parents, fill_slices
from projections.topology.search.distribution import Portion, each_for_itself
from projections.topology.search.evenness import evenest_first
from projections.topology.search.optimal_domains import Greedy, fewest, optimal_domains
from projections.topology.search.order import leader_order


def balanced_portions(tree: TopologyTree, levels: Sequence[LevelCounts], shape: SearchShape) -> list[Portion] | None:
    """What each leaf gets; None where pods can't be balanced, and are to be placed otherwise."""
    if not shape.slices or not tree.leaves:
        return None
    trial = _Trial(tree, levels, shape)
    best = trial.best_siblings()
    if best is None:
        return None
    level, domains, counts = shape.level, list(best.domains), trial.levels
    if shape.level < shape.slice_level:
        chosen = optimal_domains(counts[level], trial.by_evenness(domains), shape)
        if chosen is None:
            return None
        domains, level = tree.below(chosen, level), level + 1
    portions = _evenly(counts[level], domains, best.threshold, shape)
    return None if portions is None else each_for_itself(tree, counts, shape, level, portions)


class _Siblings(msgspec.Struct, frozen=True, kw_only=True):
    """Domains under one parent that can share the pods, each at least so many slices."""

    domains: range
    threshold: int
    taken: int


class _Trial:
    """The counts, with what lies below a threshold taken out of them: each set of siblings for itself."""

    def __init__(self, tree: TopologyTree, levels: Sequence[LevelCounts], shape: SearchShape) -> None:
        self._tree, self._shape, self._before = tree, shape, levels
        self.levels = [
            LevelCounts(
                pods=list(one.pods),
                slices=list(one.slices),
                pods_with_leader=list(one.pods_with_leader),
                slices_with_leader=list(one.slices_with_leader),
                leaders=list(one.leaders),
                affinity=one.affinity,
            )
            for one in levels
        ]

    def best_siblings(self) -> _Siblings | None:
        """The siblings that allow for the highest threshold, with the fewest domains among equals."""
        level = self._shape.level
        sets = (range(len(self._tree.values[0])),) if level == 0 else self._tree.children[level - 1]
        best: _Siblings | None = None
        for domains in sets:
            found = self._siblings(domains, best.threshold if best is not None else 0)
            if found is not None and (best is None or (-found.threshold, found.taken) < (-best.threshold, best.taken)):
                best = found
        return best

    def by_evenness(self, domains: Sequence[int]) -> list[int]:
        """Domains of the preferred level: those with a leader and with most room first, then those with the evenest children."""
        counts = self.levels[self._shape.level]

        def room(one: int) -> tuple[int, int]:
            return (-counts.leaders[one], -counts.slices_with_leader[one])

        tied = groupby(sorted(domains, key=room), key=room)
        return [one for _, equals in tied for one in self._evenest_first(list(equals))]

    def _evenest_first(self, domains: Sequence[int]) -> list[int]:
        level = self._shape.level
        pods, ranges = self.levels[level + 1].pods, self._tree.children[level]
        return evenest_first({one: [pods[child] for child in ranges[one]] for one in domains})

    def _siblings(self, domains: range, least: int) -> _Siblings | None:
        """What these siblings allow for; None if that is less than what others do, or nothing."""
        shape = self._shape
        below = shape.level < shape.slice_level
        lower = shape.level + 1 if below else shape.level
        candidates = self._tree.below(domains, shape.level) if below else domains
        few = fewest(self._before[lower], candidates, shape)
        if few is None:
            return None
        threshold, lower_threshold = _thresholds(self._before[lower], few, shape)
        for one in (threshold, lower_threshold) if lower_threshold < threshold else (threshold,):
            if one <= 0 or one < least:
                return None
            self._restore(domains)
            self._prune(domains, one)
            remaining = fewest(self.levels[shape.level], domains, shape)
            if remaining is not None:
                return _Siblings(domains=domains, threshold=one, taken=remaining.taken)
        return None

    def _restore(self, domains: range) -> None:
        for level, part in self._parts(domains):
            now, before = self.levels[level], self._before[level]
            now.pods[part] = before.pods[part]
            now.slices[part] = before.slices[part]
            now.pods_with_leader[part] = before.pods_with_leader[part]
            now.slices_with_leader[part] = before.slices_with_leader[part]
            now.leaders[part] = before.leaders[part]

    def _prune(self, domains: range, threshold: int) -> None:
        """Take out the children, and then the domains, that hold less than the threshold."""
        level = self._shape.level
        if level < self._tree.lowest:
            for child in self._tree.below(domains, level):
                self._prune_one(child, level + 1, threshold)
        self._recount(domains)
        for domain in domains:
            self._prune_one(domain, level, threshold)

    def _prune_one(self, domain: int, level: int, threshold: int) -> None:
        counts = self.levels[level]
        too_small = counts.slices[domain] < threshold
        if not too_small and not (
            self._shape.leaders and counts.leaders[domain] and counts.slices_with_leader[domain] < threshold
        ):
            return
        for lower in range(level, len(self.levels)):
            counts = self.levels[lower]
            for one in self._tree.descendants(domain, level, lower):
                counts.leaders[one] = counts.pods_with_leader[one] = counts.slices_with_leader[one] = 0
                if too_small:
                    counts.pods[one] = counts.slices[one] = 0

    def _recount(self, domains: range) -> None:
        """Count the domains anew by their leaves; inner layers of slices do not count here."""
        tree, shape = self._tree, self._shape
        for level, part in reversed(self._parts(domains)[:-1]):
            ranges = tree.children[level][part]
            found = count_parents(ranges, self.levels[level + 1], 0, leaders=shape.leaders)
            if level == shape.slice_level:
                fill_slices(found, shape.slice_size)
            now = self.levels[level]
            now.pods[part], now.slices[part] = found.pods, found.slices
            now.pods_with_leader[part], now.slices_with_leader[part] = found.pods_with_leader, found.slices_with_leader
            now.leaders[part] = found.leaders

    def _parts(self, domains: range) -> list[tuple[int, slice]]:
        """Each level from the domains' own down to the leaves, and the places there that lie below them."""
        first, last, level = domains.start, domains.stop - 1, self._shape.level
        return [
            (
                lower,
                slice(
                    self._tree.descendants(first, level, lower).start, self._tree.descendants(last, level, lower).stop
                ),
            )
            for lower in range(level, len(self.levels))
        ]


def _thresholds(counts: LevelCounts, few: Greedy, shape: SearchShape) -> tuple[int, int]:
    """How many slices each domain can hold at least, and how many if the last one is to hold the leader."""
    threshold = shape.slices // few.taken
    if few.last_with_leader is not None:
        threshold = min(threshold, counts.slices_with_leader[few.last_with_leader])
    if few.last is not None:
        threshold = min(threshold, counts.slices[few.last])
    if shape.leaders and few.last is not None:
        return threshold, min(threshold, counts.slices_with_leader[few.last])
    return threshold, threshold


def _evenly(counts: LevelCounts, domains: Sequence[int], threshold: int, shape: SearchShape) -> list[Portion] | None:
    """The threshold for each of the chosen domains, and what is left over in their order."""
    chosen = optimal_domains(counts, domains, shape)
    if chosen is None or shape.slices < len(chosen) * threshold:
        return None
    extra, leaders = shape.slices - len(chosen) * threshold, shape.leaders
    portions: list[Portion] = []
    for one in leader_order(counts, sorted(chosen), shape):
        led = 1 if leaders and counts.leaders[one] else 0
        room = (counts.slices_with_leader if led else counts.slices)[one] - threshold
        more = min(room, extra)
        portions.append(Portion(one, (threshold + more) * shape.slice_size, led))
        extra -= more
        leaders -= led
    return None if extra or leaders else portions
