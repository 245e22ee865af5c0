"""What a request means on the levels of a tree (docs/rules/topology.md#levels)."""

from typing import Any

import pytest

from events.topology import SliceConstraint, TopologyRequest
from projections.topology.requests.gates import TopologyGates
from projections.topology.requests.level_parameters import BadRequest, SearchShape, search_shape
from tests.projections.topology.makers import tree_with

LEVELS = ("zone", "block", "rack", "shelf", "host")
TREE = tree_with(LEVELS, {"z/b/r/s/h": 8})
HOST = TREE.levels[-1]


def request(slices: tuple[tuple[str, int], ...] = (), **asked: Any) -> TopologyRequest:
    layers = tuple(SliceConstraint(topology=HOST if at == "host" else at, size=size) for at, size in slices)
    return TopologyRequest(slices=layers, **asked)


def shape(asked: TopologyRequest, count: int = 16, gates: TopologyGates | None = None) -> SearchShape:
    found = search_shape(TREE, asked, count, 0, gates or TopologyGates())
    assert isinstance(found, SearchShape)
    return found


@pytest.mark.parametrize(
    ("slices", "inner"),
    [
        ((("zone", 8),), (0, 0, 0, 0, 0)),
        ((("zone", 8), ("block", 4)), (0, 4, 0, 0, 0)),
        ((("zone", 8), ("rack", 4)), (0, 4, 4, 0, 0)),
        ((("zone", 8), ("shelf", 4)), (0, 4, 4, 4, 0)),
        ((("block", 8), ("rack", 4), ("host", 2)), (0, 0, 4, 2, 2)),
        ((("zone", 8), ("block", 4), ("shelf", 2), ("host", 1)), (0, 4, 2, 2, 1)),
    ],
)
def test_every_level_down_to_a_layers_own_is_filled_in_bundles_of_its_size(
    slices: tuple[tuple[str, int], ...], inner: tuple[int, ...]
) -> None:
    assert shape(request(slices, required="zone")).inner == inner


@pytest.mark.parametrize(
    ("asked", "level", "slice_level", "unconstrained"),
    [
        (request(required="block"), 1, 4, False),
        (request(preferred="rack"), 2, 4, False),
        (request(unconstrained=True), 4, 4, True),
        (TopologyRequest(), 4, 4, True),
        (request((("rack", 2),), required="block"), 1, 2, False),
        (request((("rack", 2),)), 0, 2, True),
        (request((("rack", 2),), required="rack"), 2, 2, False),
    ],
)
def test_levels_follow_from_what_is_asked(
    asked: TopologyRequest, level: int, slice_level: int, unconstrained: bool
) -> None:
    found = shape(asked)
    assert (found.level, found.slice_level, found.unconstrained) == (level, slice_level, unconstrained)
    assert found.required == bool(asked.required)


@pytest.mark.parametrize(("count", "slices"), [(16, 5), (15, 5), (14, 4), (2, 0)])
def test_pods_beyond_the_last_whole_slice_get_no_place(count: int, slices: int) -> None:
    assert shape(request((("rack", 3),), required="zone"), count).slices == slices


def test_only_unconstrained_pods_take_domains_with_least_room_first_and_only_with_the_mixed_profile() -> None:
    mixed, packed = TopologyGates(mixed_profile=True), TopologyGates(mixed_profile=False)
    assert shape(request(unconstrained=True), gates=mixed).least_free
    assert not shape(request(unconstrained=True), gates=packed).least_free
    assert not shape(request(required="rack"), gates=mixed).least_free


@pytest.mark.parametrize(
    ("asked", "failure"),
    [
        (request(unconstrained=False), "topology level not specified"),
        (request(required="row"), "no requested topology level: row"),
        (request((("row", 2),), required="zone"), "no requested topology level for slices: row"),
        (request((("rack", 0),), required="zone"), "slice topology requested, but slice size not provided"),
        (
            request((("block", 2),), required="rack"),
            "podset slice topology block is above the podset topology rack",
        ),
        (
            request((("block", 4), ("row", 2)), required="zone"),
            "no requested topology level for additional slice layer: row",
        ),
        (
            request((("block", 4), ("block", 2)), required="zone"),
            "additional slice layer topology block must be at a lower level than block",
        ),
        (
            request((("block", 4), ("rack", 3)), required="zone"),
            "additional slice layer size 3 must evenly divide parent layer size 4",
        ),
        (
            request((("block", 4), ("rack", 0)), required="zone"),
            "additional slice layer size 0 must evenly divide parent layer size 4",
        ),
    ],
)
def test_what_a_topology_can_not_answer_is_said_in_kueues_words(asked: TopologyRequest, failure: str) -> None:
    assert search_shape(TREE, asked, 16, 0, TopologyGates()) == BadRequest(failure=failure)
