"""What the cluster is told in passing about a workload, and that it is told once."""

from msgspec.structs import replace

from events.application import DecisionApplied
from events.quota import CheckRule
from events.workload import CheckState, WorkloadChanged, WorkloadSwitched
from projections.workloads.in_cluster import News
from services.applier.events.cluster_events import event_of, workload_event
from services.applier.plan import plan
from tests.services.queue_manager.waiting_room import KEY, SPEC, Room, check, submitted


def test_an_eviction_is_told_as_an_event_under_its_full_reason() -> None:
    room = Room(submitted(reserved=True))
    room.tell(WorkloadSwitched(workload=KEY, active=False))
    room.step()
    (news,) = room.workload.in_cluster.news
    assert (news.reason, news.message, news.warning) == (
        "EvictedDueToDeactivated",
        "The workload is deactivated",
        False,
    )


def test_of_who_is_set_inactive_while_it_waits_the_condition_tells_and_no_event() -> None:
    room = Room(submitted())
    room.steps()
    room.tell(WorkloadSwitched(workload=KEY, active=False))
    room.steps()
    assert room.told("Evicted") == ("True", "Deactivated", "The workload is deactivated")
    assert room.workload.in_cluster.news == ()


def test_a_rejected_check_is_told_as_a_warning() -> None:
    room = Room(checks=(CheckRule(name="a"),))
    room.tell(submitted(reserved=True, checks=(check("a", CheckState.REJECTED),)))
    room.step()
    assert [(one.reason, one.message) for one in room.workload.in_cluster.news if one.warning] == [
        ("AdmissionCheckRejected", 'Deactivated due to AdmissionCheck in Rejected state: "a"')
    ]


def test_what_is_applied_is_told_no_more_and_later_news_stay() -> None:
    room = Room(submitted(replace(SPEC, gated_by=("x",))))
    room.steps()
    told = room.sequence
    room.tell(WorkloadChanged(workload=KEY, spec=replace(SPEC, gated_by=("y",))))
    room.steps()
    gates = ["Workload admission is gated by: x", "Workload admission is gated by: y"]
    assert [one.message for one in room.workload.in_cluster.news] == gates
    room.tell(DecisionApplied(workload=KEY, partition="LOG_0", sequence=told))
    (application,) = plan(room.world, "LOG_0", [KEY])
    assert [one.message for one in application.news] == gates[1:]


def test_an_event_bears_the_same_name_whoever_tells_it_and_however_often() -> None:
    news = News(sequence=7, at=1000, reason="EvictedDueToPreempted", message="m")
    event = event_of(workload_event("team/w", "u", "LOG_0", news))
    assert event == event_of(workload_event("team/w", "u", "LOG_0", news))
    assert event["involvedObject"] == {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "namespace": "team",
        "name": "w",
        "uid": "u",
    }
    later = event_of(workload_event("team/w", "u", "LOG_0", replace(news, sequence=8)))
    assert event["metadata"]["name"] != later["metadata"]["name"]


def test_who_preempts_several_at_once_is_told_of_each_and_who_waits_once_however_the_words_change() -> None:
    news = News(sequence=7, at=1000, reason="PreemptedWorkload", message="Preempted workload team/a")
    both = [workload_event("team/w", "u", "LOG_0", replace(news, message=f"preempted {name}")) for name in "ab"]
    assert len({event_of(one)["metadata"]["name"] for one in both}) == 2
    why = replace(news, reason="Pending", warning=True)
    waits = [workload_event("team/w", "u", "LOG_0", replace(why, message=f"{more} more needed")) for more in (1, 2)]
    assert len({event_of(one)["metadata"]["name"] for one in waits}) == 1


def test_a_message_is_no_longer_than_the_api_server_takes() -> None:
    news = News(sequence=7, at=1000, reason="WaitingForQuota", message="m" * 5000)
    assert len(event_of(workload_event("team/w", "u", "LOG_0", news))["message"]) == 1024
