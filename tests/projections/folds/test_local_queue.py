"""A job that names another queue while it holds quota: it keeps the one through which it got that, and takes the other one afterwards."""

import pytest
from msgspec.structs import replace

from events.admission import QuotaReserved
from events.catalogue import AnyEvent
from events.event import Millis
from events.quota import CheckRule, ClusterQueueObserved, LocalQueueObserved, StopPolicy
from events.selector import LabelSelector
from events.workload import (
    AdoptedStatus,
    CheckState,
    DecidedElsewhere,
    EvictionOrdered,
    Owner,
    PodsGone,
    QuotaReleased,
    WorkloadChanged,
    WorkloadDeleted,
)
from projections.queues.status import tallies
from tests.services.queue_manager.waiting_room import GROUPS, KEY, MINUTE, SPEC, Room, check, false, submitted
from tests.stories.small_world import Story, job, platform

JOB = Owner(kind="Job", name="j", uid="j")
MOVED = WorkloadChanged(workload=KEY, spec=replace(SPEC, queue="other"))
BACK = WorkloadChanged(workload=KEY, spec=SPEC)


def other_queue(stop: StopPolicy = StopPolicy.NONE) -> LocalQueueObserved:
    return LocalQueueObserved(namespace="team", name="other", cluster_queue="cq2", stop=stop)


def moved(*facts: AnyEvent, admitted_at: Millis | None = None) -> Room:
    """A job that waits for a check, or runs, in `lq`, and names `other` by now."""
    rules = (CheckRule(name="c"),)
    room = Room(checks=rules)
    room.tell(ClusterQueueObserved(name="cq2", namespaces=LabelSelector(), checks=rules, groups=GROUPS), other_queue())
    state = CheckState.PENDING if admitted_at is None else CheckState.READY
    room.tell(submitted(reserved=True, admitted_at=admitted_at, checks=(check("c", state),), owner=JOB))
    assert room.steps() == []
    return room.tell(MOVED, *facts)


def of_queues(room: Room) -> dict[str, list[str]]:
    return {name: list(keys) for name, keys in room.world.by_local_queue.items() if list(keys)}


def test_it_is_counted_in_the_queue_through_which_it_got_its_quota() -> None:
    room = moved()
    assert room.steps() == []
    assert (room.workload.spec.queue, room.workload.named_queue) == ("lq", "other")
    assert of_queues(room) == {"team/lq": [KEY]}
    assert {name: one.reserving for name, one in tallies(room.world, "cq").items()} == {"team/lq": 1}


def test_only_a_stop_of_the_queue_that_it_is_in_takes_its_quota_away() -> None:
    room = moved(other_queue(StopPolicy.HOLD))
    assert room.steps() == [] and room.workload.reserved
    room.tell(LocalQueueObserved(namespace="team", name="lq", cluster_queue="cq", stop=StopPolicy.HOLD))
    assert isinstance(room.step()[0], QuotaReleased)


@pytest.mark.parametrize("admitted_at", [None, MINUTE], ids=["waits for a check", "runs"])
def test_once_its_quota_is_given_back_it_queues_where_its_job_wants(admitted_at: Millis | None) -> None:
    room = moved(admitted_at=admitted_at)
    room.tell(EvictionOrdered(workload=KEY, reason="Preempted", message="for another one"))
    assert room.workload.spec.queue == "lq"
    room.tell(PodsGone(workload=KEY, decision=f"LOG_0/{room.workload.stops.stopped_by}"))
    said = room.steps()
    assert isinstance(said[0], QuotaReleased)
    assert (room.workload.spec.queue, room.workload.line) == ("other", "cq2")
    assert of_queues(room) == {"team/other": [KEY]}
    room.tell(WorkloadDeleted(workload=KEY))
    assert of_queues(room) == {}


def test_who_gets_quota_anew_before_it_was_seen_that_it_had_lost_it_is_in_the_queue_that_its_job_names() -> None:
    room = moved()
    assert room.workload.admission is not None
    room.tell(QuotaReserved(workload=KEY, cluster_queue="cq2", assignments=room.workload.admission.assignments))
    assert room.workload.spec.queue == "other" and of_queues(room) == {"team/other": [KEY]}


def test_who_names_its_queue_again_stays_in_it() -> None:
    room = moved(BACK, EvictionOrdered(workload=KEY, reason="Preempted", message="for another one"))
    room.steps()
    assert room.workload.spec.queue == "lq" and not room.workload.reserved


def test_who_has_lost_its_quota_by_another_manager_is_in_the_queue_that_its_job_names() -> None:
    room = moved()
    lost = AdoptedStatus(conditions=(false("QuotaReserved", "Pending", since=7 * MINUTE),))
    room.tell(DecidedElsewhere(workload=KEY, version=9, status=lost))
    assert not room.workload.reserved and room.workload.spec.queue == "other"
    assert of_queues(room) == {"team/other": [KEY]}


def test_of_a_queue_that_no_job_names_any_more_nothing_is_kept() -> None:
    story = Story(unchecked=True).told(*platform())
    for number in range(5):
        story.told(job(f"j{number}", queue=f"there-is-none-{number}")).decided()
        assert [*story.world.by_local_queue] == [f"team/there-is-none-{number}"]
        with story.world.trial():
            story.told(WorkloadDeleted(workload=f"team/j{number}"))
            assert not story.world.by_local_queue
        assert [*story.world.by_local_queue[f"team/there-is-none-{number}"]] == [f"team/j{number}"]
        story.told(WorkloadDeleted(workload=f"team/j{number}")).decided()
    assert not story.world.by_local_queue
