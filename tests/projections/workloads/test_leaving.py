"""What a workload leaves behind when it ends or is gone: nothing that anybody would wait for."""

from events.application import DecisionApplied
from events.workload import WorkloadDeleted, WorkloadFinished
from services.admitter.decide import Admitter
from services.queue_manager.decide import QueueManager
from tests.stories.small_world import Story, job, platform


def test_cards_that_were_only_proposed_are_free_when_the_workload_is_deleted() -> None:
    told = Story().told(*platform(), job("a"))
    told.deciders = [QueueManager(), Admitter()]
    told.decided()
    assert told.world.cards.holdings
    told.told(WorkloadDeleted(workload="team/a"))
    assert not told.world.cards.holdings
    assert not [uuid for uuid, use in told.world.cards.used.items() if use.slots]


def test_an_end_that_is_told_twice_is_still_shown() -> None:
    told = Story().told(*platform(), job("a"))
    told.decided()
    end = WorkloadFinished(workload="team/a", reason="Succeeded")
    decided = told.world.workloads["team/a"].decided
    shown = DecisionApplied(workload="team/a", partition="LOG_0", sequence=decided, finished=True)
    told.told(end, shown)
    assert told.world.workloads["team/a"].finish_shown
    told.told(end)
    assert told.world.workloads["team/a"].finish_shown
