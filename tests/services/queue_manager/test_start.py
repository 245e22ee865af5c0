"""A job that can't be started as it was admitted: the workload ends, and what it held is free."""

from events.application import FAILED_TO_START, DecisionRejected
from events.upkeep import WorkloadFailedToStart
from events.workload import EvictionOrdered, Owner
from tests.services.queue_manager.waiting_room import KEY, MINUTE, Room, submitted

JOB = Owner(kind="Job", name="j", uid="j")
WHY = "invalid admission check PodSetUpdate: conflict for labels"


def rejected(room: Room, *, sequence: int | None = None, reason: str = FAILED_TO_START) -> DecisionRejected:
    at = room.workload.decided if sequence is None else sequence
    return DecisionRejected(workload=KEY, partition="LOG_0", sequence=at, reason=reason, message=WHY)


def running() -> Room:
    room = Room(submitted(reserved=True, admitted_at=MINUTE, owner=JOB))
    assert room.steps() == []
    return room


def test_it_has_finished_with_the_reason_and_holds_nothing() -> None:
    room = running()
    room.tell(rejected(room))
    assert room.steps() == [WorkloadFailedToStart(workload=KEY, message=WHY)]
    assert room.told("Finished") == ("True", "FailedToStart", WHY)
    assert not list(room.world.holders("cq"))


def test_what_was_said_of_an_earlier_decision_or_for_another_reason_ends_nothing() -> None:
    room = running()
    room.tell(rejected(room, reason="Invalid"))
    assert room.steps() == []
    room.tell(EvictionOrdered(workload=KEY, reason="Preempted", message="room"))
    room.tell(rejected(room, sequence=1))
    assert not any(isinstance(one, WorkloadFailedToStart) for one in room.steps())


def test_an_eviction_takes_it_back() -> None:
    room = running()
    room.tell(rejected(room))
    room.tell(EvictionOrdered(workload=KEY, reason="ClusterQueueStopped", message="stop"))
    assert room.workload.in_cluster.start_failed == ""
