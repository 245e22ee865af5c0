"""A job ends while its eviction is under way: that it has finished wins at every step, as it does in Kueue.

Rule: docs/rules/eviction.md#finished-wins
"""

import pytest

from events.application import DecisionApplied
from events.catalogue import Decision
from events.workload import (
    PodsGone,
    QuotaReleased,
    WorkloadFinished,
    WorkloadParked,
    WorkloadQueued,
    WorkloadRequeued,
    WorkloadSwitched,
)
from projections.workloads.lifecycle import Workload
from services.applier.plan import Application, plan
from tests.stories.small_world import Story, job, platform

VICTIM, OTHER = "team/a", "team/b"
STEPS = ("decided", "applied", "pods gone", "quota released", "let in again", "let in again and started")


class Evicted:
    """A job that runs, is to stop, and is followed as far as a step."""

    def __init__(self, why: str) -> None:
        self.why = why
        self.story = Story().told(*platform(nominal=1), job("a"))
        self.story.decided()
        self.apply()
        if why == "preempted":
            self.story.told(job("b", priority=10))
        else:
            self.story.told(WorkloadSwitched(workload=VICTIM, active=False))
        self.story.decided()
        assert self.victim.evicted and self.victim.reserved

    @property
    def victim(self) -> Workload:
        return self.story.world.workloads[VICTIM]

    def apply(self) -> None:
        one = self.victim
        self.story.told(DecisionApplied(workload=VICTIM, partition="LOG_0", sequence=one.decided, seen=one.seen))

    def go(self, step: str) -> "Evicted":
        for passed in STEPS[1 : STEPS.index(step) + 1]:
            match passed:
                case "applied":
                    self.apply()
                case "pods gone":
                    self.story.told(PodsGone(workload=VICTIM, decision=f"LOG_0/{self.victim.decided}"))
                case "quota released":
                    self.story.decided()
                case "let in again":
                    self.story.told(WorkloadSwitched(workload=VICTIM, active=True))
                    if self.why == "preempted":
                        self.story.told(WorkloadFinished(workload=OTHER, reason="Succeeded"))
                    self.story.decided()
                case _:
                    self.apply()
        return self

    def planned(self) -> list[Application]:
        return plan(self.story.world, "LOG_0", [VICTIM])


def about_victim(said: list[Decision]) -> list[Decision]:
    return [one for one in said if getattr(one, "workload", "") == VICTIM]


@pytest.mark.parametrize("why", ["preempted", "deactivated"])
@pytest.mark.parametrize("step", STEPS)
def test_it_has_finished_holds_nothing_and_is_not_stopped(why: str, step: str) -> None:
    found = Evicted(why).go(step)
    found.story.told(WorkloadFinished(workload=VICTIM, reason="Succeeded", message="done"))
    said = found.story.decided()
    back = QuotaReleased | WorkloadQueued | WorkloadParked | WorkloadRequeued
    assert not [one for one in about_victim(said) if isinstance(one, back)]
    one, world = found.victim, found.story.world
    assert one.finished and not one.line
    assert VICTIM not in world.holders("cq").usage and not world.cards.attempts_of(VICTIM)
    (application,) = found.planned()
    assert application.finished and application.job == "", "only the object is still to say so"
    finished = next(one for one in application.status["conditions"] if one["type"] == "Finished")
    assert (finished["status"], finished["reason"], finished["message"]) == ("True", "Succeeded", "done")
    if why == "preempted" and step not in ("let in again", "let in again and started"):
        assert world.workloads[OTHER].admitted, "the room is free at once, whether or not its pods were seen to be gone"


@pytest.mark.parametrize("step", STEPS)
def test_the_end_of_its_pods_that_is_told_after_that_changes_nothing(step: str) -> None:
    found = Evicted("preempted").go(step)
    decision = f"LOG_0/{found.victim.decided}"
    found.story.told(WorkloadFinished(workload=VICTIM, reason="Failed"))
    found.story.decided()
    found.story.told(PodsGone(workload=VICTIM, decision=decision))
    assert about_victim(found.story.decided()) == []
    assert found.victim.finished and found.victim.conditions["Finished"].reason == "Failed"
