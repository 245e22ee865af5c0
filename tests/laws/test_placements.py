"""The heuristic against a search over every placement: it never places what cannot be placed, and misses little."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from projections.devices.placement.gang import place
from tests.laws.gang_misses import KINDS, cluster, finds, fleet_of, gangs_of, measure, pods
from tests.laws.search import placeable


@settings(max_examples=200, deadline=None)
@given(st.randoms(use_true_random=False))
def test_a_pod_of_one_container_finds_cards_whenever_there_is_a_placement(chance) -> None:  # noqa: ANN001
    nodes, pod = cluster(chance), pods(chance, 1)
    assert finds(nodes, [(pod, 1)]) == placeable(nodes, [pod])


@pytest.mark.parametrize(("name", "per_mille"), [(name, 0 if "one container" in name else 20) for name in KINDS])
def test_gangs_are_missed_no_more_often_than_is_told(name: str, per_mille: int) -> None:
    placed, missed = measure(KINDS[name], clusters=400, seed=2)
    assert placed > 50
    assert missed * 1000 <= per_mille * placed, f"{missed} of {placed}"


@settings(max_examples=150, deadline=None)
@given(st.randoms(use_true_random=False))
def test_a_placement_fills_no_card_beyond_what_it_has(chance) -> None:  # noqa: ANN001
    fleet = fleet_of(cluster(chance))
    gangs = gangs_of([(pods(chance, 2), chance.randint(1, 3)) for _ in range(2)])
    placed = place(fleet.cards, fleet.nodes, gangs, fleet.trail)
    fleet.cards.confirm("w", 1, placed.placements)
    assert not fleet.cards.overfull(fleet.nodes)
