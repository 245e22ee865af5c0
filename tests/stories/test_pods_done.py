"""Pods that are done, decided about without bus or cluster: what is charged before and after its job was stopped and let in again.

Rule: docs/rules/quota.md#charged-usage
"""

from events.workload import PodsGone, PodsReclaimed, WorkloadSwitched
from tests.laws.stop_of_pods import stop_of
from tests.stories.small_world import GPU, Story, job, platform


def charged(told: Story) -> int:
    node = told.world.quota.queues["cq"]
    return told.world.quota.usage_by_name(node).get(("v100", GPU), 0)


def done(told: Story, count: int) -> int:
    """What is charged when so many of its pods are done."""
    told.told(PodsReclaimed(workload="team/a", counts={"main": count})).decided()
    return charged(told)


def stopped_with(told: Story, count: int) -> Story:
    """The job was stopped, its pods are gone, of which so many count as done then; it may come again."""
    told.told(WorkloadSwitched(workload="team/a", active=False)).decided()
    workload = told.world.workloads["team/a"]
    mark = stop_of(workload, f"LOG_0/{workload.stops.stopped_by}")
    told.told(PodsReclaimed(workload="team/a", counts={"main": count}), PodsGone(workload="team/a", decision=mark))
    told.decided()
    told.told(WorkloadSwitched(workload="team/a", active=True)).decided()
    return told


def runs() -> Story:
    told = Story().told(*platform(nominal=8, cards=8), job("a", count=4))
    told.decided()
    return told


def test_a_job_that_is_let_in_again_is_charged_for_all_pods_that_are_not_done() -> None:
    told = runs()
    assert (charged(told), done(told, 2)) == (4, 2)
    stopped_with(told, 2)
    assert told.world.workloads["team/a"].admitted and charged(told) == 2
    assert done(told, 3) == 1


def test_a_job_whose_pods_are_made_again_is_let_in_with_all_of_them_the_next_time() -> None:
    told = runs()
    assert done(told, 3) == 1
    assert done(told, 0) == 1, "what was given back is not taken again"
    stopped_with(told, 0)
    assert told.world.workloads["team/a"].admitted and charged(told) == 4
