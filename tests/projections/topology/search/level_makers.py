"""A few domains of one level with counts by chance, for searches that are held against their definition."""

import random

from msgspec.structs import replace

from projections.topology.requests.level_parameters import SearchShape
from projections.topology.search.counts import LevelCounts


def level(chance: random.Random, *, leader: bool, size: int = 1) -> LevelCounts:
    """A few domains with room for a slice or more, maybe for a part of another; beside a leader there is room for fewer."""
    pods = [chance.randint(0, 4 * size - 1) for _ in range(chance.randint(1, 5))]
    led = [int(leader and chance.random() < 0.6) for _ in pods]
    beside = [max(0, some - chance.randint(0, 2 * size)) if one else 0 for some, one in zip(pods, led, strict=True)]
    slices, slices_beside = [one // size for one in pods], [one // size for one in beside]
    return LevelCounts(
        pods=pods,
        slices=slices,
        pods_with_leader=beside if leader else pods,
        slices_with_leader=slices_beside if leader else slices,
        leaders=led,
        affinity=[chance.randint(0, 1) for _ in pods],
    )


SHAPE = SearchShape(
    count=1,
    level=0,
    slice_level=0,
    slice_size=1,
    inner=(0,),
    constraints=(),
    required=False,
    unconstrained=True,
    least_free=False,
    by_affinity=False,
)
"""One pod that may lie anywhere."""


def shaped(chance: random.Random, *, leader: bool, size: int = 1) -> SearchShape:
    """Some pods, which may lie in several domains."""
    return replace(
        SHAPE,
        count=chance.randint(size, 8 * size),
        slice_size=size,
        leaders=int(leader),
        least_free=chance.random() < 0.5,
        by_affinity=chance.random() < 0.3,
    )
