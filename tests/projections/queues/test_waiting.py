"""Who waits for a queue, and what they ask for together."""

from collections import Counter

import pytest
from msgspec.structs import replace

from events.control import ObjectRemoved
from events.pod_set import ContainerShape, PodShape
from events.quota import QueueingStrategy, RuntimeClassObserved, StopPolicy
from events.settings import SettingsObserved
from events.workload import PodsReclaimed
from projections.explanation.positions import positions
from projections.queues.waiting import asked, beside, in_line, unadmitted
from tests.cases.situation import played
from tests.projections.quota.test_adjusted_pods import asking, limits, platform
from tests.services.admitter.test_second_pass import WAITING
from tests.stories.small_world import Story, job
from tests.stories.small_world import platform as small_platform


def test_what_a_queue_is_asked_for_is_what_it_would_be_charged_for_the_pods_that_are_left() -> None:
    bare = PodShape(containers=(ContainerShape(name="c", limits={"cpu": 1000}),), runtime_class="sandbox")
    story = platform("cpu", "memory", "pods", nominal=0)
    story.told(
        limits(default_request={"memory": 512}),
        RuntimeClassObserved(name="sandbox", overhead={"cpu": 250}),
        asking(bare, count=3),
        PodsReclaimed(workload="team/w", counts={"main": 1}),
    )
    queue = story.world.cluster_queues["cq"]
    assert asked(story.world, queue, ["team/w"]) == {"cpu": 2500, "memory": 1024, "pods": 2}


def test_who_was_refused_is_tried_again_once_fewer_of_its_pods_are_needed() -> None:
    story = platform("cpu", nominal=3000)
    pod = PodShape(containers=(ContainerShape(name="c", requests={"cpu": 1000}),))
    story.told(asking(pod, count=5)).decided()
    assert story.world.workloads["team/w"].admission is None
    story.told(PodsReclaimed(workload="team/w", counts={"main": 2})).decided()
    admission = story.world.workloads["team/w"].admission
    assert admission is not None
    (assignment,) = admission.assignments
    assert (assignment.count, assignment.usage) == (3, {"cpu": 3000})


def test_whose_local_queue_is_held_or_gone_neither_is_in_line_nor_waits_beside_it() -> None:
    story = platform("cpu", nominal=0)
    story.told(asking(PodShape(containers=(ContainerShape(name="c", requests={"cpu": 1000}),)), count=1))
    assert story.decided()
    world, local_queue = story.world, story.world.local_queues["team/lq"]
    assert (in_line(world, "cq"), beside(world, "cq")) == ([], ["team/w"])
    story.told(replace(local_queue, stop=StopPolicy.HOLD))
    assert (in_line(world, "cq"), beside(world, "cq")) == ([], [])
    assert story.decided()
    assert (in_line(world, "cq"), beside(world, "cq")) == ([], [])
    story.told(local_queue)
    assert in_line(world, "cq") + beside(world, "cq") == ["team/w"]
    story.told(ObjectRemoved(kind="LocalQueue", namespace="team", name="lq"))
    assert in_line(world, "cq") + beside(world, "cq") == []


@pytest.mark.parametrize("strategy", QueueingStrategy)
def test_whom_the_queue_does_not_admit_waits_beside_the_line_and_is_counted(strategy: QueueingStrategy) -> None:
    story = Story().told(*small_platform(nominal=1, cards=1))
    nobody = replace(story.world.cluster_queues["cq"], strategy=strategy, namespaces=None)
    story.told(nobody, job("a")).decided()
    assert (in_line(story.world, "cq"), beside(story.world, "cq")) == ([], ["team/a"])


def test_who_stands_in_a_strict_line_does_not_count_while_its_local_queue_is_held() -> None:
    story = Story().told(*small_platform(nominal=1, cards=1))
    story.told(replace(story.world.cluster_queues["cq"], strategy=QueueingStrategy.STRICT_FIFO), job("a", count=2))
    story.decided()
    assert in_line(story.world, "cq") == ["team/a"]
    story.told(replace(story.world.local_queues["team/lq"], stop=StopPolicy.HOLD))
    assert in_line(story.world, "cq") + beside(story.world, "cq") == []


def test_who_waits_for_pods_of_its_group_is_in_no_queue_whether_that_takes_in_or_not() -> None:
    story = Story().told(*small_platform(nominal=1, cards=1))
    lacking = job("a")
    story.told(replace(lacking, spec=replace(lacking.spec, waits_for_pods=True))).decided()
    assert in_line(story.world, "cq") + beside(story.world, "cq") == positions(story.world, "cq", story.at) == []
    assert [one.cause for one in unadmitted(story.world)] == ["WaitingForReplacementPods"]
    story.told(replace(story.world.cluster_queues["cq"], stop=StopPolicy.HOLD)).decided()
    assert in_line(story.world, "cq") + beside(story.world, "cq") == []


def test_who_is_set_beside_the_line_with_others_that_ask_for_the_same_has_the_cause_of_the_one_that_was_tried() -> None:
    for gates in ({}, {"UnadmittedWorkloadsObservability": False}):
        story = Story().told(SettingsObserved(gates=gates), *small_platform(nominal=1, cards=1))
        story.told(*(job(f"j{number}") for number in range(6))).decided()
        story.told(job("later")).decided()
        assert Counter((one.reason, one.cause) for one in unadmitted(story.world)) == {
            ("NoReservation", "WaitingForQuota"): 6
        }


def test_what_keeps_one_that_has_quota_from_running_are_its_checks_and_then_that_its_pods_are_placed() -> None:
    unready = played({**WAITING, "running": {"new": {**WAITING["running"]["new"], "ready": []}}})
    assert [(one.reason, one.cause) for one in unadmitted(unready.world)] == [("UnsatisfiedAdmissionChecks", "")]
    unplaced = played({**WAITING, "nodes": {"x1": {"pool": "gpu", "cpu": 1}}})
    told = unplaced.world.workloads["default/new"].conditions["Admitted"].reason
    assert [(one.reason, one.cause) for one in unadmitted(unplaced.world)] == [(told, "")]
    assert told == "PendingDelayedTopologyRequests"
