"""Jobs of which some pods are done, or all, that lose their quota: they are let in again with the others, and that is the end of it."""

import pytest

from events.workload import PodsGone, PodsReclaimed, WorkloadSwitched
from projections.snapshot import tables_of, world_of
from tests.stories.small_world import Story, job, platform


def let_in_again(done: int) -> Story:
    """A job of three pods of which so many are done when it is stopped."""
    told = Story(unchecked=True).told(*platform(), job("a", count=3))
    told.decided()
    told.told(
        PodsReclaimed(workload="team/a", counts={"main": done}), WorkloadSwitched(workload="team/a", active=False)
    )
    told.decided()
    stopped = told.world.workloads["team/a"].stops.stopped_by
    told.told(
        PodsGone(workload="team/a", decision=f"LOG_0/{stopped}"), WorkloadSwitched(workload="team/a", active=True)
    )
    return told


@pytest.mark.parametrize("done", [1, 3])
def test_it_runs_on_with_the_pods_that_are_left(done: int) -> None:
    told = let_in_again(done)
    told.decided()
    again = told.world.workloads["team/a"]
    assert again.admitted and not again.evicted
    assert again.admission is not None and again.admission.assignments[0].count == 3 - done


def test_a_saved_world_knows_of_who_holds_a_place_without_cards() -> None:
    told = let_in_again(3)
    told.decided()
    assert list(world_of(tables_of(told.world)).cards.holders()) == list(told.world.cards.holders()) == ["team/a"]
