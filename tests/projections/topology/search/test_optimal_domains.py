"""The fewest domains with the least room to spare, held against all sets of domains there are (docs/rules/topology.md#balanced)."""

import random
from itertools import combinations

from msgspec.structs import replace

from projections.topology.requests.level_parameters import SearchShape
from projections.topology.search.counts import LevelCounts
from projections.topology.search.optimal_domains import fewest, optimal_domains
from tests.projections.topology.search.level_makers import level, shaped


def spare(counts: LevelCounts, domains: tuple[int, ...], shape: SearchShape) -> int | None:
    """The least room that this set leaves, the leader in any of those that take it; None where it does not hold all."""
    if not all(counts.slices[one] or counts.leaders[one] for one in domains):
        return None
    whole = sum(counts.pods[one] for one in domains) - shape.slices
    if not shape.leaders:
        return whole if whole >= 0 else None
    left = [whole - counts.pods[one] + counts.pods_with_leader[one] for one in domains if counts.leaders[one]]
    return min((one for one in left if one >= 0), default=None)


def test_domains_are_the_fewest_of_which_some_hold_all_and_spare_the_least() -> None:
    held = beside = 0
    for seed in range(3000):
        chance = random.Random(seed)
        leader = chance.random() < 0.6
        counts, shape = (
            level(chance, leader=leader),
            replace(shaped(chance, leader=leader), by_affinity=False, least_free=False),
        )
        few = fewest(counts, range(len(counts.slices)), shape)
        order = list(range(len(counts.slices)))
        chance.shuffle(order)
        found = optimal_domains(counts, order, shape)
        if few is None:
            assert found is None, seed
            continue
        sets = combinations(range(len(counts.slices)), few.taken)
        left = [some for one in sets if (some := spare(counts, one, shape)) is not None]
        if found is None:
            assert not left, seed
            continue
        assert len(found) == len(set(found)) == few.taken, seed
        assert [one for one in order if one in found] == found, seed
        assert spare(counts, tuple(found), shape) == min(left), seed
        held += 1
        beside += leader and len(found) > 1
    assert held > 1000
    assert beside > 100
