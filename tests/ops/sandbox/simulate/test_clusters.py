"""Histories of a manager and two workers, whose lines are cut, services die and logs are restored: each job runs in one cluster, none is lost.

Rule: docs/rules/multikueue.md#at-most-once
"""

from collections.abc import Iterator

import pytest

from ops.sandbox.simulate.clusters import ClustersOutcome, play_clusters
from projections.checks import left_behind
from projections.checks.multikueue import connected
from projections.folds import workloads
from services.multikueue import objects, plan, reconcile

SPAN = 120_000


def broken(*seeds: int) -> Iterator[str]:
    """What is wrong in these histories, each of which is played when it is come to."""
    return (one for seed in seeds for one in play_clusters(seed, SPAN).broken)


@pytest.mark.parametrize("seed", [*range(1, 13), 61, 138, 223, 4159, 4197])
def test_a_job_runs_in_one_cluster_at_a_time_and_none_is_lost_by_a_cut(seed: int) -> None:
    outcome = play_clusters(seed, SPAN)
    assert not outcome.broken, outcome.faults
    assert outcome.jobs and outcome.commits


@pytest.mark.parametrize(("seed", "partitions"), [(6, 4), (11, 4), (19, 16)])
def test_every_law_holds_where_the_logs_are_divided(seed: int, partitions: int) -> None:
    outcome = play_clusters(seed, SPAN, partitions)
    assert not outcome.broken, outcome.faults
    assert outcome.moved, "else little is tried here"


def test_every_law_holds_where_trees_of_the_manager_move_while_lines_are_cut() -> None:
    outcome = play_clusters(7, SPAN, 16, moves=True)
    assert not outcome.broken, outcome.faults
    assert outcome.trees_moved and {one.what for one in outcome.faults} >= {"cut", "kill", "restore"}, (
        "else little is tried here"
    )


def test_a_worker_whose_log_is_lost_before_the_job_of_a_copy_comes_runs_it_all_the_same() -> None:
    assert not play_clusters(69, 180_000).broken


def test_a_job_that_was_evicted_in_a_cluster_just_when_that_was_cut_off_starts_nowhere_else_before_it_is_given_up() -> (
    None
):
    assert not play_clusters(2, 180_000).broken


def test_a_job_that_bears_a_decision_which_was_lost_with_the_end_of_the_log_is_stopped_all_the_same() -> None:
    assert not play_clusters(252, 180_000).broken


def test_a_job_whose_cluster_is_cut_off_starts_nowhere_else_where_the_choice_of_it_was_lost_with_the_end_of_the_log() -> (
    None
):
    assert not play_clusters(6844, 180_000, 16, moves=True).broken


def test_jobs_move_when_their_cluster_is_lost() -> None:
    assert any(play_clusters(seed, SPAN).moved for seed in range(1, 7)), "else nothing is tried here"


def test_the_same_seed_plays_the_same_history() -> None:
    first: ClustersOutcome = play_clusters(61, SPAN)
    assert play_clusters(61, SPAN) == first


def test_who_is_given_up_too_early_runs_twice_and_that_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (reconcile, left_behind):
        monkeypatch.setattr(module, "lost_at", lambda world, cluster: None if connected(world, cluster) else 0)
    assert any("started in" in one for one in broken(*range(5, 20)))


def test_what_is_left_behind_in_a_cluster_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "_all", lambda copies: ())
    assert any("is still in" in one for one in broken(1, 2))


def test_a_job_whose_end_is_never_shown_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it was with a job that began anew in a cluster while that was cut off."""
    monkeypatch.setattr(objects, "is_suspended", lambda kind, job: True)
    assert any("never ends" in one for one in broken(61))


def test_what_is_evicted_because_a_log_was_restored_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workloads, "take_over_dispatch", lambda *_: None)
    assert any("when the log of manager was restored: Admission check is Ready but" in one for one in broken(4, 5))
