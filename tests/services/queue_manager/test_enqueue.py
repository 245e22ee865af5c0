"""Where a workload waits that holds no quota, and what its conditions say meanwhile.

Rule: docs/rules/queues.md#obstacles
"""

import pytest
from msgspec.structs import replace

from events.catalogue import AnyEvent
from events.control import ObjectRemoved
from events.quota import CheckRule, ClusterQueueObserved, LocalQueueObserved, StopPolicy
from events.selector import LabelSelector
from events.upkeep import AdmissionGateCleared, BackoffSet, ChecksRequired, DeactivationSettled
from events.workload import (
    CheckState,
    EvictionOrdered,
    WorkloadChanged,
    WorkloadDeleted,
    WorkloadParked,
    WorkloadQueued,
    WorkloadRequeued,
    WorkloadSwitched,
)
from tests.services.queue_manager.waiting_room import (
    KEY,
    MINUTE,
    SECOND,
    SPEC,
    Room,
    check,
    false,
    settings,
    stopped,
    submitted,
    true,
)

QUEUED = WorkloadQueued(workload=KEY, cluster_queue="cq")
DOOR = LocalQueueObserved(namespace="team", name="lq", cluster_queue="cq")


def test_a_new_workload_is_queued_and_nothing_is_said_about_it_before_it_was_tried() -> None:
    room = Room(submitted())
    assert room.steps() == [QUEUED]
    assert room.workload.conditions == {}
    explicit = Room(settings(gates={"UnadmittedWorkloadsExplicitStatus": True}), submitted())
    explicit.steps()
    pending = "Workload is pending evaluation in the scheduling queue"
    assert explicit.told("QuotaReserved") == ("False", "PendingEvaluation", pending)


def test_what_is_missing_is_told_again_when_something_else_is_missing() -> None:
    room = Room(submitted(replace(SPEC, queue="new")))
    room.steps()
    assert room.told("QuotaReserved") == ("False", "Misconfigured", "LocalQueue new doesn't exist")
    room.tell(LocalQueueObserved(namespace="team", name="new", cluster_queue="none"))
    (parked,) = room.steps()
    assert isinstance(parked, WorkloadParked)
    assert room.told("QuotaReserved") == ("False", "Misconfigured", "ClusterQueue none doesn't exist")
    room.tell(ClusterQueueObserved(name="none", namespaces=LabelSelector()))
    assert room.steps() == [WorkloadQueued(workload=KEY, cluster_queue="none")]
    pending = "Workload is pending evaluation in the scheduling queue"
    assert room.told("QuotaReserved") == ("False", "PendingEvaluation", pending)


def test_what_is_missing_is_told_of_one_that_comes_again_by_the_same_name() -> None:
    room = Room(submitted(replace(SPEC, queue="new")))
    room.steps()
    room.tell(WorkloadDeleted(workload=KEY), replace(submitted(replace(SPEC, queue="new")), uid="another"))
    room.steps()
    assert room.told("QuotaReserved") == ("False", "Misconfigured", "LocalQueue new doesn't exist")


def test_nobody_is_kept_among_those_without_a_queue_who_is_gone_or_has_one() -> None:
    room = Room(submitted(replace(SPEC, queue="new")))
    room.steps()
    assert room.world.lines.of("").parked == {KEY: "Misconfigured"}
    room.tell(LocalQueueObserved(namespace="team", name="new", cluster_queue="cq"))
    assert room.steps() == [QUEUED]
    assert room.world.lines.of("").empty
    other = Room(submitted(replace(SPEC, queue="new")))
    other.steps()
    other.tell(WorkloadDeleted(workload=KEY))
    assert other.world.lines.of("").empty


def test_a_reason_that_an_attempt_gave_stays_until_the_next_attempt() -> None:
    room = Room(submitted(conditions=(false("QuotaReserved", "ExceedsMaxQuota", "too big"),)))
    assert room.steps() == [QUEUED]
    assert room.told("QuotaReserved") == ("False", "ExceedsMaxQuota", "too big")
    assert room.told("Admitted") == ("False", "NoReservation", "The workload has no reservation")


def test_a_gate_holds_back_and_its_end_is_told_before_the_workload_queues() -> None:
    room = Room(submitted(replace(SPEC, gated_by=("a.io/x", "b.io/y"))))
    room.steps()
    assert room.told("QuotaReserved") == ("False", "AdmissionGated", "Admission is gated by: a.io/x,b.io/y")
    room.tell(WorkloadChanged(workload=KEY, spec=replace(SPEC, gated_by=("b.io/y",))))
    room.steps()
    assert room.told("QuotaReserved") == ("False", "AdmissionGated", "Admission is gated by: b.io/y")
    room.tell(WorkloadChanged(workload=KEY, spec=SPEC))
    assert room.steps() == [AdmissionGateCleared(workload=KEY), QUEUED]
    cleared = "AdmissionGatedBy cleared, waiting for quota reservation"
    assert room.told("QuotaReserved") == ("False", "PendingEvaluation", cleared)


def test_who_is_set_inactive_while_waiting_is_evicted_parked_and_comes_back_when_set_active() -> None:
    room = Room(submitted(requeue=(2, None)))
    room.steps()
    room.tell(WorkloadSwitched(workload=KEY, active=False))
    evicted, parked = room.steps()
    assert evicted == EvictionOrdered(workload=KEY, reason="Deactivated", message="The workload is deactivated")
    assert isinstance(parked, WorkloadParked)
    assert room.told("QuotaReserved") == ("False", "Deactivated", "The workload is deactivated")
    assert room.workload.stops.requeue.count == 0, "the back-off is forgotten"
    room.tell(WorkloadSwitched(workload=KEY, active=True))
    assert room.steps() == [QUEUED]
    assert room.told("QuotaReserved") is not None


def test_who_was_evicted_before_it_is_set_inactive_has_no_back_off_left_when_it_is_set_active() -> None:
    evicted = (true("Evicted", "PodsReadyTimeout", since=MINUTE), false("Requeued", "PodsReadyTimeout"))
    room = Room()
    room.tell(submitted(conditions=evicted, requeue=(3, room.at + MINUTE)))
    room.steps()
    room.tell(WorkloadSwitched(workload=KEY, active=False))
    assert room.step() == [DeactivationSettled(workload=KEY)], "it is evicted already"
    assert (room.workload.stops.requeue.count, room.workload.stops.requeue.at) == (0, None)
    room.steps()
    room.tell(WorkloadSwitched(workload=KEY, active=True))
    assert QUEUED in room.steps()


def test_the_back_off_ends_for_each_reason_with_a_reason_of_its_own() -> None:
    for waited, reason, message in (
        ("PodsReadyTimeout", "BackoffFinished", "The workload backoff was finished"),
        ("AdmissionCheck", "BackoffFinished", "The workload backoff was finished"),
        ("DeactivatedDueToAdmissionCheck", "Reactivated", "The workload was reactivated"),
        ("LocalQueueStopped", "LocalQueueRestarted", "The LocalQueue was restarted after being stopped"),
        ("ClusterQueueStopped", "ClusterQueueRestarted", "The ClusterQueue was restarted after being stopped"),
    ):
        room = Room(submitted(conditions=(false("Requeued", waited),), requeue=(1, None)))
        again = WorkloadRequeued(workload=KEY, allowed=True, reason=reason, message=message)
        assert room.steps() == [again, QUEUED]
        assert room.told("Requeued") == ("True", reason, message)


@pytest.mark.parametrize(
    ("away", "reason", "message"),
    [
        (stopped(StopPolicy.HOLD_AND_DRAIN), "ClusterQueueStopped", "ClusterQueue cq is inactive"),
        (replace(DOOR, stop=StopPolicy.HOLD_AND_DRAIN), "LocalQueueStopped", "LocalQueue lq is inactive"),
        (
            ObjectRemoved(kind="LocalQueue", namespace="team", name="lq"),
            "LocalQueueStopped",
            "LocalQueue lq doesn't exist",
        ),
    ],
    ids=["cluster queue", "local queue", "local queue gone"],
)
def test_nobody_is_let_back_while_the_queue_is_still_stopped(away: AnyEvent, reason: str, message: str) -> None:
    room = Room(away, submitted(conditions=(false("Requeued", reason),)))
    (parked,) = room.steps()
    assert isinstance(parked, WorkloadParked) and parked.message == message
    assert room.told("Requeued") == ("False", reason, "")


def test_who_was_deactivated_is_let_back_once_somebody_sets_it_active() -> None:
    waits = false("Requeued", "DeactivatedDueToAdmissionCheck")
    room = Room(submitted(replace(SPEC, active=False), conditions=(waits,)))
    room.steps()
    assert room.told("Requeued") == ("False", "DeactivatedDueToAdmissionCheck", "")
    room.tell(WorkloadSwitched(workload=KEY, active=True))
    assert [type(one) for one in room.steps()] == [WorkloadRequeued, WorkloadQueued]
    assert room.told("Requeued") == ("True", "Reactivated", "The workload was reactivated")


def test_nobody_is_let_back_while_its_local_queue_is_still_stopped() -> None:
    door = LocalQueueObserved(namespace="team", name="lq", cluster_queue="cq", stop=StopPolicy.HOLD_AND_DRAIN)
    room = Room(door, submitted(conditions=(false("Requeued", "LocalQueueStopped"),)))
    (parked,) = room.steps()
    assert isinstance(parked, WorkloadParked) and parked.message == "LocalQueue lq is inactive"
    assert room.told("Requeued") == ("False", "LocalQueueStopped", "")
    room.tell(replace(door, stop=StopPolicy.NONE)).steps()
    assert room.told("Requeued") == ("True", "LocalQueueRestarted", "The LocalQueue was restarted after being stopped")


def test_a_group_that_lacks_a_pod_says_first_that_its_queue_takes_nothing_in() -> None:
    held = LocalQueueObserved(namespace="team", name="lq", cluster_queue="cq", stop=StopPolicy.HOLD)
    room = Room(held, submitted(replace(SPEC, waits_for_pods=True)))
    room.steps()
    assert room.told("QuotaReserved") == ("False", "Suspended", "LocalQueue lq is inactive")
    room.tell(replace(held, stop=StopPolicy.NONE))
    (parked,) = room.steps()
    assert isinstance(parked, WorkloadParked) and parked.reason == "WaitingForReplacementPods"
    lacking = "Pods of the group have ended and were not replaced yet"
    assert room.told("QuotaReserved") == ("False", "WaitingForReplacementPods", lacking)
    assert room.steps() == []
    room.tell(WorkloadChanged(workload=KEY, spec=SPEC))
    assert room.steps() == [QUEUED]
    assert room.told("QuotaReserved")[1] == "PendingEvaluation"


def test_who_waits_for_his_back_off_in_a_queue_that_goes_on_is_not_told_any_more_that_it_takes_nothing_in() -> None:
    held = LocalQueueObserved(namespace="team", name="lq", cluster_queue="cq", stop=StopPolicy.HOLD)
    room = Room(held)
    room.tell(submitted(requeue=(1, room.at + MINUTE), conditions=(false("QuotaReserved", "Suspended"),)))
    room.tell(replace(held, stop=StopPolicy.NONE))
    room.steps()
    assert room.told("QuotaReserved") == ("False", "Backoff", "Waiting for the back-off after an eviction to end")


def test_until_its_back_off_ends_a_workload_waits_without_a_word_in_its_conditions() -> None:
    room = Room()
    requeued = false("Requeued", "PodsReadyTimeout")
    room.tell(submitted(conditions=(requeued,), requeue=(1, room.at + MINUTE)))
    (parked,) = room.steps()
    assert isinstance(parked, WorkloadParked) and parked.reason == "Backoff"
    assert room.workload.conditions == {"Requeued": requeued}
    room.at += MINUTE
    assert [type(one) for one in room.steps()] == [WorkloadRequeued, WorkloadQueued]
    assert (room.workload.stops.requeue.count, room.workload.stops.requeue.at) == (1, None)


def test_the_latest_end_that_a_check_asks_for_counts_and_never_moves_back() -> None:
    room = Room(checks=(CheckRule(name="a"), CheckRule(name="b")))
    late = check("a", CheckState.RETRY, since=room.at + 10 * SECOND, after=5 * SECOND)
    long = check("b", CheckState.RETRY, since=room.at, after=10 * SECOND)
    room.tell(submitted(checks=(late, long)))
    assert room.step() == [BackoffSet(workload=KEY, until=room.at + 15 * SECOND)]
    room = Room(checks=(CheckRule(name="b"),))
    room.tell(submitted(checks=(long,), requeue=(1, room.at + 20 * SECOND)))
    assert [type(one) for one in room.steps()] == [WorkloadParked]
    assert room.workload.stops.requeue.at == room.at + 20 * SECOND


def test_a_check_that_is_pending_again_asks_for_no_wait_by_the_time_that_it_has_from_before() -> None:
    room = Room(checks=(CheckRule(name="a"),))
    room.tell(submitted(checks=(check("a", CheckState.PENDING, since=room.at, after=10 * SECOND),)))
    assert [type(one) for one in room.steps()] == [WorkloadParked], "its check is not there yet"
    assert room.workload.stops.requeue.at is None


def test_checks_for_all_flavors_are_there_before_quota_is_others_come_with_their_flavor() -> None:
    room = Room(checks=(CheckRule(name="all"), CheckRule(name="some", flavors=("f",))))
    room.tell(submitted())
    assert room.step() == [ChecksRequired(workload=KEY, checks=("all",))]


@pytest.mark.parametrize("stop", [StopPolicy.HOLD, StopPolicy.HOLD_AND_DRAIN])
def test_a_local_queue_that_is_stopped_leaves_the_checks_of_its_workloads_as_they_are_until_it_takes_in_again(
    stop: StopPolicy,
) -> None:
    door = replace(DOOR, stop=stop)
    for had in ((), (check("old", CheckState.PENDING),)):
        room = Room(door, submitted(checks=had), checks=(CheckRule(name="all"),))
        assert [type(one) for one in room.steps()] == [WorkloadParked]
        assert list(room.workload.checks) == [one.name for one in had]
        room.tell(replace(door, stop=StopPolicy.NONE))
        assert room.step() == [ChecksRequired(workload=KEY, checks=("all",))]


def test_a_check_that_names_all_flavors_of_the_queue_is_one_for_all_flavors() -> None:
    room = Room(checks=(CheckRule(name="named", flavors=("g", "f", "gone")), CheckRule(name="some", flavors=("f",))))
    room.tell(submitted())
    assert room.step() == [ChecksRequired(workload=KEY, checks=("named",))]
