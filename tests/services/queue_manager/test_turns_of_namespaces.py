import pytest

from events.catalogue import Decision
from events.quota import LocalQueueObserved, NamespaceObserved, StopPolicy
from events.workload import WorkloadQueued
from projections.log_position import LogPosition
from projections.work_queue import SHARE
from services.queue_manager.decide import MOST_EVENTS, QueueManager
from tests.projections.quota.test_adjusted_pods import asking, one, platform
from tests.stories.small_world import Story

MANY = 5 * MOST_EVENTS


def flooded(*floods: str, many: int = MANY) -> Story:
    """A platform in which so many workloads wait in each of some namespaces, and one in another."""
    told = platform("cpu")
    for namespace in floods:
        told.told(NamespaceObserved(name=namespace), queue_of(namespace))
        told.told(*(asking(one({"cpu": 1}), name=f"w{index:04}", namespace=namespace) for index in range(many)))
    return told


def queue_of(namespace: str, stop: StopPolicy = StopPolicy.NONE) -> LocalQueueObserved:
    return LocalQueueObserved(namespace=namespace, name="lq", cluster_queue="cq", stop=stop)


def decided(told: Story, manager: QueueManager) -> list[Decision]:
    """One commit of the queue manager."""
    told.commits += 1
    return manager.decide(told.world, LogPosition(partition="LOG_0", sequence=told.commits, at=told.at))


def test_a_queue_that_is_stopped_and_started_for_ever_keeps_no_other_namespace_waiting() -> None:
    told, manager = flooded("aaa"), QueueManager()
    decided(told, manager)
    told.told(asking(one({"cpu": 1}), name="late"))
    queued: list[str] = []
    for stop in (StopPolicy.HOLD, StopPolicy.NONE) * 3:
        told.told(queue_of("aaa", stop))
        queued += [event.workload for event in decided(told, manager) if isinstance(event, WorkloadQueued)]
        if "team/late" in queued:
            break
    assert "team/late" in queued


def test_who_has_had_his_share_of_a_commit_gets_what_the_others_leave_of_it() -> None:
    told, manager = flooded("aaa", "bbb"), QueueManager()
    told.told(asking(one({"cpu": 1}), name="late"))
    events = decided(told, manager)
    spaces = [event.workload.partition("/")[0] for event in events if isinstance(event, WorkloadQueued)]
    assert len(events) == MOST_EVENTS
    assert {name: spaces.count(name) for name in dict.fromkeys(spaces)} == {"aaa": 100, "bbb": 99, "team": 1}


@pytest.mark.parametrize("many", [2 * SHARE, SHARE // 2])
def test_of_many_queues_that_are_stopped_and_started_for_ever_none_keeps_a_later_namespace_waiting(many: int) -> None:
    floods = [f"aaa-{number:02}" for number in range(30)]
    told, manager = flooded(*floods, many=many), QueueManager()
    for _ in range(10):
        decided(told, manager)
    told.told(asking(one({"cpu": 1}), name="late"))
    for stop in (StopPolicy.HOLD, StopPolicy.NONE) * 20:
        for namespace in floods:
            told.told(queue_of(namespace, stop))
        queued = [event.workload for event in decided(told, manager) if isinstance(event, WorkloadQueued)]
        if "team/late" in queued:
            return
    pytest.fail("it was never queued")
