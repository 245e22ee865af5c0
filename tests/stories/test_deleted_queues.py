"""A local queue that is being deleted and is held by a finalizer takes nobody in, and nobody goes to and fro because of it."""

import pytest
from msgspec.structs import replace

from events.admission import QuotaReserved
from events.quota import AdmissionCheckObserved, CheckRule, LocalQueueObserved
from events.workload import QuotaReleased, WorkloadParked
from tests.stories.small_world import Story, job, platform, queue

DOOR = LocalQueueObserved(namespace="team", name="lq", cluster_queue="cq")
GOING = replace(DOOR, terminating=True)


def checked() -> Story:
    """A queue whose workloads wait for a check once they hold quota."""
    check = AdmissionCheckObserved(name="nodes", controller="example.com/nodes", active=True)
    found = replace(queue("cq", nominal=4), checks=(CheckRule(name="nodes"),))
    return Story().told(*platform(nominal=4, cards=4), check, found)


@pytest.mark.parametrize("forgetful", [False, True])
def test_who_loses_its_quota_as_its_local_queue_is_being_deleted_is_not_let_in_again(forgetful: bool) -> None:
    story = checked()
    story.forgetful = forgetful
    story.told(job("a")).decided()
    said = story.told(GOING).decided()
    told = [(one.reason, one.message) for one in said if isinstance(one, QuotaReleased | WorkloadParked)]
    assert told == [("Misconfigured", "LocalQueue lq is terminating or missing")] * 2
    said = story.told(job("b")).decided()
    assert not any(isinstance(one, QuotaReserved) for one in said)
    said = story.told(DOOR).decided()
    assert [one.workload for one in said if isinstance(one, QuotaReserved)] == ["team/a", "team/b"]


def test_who_runs_runs_on_while_its_local_queue_is_being_deleted_and_nobody_in_line_is_tried() -> None:
    story = Story().told(*platform(nominal=1, cards=4), job("a"), job("b", at=1))
    story.decided()
    story.told(GOING).decided()
    assert story.world.workloads["team/a"].admitted and not story.world.workloads["team/b"].reserved
    shown = story.world.workloads["team/b"].condition("QuotaReserved")
    assert shown is not None and shown.reason == "Misconfigured"
