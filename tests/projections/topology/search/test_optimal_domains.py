"""The fewest domains with the least room to spare, held against all sets of domains there are (docs/rules/topology.md#balanced)."""

import random
from itertools import combinations

import pytest
from msgspec.structs import replace

from projections.topology.requests.level_parameters import SearchShape
from projections.topology.search import optimal_domains as search
from projections.topology.search.counts import LevelCounts
from projections.topology.search.optimal_domains import fewest, optimal_domains
from tests.projections.topology.search.level_makers import SHAPE, level, shaped


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


def test_the_search_among_many_domains_that_are_all_different_ends_after_so_many_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = 0

    class Counted(search._State, frozen=True, order=True):
        def __post_init__(self) -> None:
            nonlocal made
            made += 1

    chance, many = random.Random(1), 300
    pods = [chance.randint(50, 250) for _ in range(many)]
    counts = LevelCounts(
        pods=pods,
        slices=pods,
        pods_with_leader=pods,
        slices_with_leader=pods,
        leaders=[0] * many,
        affinity=[0] * many,
    )
    shape = replace(SHAPE, count=sum(pods) // 2)
    monkeypatch.setattr(search, "_State", Counted)
    found = optimal_domains(counts, range(many), shape)
    few = fewest(counts, range(many), shape)
    assert few is not None and found == sorted(few.domains)
    assert sum(pods[one] for one in found) >= shape.count
    assert made < 2 * search.MOST_STEPS


def test_a_search_that_is_ended_takes_the_roomiest_domains_as_many_and_with_room_for_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(search, "MOST_STEPS", 0)
    held = 0
    for seed in range(1000):
        chance = random.Random(seed)
        leader = chance.random() < 0.6
        counts, shape = level(chance, leader=leader), shaped(chance, leader=leader)
        order = list(range(len(counts.slices)))
        few, found = fewest(counts, order, shape), optimal_domains(counts, order, shape)
        if few is None or not few.taken:
            assert found is None
            continue
        assert found is not None and len(found) == few.taken
        assert spare(counts, tuple(found), shape) is not None
        held += 1
    assert held > 300
