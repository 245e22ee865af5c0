"""Histories whose trees lie in several partitions: the laws hold whatever goes wrong, but for cohorts that move."""

from collections.abc import Iterator

import pytest

from events.catalogue import Decision
from ops.sandbox.simulate.batch import HistorySpec, play_spec
from ops.sandbox.simulate.drawn_division import DrawnDivision, drawn_division
from ops.sandbox.simulate.fault_plan import ALL, FaultKind, schedule_of
from ops.sandbox.simulate.history import HistoryOutcome, play

SPAN = 60_000
KINDS = tuple(kind for kind in ALL if kind is not FaultKind.COHORT)


@pytest.mark.parametrize(("seed", "partitions"), [(3, 3), (11, 3), (2, 3), (8, 4)])
def test_a_divided_log_obeys_the_laws_under_every_fault(seed: int, partitions: int) -> None:
    assert play(seed, SPAN, schedule_of(seed, SPAN, KINDS), partitions=partitions).broken == ()


@pytest.mark.parametrize(("seed", "after"), [(1, 300), (6, 600), (8, 6000), (12, 6000), (42, 30_000)])
def test_a_log_that_is_divided_in_the_middle_of_its_life_obeys_the_laws_under_every_fault(
    seed: int, after: int
) -> None:
    faults = schedule_of(seed, SPAN, KINDS)
    # By the last of these moments the log is rolled: the new partitions begin as forks. Among five no tree of a history has its hash in the first: what is not kept there goes elsewhere.
    assert play(seed, SPAN, faults, partitions=5, divided_after=after).broken == ()


@pytest.mark.parametrize(("seed", "partitions"), [(1, 3), (9, 2), (12, 1)])
def test_trees_move_amid_every_fault_in_every_history_that_is_to_have_so_many_partitions(
    seed: int, partitions: int
) -> None:
    spec = HistorySpec(seed=seed, span=SPAN, partitions=partitions)
    assert spec.division().partitions == partitions and spec.division().moved_after
    found = play_spec(spec)
    assert not found.broken and isinstance(found, HistoryOutcome) and found.moved


@pytest.mark.parametrize("seed", [22, 50])
def test_a_budget_that_jobs_in_two_partitions_use_up_is_the_same_to_both_in_the_end_under_every_fault(
    seed: int,
) -> None:
    assert play(seed, SPAN, schedule_of(seed, SPAN, KINDS), partitions=3).broken == ()


def test_where_nobody_passes_on_what_is_used_of_a_budget_a_law_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(_world: object) -> Iterator[Decision]:
        return iter(())

    monkeypatch.setattr("services.accountant.decide._budget_news", nothing)
    found = play(22, SPAN, (), partitions=3).broken
    assert found and all("reckons PartitionUse" in one for one in found)


def test_a_divided_log_is_the_same_each_time() -> None:
    assert play(5, SPAN, (), partitions=4).digest == play(5, SPAN, (), partitions=4).digest


def test_one_of_seventeen_seeds_divides_its_log_some_among_sixteen_some_midway_and_moves_no_queue_there() -> None:
    found = {seed: drawn_division(seed, SPAN) for seed in range(1, 1001)}
    divided = {seed: one for seed, one in found.items() if one != DrawnDivision()}
    assert {seed % 17 for seed in divided} == {16} and len(divided) == 58
    assert {one.partitions for one in divided.values()} == {4, 16}
    assert any(one.after == 0 for one in divided.values()) and any(0 < one.after < SPAN / 2 for one in divided.values())
    moved = {
        seed
        for seed in found
        if any(one.kind is FaultKind.COHORT for one in HistorySpec(seed=seed, span=SPAN).faults())
    }
    assert moved and not moved & divided.keys()
