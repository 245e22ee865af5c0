"""In what order domains are taken (docs/rules/topology.md#order): what decides first, second and third, one situation after the other."""

import pytest
from msgspec.structs import replace

from projections.topology.search.counts import LevelCounts
from projections.topology.search.order import leader_order, plain_order
from tests.projections.topology.search.level_makers import SHAPE


def counts(*rows: tuple[int, int, int, int]) -> LevelCounts:
    """Of each domain: whether it takes the leader, how much it is preferred, its slices and its pods."""
    leaders, affinity, slices, pods = (list(column) for column in zip(*rows, strict=True))
    return LevelCounts(
        pods=pods, slices=slices, pods_with_leader=pods, slices_with_leader=slices, leaders=leaders, affinity=affinity
    )


@pytest.mark.parametrize(
    ("least_free", "by_affinity", "order"),
    [
        (False, False, [2, 1, 0, 3]),
        (True, False, [0, 3, 1, 2]),
        (False, True, [1, 0, 2, 3]),
        (True, True, [0, 1, 3, 2]),
    ],
)
def test_the_roomiest_come_first_or_those_with_least_room_and_before_that_those_that_are_preferred(
    least_free: bool, by_affinity: bool, order: list[int]
) -> None:
    level = counts((1, 1, 2, 5), (1, 1, 4, 5), (1, 0, 6, 9), (1, 0, 2, 9))
    shape = replace(SHAPE, least_free=least_free, by_affinity=by_affinity)
    assert plain_order(level, range(4), shape) == order
    assert leader_order(level, range(4), replace(shape, leaders=1)) == order


def test_of_equally_many_slices_those_with_fewer_pods_come_first_and_then_the_order_of_values() -> None:
    level = counts((1, 0, 2, 7), (1, 0, 2, 5), (1, 0, 2, 7))
    for least_free in (False, True):
        for by_affinity in (False, True):
            shape = replace(SHAPE, least_free=least_free, by_affinity=by_affinity)
            assert plain_order(level, range(3), shape) == [1, 0, 2]
            assert leader_order(level, range(3), replace(shape, leaders=1)) == [1, 0, 2]


def test_who_takes_the_leader_comes_before_who_is_preferred_and_before_all_room() -> None:
    level = counts((0, 9, 9, 9), (1, 0, 1, 1), (1, 1, 1, 1))
    assert leader_order(level, range(3), replace(SHAPE, leaders=1, by_affinity=True)) == [2, 1, 0]
    assert leader_order(level, range(3), replace(SHAPE, leaders=1)) == [1, 2, 0]
    assert plain_order(level, range(3), SHAPE) == [0, 1, 2]
