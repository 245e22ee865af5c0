"""Who holds quota and has to stop, or loses it before anything has run (docs/rules/eviction.md#evicted)."""

import pytest
from msgspec.structs import replace

from events.control import ObjectRemoved
from events.pod_set import ContainerShape, PodSet, PodShape
from events.quota import CheckRule, ClusterQueueObserved, LocalQueueObserved, StopPolicy
from events.selector import LabelSelector, Toleration
from events.settings import PodsReadyRule
from events.slices import WorkloadSliceResized
from events.upkeep import BackoffSet, ChecksRequired, DeactivationOrdered, DeactivationSettled
from events.workload import (
    CheckState,
    EvictionOrdered,
    Owner,
    PodSetAssignment,
    PodsGone,
    QuotaReleased,
    WorkloadChanged,
    WorkloadDeactivated,
    WorkloadParked,
    WorkloadSwitched,
)
from projections.workloads.resizing import Resizing
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
)

JOB = Owner(kind="Job", name="j", uid="j")
(MAIN,) = SPEC.pod_sets


def tolerating(pods: PodSet) -> PodSet:
    spot = Toleration(key="spot", operator="Exists")
    return replace(pods, shape=replace(pods.shape, tolerations=(spot,)))


def test_a_rejected_check_deactivates_step_by_step_and_the_quota_returns_when_the_pods_are_gone() -> None:
    room = Room(checks=(CheckRule(name="budget"),))
    no = check("budget", CheckState.REJECTED, message="too dear")
    room.tell(submitted(reserved=True, admitted_at=MINUTE, checks=(no,), owner=JOB))
    said = room.steps()
    message = 'AdmissionCheck in Rejected state: "budget" (too dear)'
    assert said == [
        DeactivationOrdered(workload=KEY, cause="AdmissionCheck", message=message),
        WorkloadDeactivated(workload=KEY, cause="AdmissionCheck", message=message),
        EvictionOrdered(
            workload=KEY,
            reason="Deactivated",
            cause="AdmissionCheck",
            message=f"The workload is deactivated due to {message}",
        ),
    ]
    assert room.told("Evicted") == ("True", "DeactivatedDueToAdmissionCheck", said[-1].message)
    assert room.told("DeactivationTarget") is None, "the eviction says why from now on"
    assert [(one.reason, one.cause, one.count) for one in room.workload.stops.evictions] == [
        ("Deactivated", "AdmissionCheck", 1)
    ]
    room.tell(PodsGone(workload=KEY, decision=f"LOG_0/{room.workload.stops.stopped_by}"))
    (released,) = room.step()
    assert isinstance(released, QuotaReleased) and not released.withdrawn
    assert room.told("Requeued") == ("False", "DeactivatedDueToAdmissionCheck", said[-1].message)


def test_who_asks_for_other_pods_than_it_was_let_in_with_stops_and_queues_again_in_its_new_size() -> None:
    room = Room(submitted(reserved=True, admitted_at=MINUTE, owner=JOB))
    (pods,) = SPEC.pod_sets
    room.tell(WorkloadChanged(workload=KEY, spec=replace(SPEC, pod_sets=(replace(pods, count=3),))))
    message = "The job asks for 3 pods for main, which was let in with 1"
    assert room.steps() == [EvictionOrdered(workload=KEY, reason="NoMatchingWorkload", message=message)]
    room.tell(PodsGone(workload=KEY, decision=f"LOG_0/{room.workload.stops.stopped_by}"))
    (released, *_) = room.steps()
    assert isinstance(released, QuotaReleased) and not released.withdrawn
    assert room.told("Requeued") == ("True", "NoMatchingWorkload", message)
    assert room.workload.line == "cq" and room.workload.spec.pod_sets[0].count == 3


def _big(pods: PodSet) -> PodSet:
    return replace(pods, shape=PodShape(containers=(ContainerShape(name="main", requests={"cpu": 64_000}),)))


def _reserved(*pod_sets: PodSet, admitted_at: int | None = None) -> Room:
    """A job that holds quota for these pod sets and waits for a check."""
    state = CheckState.PENDING if admitted_at is None else CheckState.READY
    room = Room(checks=(CheckRule(name="c"),))
    spec = replace(SPEC, pod_sets=pod_sets)
    return room.tell(submitted(spec, reserved=True, admitted_at=admitted_at, checks=(check("c", state),), owner=JOB))


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ((_big(MAIN),), "other pods for main than it was let in with"),
        ((replace(MAIN, minimum=1),), "other pods for main than it was let in with"),
        ((tolerating(MAIN),), "other pods for main than it was let in with"),
        ((MAIN, replace(MAIN, name="more", count=7)), "7 pods for more, which was let in with none"),
        (
            (replace(MAIN, name="other"),),
            "no pods for main, which was let in with 1, and 1 pods for other, which was let in with none",
        ),
    ],
    ids=["larger", "may be fewer", "tolerates", "one more", "renamed"],
)
@pytest.mark.parametrize("admitted_at", [None, MINUTE], ids=["waits for checks", "is to start"])
def test_whose_pods_change_before_they_run_loses_its_quota_and_asks_for_what_it_is_by_now(
    asked: tuple[PodSet, ...], told: str, admitted_at: int | None
) -> None:
    room = _reserved(MAIN, admitted_at=admitted_at)
    assert room.steps() == []
    room.tell(WorkloadChanged(workload=KEY, spec=replace(SPEC, pod_sets=asked)))
    first = room.step()
    assert first == [EvictionOrdered(workload=KEY, reason="NoMatchingWorkload", message=f"The job asks for {told}")]
    if admitted_at is not None:
        room.tell(PodsGone(workload=KEY, decision=f"LOG_0/{room.workload.stops.stopped_by}"))
    room.steps()
    assert not room.workload.reserved and room.workload.spec.pod_sets == asked


def test_how_few_pods_may_run_can_t_be_raised_under_who_was_let_in_with_fewer() -> None:
    room = _reserved(replace(MAIN, count=10, minimum=1))
    assert room.steps() == []
    room.tell(WorkloadChanged(workload=KEY, spec=replace(SPEC, pod_sets=(replace(MAIN, count=10, minimum=8),))))
    assert [type(one) for one in room.steps()][:2] == [EvictionOrdered, QuotaReleased]


@pytest.mark.parametrize(
    "asked",
    [MAIN, replace(MAIN, shape=replace(MAIN.shape, raw_shape="spelled out"))],
    ids=["as before", "spelled otherwise"],
)
def test_whose_pods_are_again_what_quota_was_reserved_for_keeps_it(asked: PodSet) -> None:
    room = _reserved(MAIN)
    room.tell(*(WorkloadChanged(workload=KEY, spec=replace(SPEC, pod_sets=(one,))) for one in (_big(MAIN), asked)))
    assert room.steps() == [] and room.workload.reserved


def test_an_elastic_job_whose_pods_become_other_ones_before_they_run_loses_its_quota() -> None:
    room = Room(checks=(CheckRule(name="c"),))
    spec = replace(SPEC, elastic=True, pod_sets=(replace(MAIN, count=1),))
    room.tell(submitted(spec, reserved=True, checks=(check("c", CheckState.PENDING),), owner=JOB))
    room.tell(WorkloadChanged(workload=KEY, spec=replace(spec, pod_sets=(_big(MAIN),))))
    said = room.steps()
    assert [type(one) for one in said][:3] == [EvictionOrdered, QuotaReleased, WorkloadSliceResized]
    assert room.workload.spec.pod_sets == (_big(MAIN),)


def test_a_group_that_lacks_a_pod_says_that_all_of_it_is_evicted_once_it_is() -> None:
    group = Owner(kind="PodGroup", name="g", uid="p", api_version="v1")
    room = Room(submitted(replace(SPEC, waits_for_pods=True), reserved=True, admitted_at=MINUTE, owner=group))
    assert room.told("WaitingForReplacementPods") == ("True", "PodsFailed", "Some Failed pods need replacement")
    room.tell(EvictionOrdered(workload=KEY, reason="Preempted", message="for another one"))
    assert room.told("WaitingForReplacementPods") == ("True", "Preempted", "for another one")


def test_checks_to_be_tried_again_move_the_back_off_first_and_evict_then() -> None:
    room = Room(checks=(CheckRule(name="a"), CheckRule(name="b")))
    later = check("a", CheckState.RETRY, since=room.at, after=90 * SECOND)
    ready = check("b", CheckState.READY)
    room.tell(submitted(reserved=True, checks=(later, ready), requeue=(2, None)))
    first, second = room.step(), room.step()
    assert first == [BackoffSet(workload=KEY, count=2, until=room.at + 90 * SECOND)]
    message = 'Evicted due to AdmissionCheck in Retry state: "a"'
    assert second == [EvictionOrdered(workload=KEY, reason="AdmissionCheck", message=message)]
    assert {name: (one.state, one.retries) for name, one in room.workload.checks.items()} == {
        "a": (CheckState.PENDING, 1),
        "b": (CheckState.PENDING, 0),
    }
    assert room.workload.stops.requeue.at == room.at + 90 * SECOND, "the eviction leaves the back-off as it is"


def test_an_eviction_leaves_checks_as_they_are_that_nobody_has_answered_yet() -> None:
    room = Room(checks=(CheckRule(name="a"), CheckRule(name="b")))
    asked = replace(check("b", CheckState.PENDING, since=SECOND), message="somebody looks at it")
    room.tell(submitted(reserved=True, checks=(check("a", CheckState.RETRY, after=90 * SECOND), asked)))
    room.steps()
    told = {name: (one.message, one.since) for name, one in room.workload.checks.items()}
    assert room.workload.checks["a"].requeue_after == 90 * SECOND, "as under Kueue: who answers next may change that"
    assert told == {
        "a": ("Reset to Pending after eviction. Previously: Retry", room.at),
        "b": ("somebody looks at it", SECOND),
    }


def test_a_stopped_queue_takes_quota_back_from_those_that_do_not_run_and_drains_only_when_told() -> None:
    released = [QuotaReleased(workload=KEY, reason="Suspended", message="ClusterQueue cq is stopped", withdrawn=True)]
    assert Room(stopped(StopPolicy.HOLD_AND_DRAIN), submitted(reserved=True)).step() == released
    room = Room(stopped(StopPolicy.HOLD), submitted(reserved=True))
    assert room.step() == released
    assert room.told("QuotaReserved") == ("False", "Suspended", "ClusterQueue cq is stopped")
    assert room.told("Admitted") == ("False", "NoReservation", "The workload has no reservation")
    assert room.told("Requeued") is None, "nothing had to stop, so nothing has to be let in again"
    runs = submitted(reserved=True, admitted_at=MINUTE)
    assert Room(stopped(StopPolicy.HOLD), runs).step() == []
    drained = Room(stopped(StopPolicy.HOLD_AND_DRAIN), runs).step()
    assert drained == [
        EvictionOrdered(workload=KEY, reason="ClusterQueueStopped", message="The ClusterQueue is stopped")
    ]


def test_a_queue_that_goes_away_takes_quota_back_from_those_that_do_not_run() -> None:
    gone = ClusterQueueObserved(name="cq", namespaces=LabelSelector(), terminating=True)
    (released,) = Room(gone, submitted(reserved=True)).step()
    assert released == QuotaReleased(
        workload=KEY, reason="Misconfigured", message="ClusterQueue cq is terminating or missing", withdrawn=True
    )
    nowhere = submitted(replace(SPEC, queue="nowhere"), reserved=True)
    (released,) = Room(nowhere).step()
    assert isinstance(released, QuotaReleased)
    assert released.message == "LocalQueue nowhere is terminating or missing"
    assert Room(submitted(replace(SPEC, queue="nowhere"), reserved=True, admitted_at=MINUTE)).step() == []


def test_checks_for_the_flavors_that_were_given_are_required_and_others_dropped() -> None:
    rules = (CheckRule(name="all"), CheckRule(name="mine", flavors=("f",)), CheckRule(name="other", flavors=("g",)))
    room = Room(checks=rules)
    room.tell(submitted(reserved=True, checks=(check("old", CheckState.READY), check("all", CheckState.READY))))
    assert room.step() == [ChecksRequired(workload=KEY, checks=("all", "mine"))]
    assert {name: one.state for name, one in room.workload.checks.items()} == {
        "all": CheckState.READY,
        "mine": CheckState.PENDING,
    }


def test_a_check_for_some_flavors_is_required_of_who_was_given_one_of_these_beside_others() -> None:
    room = Room(checks=(CheckRule(name="some", flavors=("g",)),))
    told = submitted(reserved=True)
    given = PodSetAssignment(name="main", count=1, flavors={"cpu": "f", "memory": "g"}, usage={"cpu": 1000})
    room.tell(replace(told, adopted=replace(told.adopted, assignments=(given,))))
    assert room.step() == [ChecksRequired(workload=KEY, checks=("some",))]


def test_who_runs_has_the_checks_that_it_had_while_its_local_queue_is_stopped_or_gone() -> None:
    door = LocalQueueObserved(namespace="team", name="lq", cluster_queue="cq")
    runs = submitted(reserved=True, admitted_at=MINUTE, checks=(check("old", CheckState.READY),))
    for away in (replace(door, stop=StopPolicy.HOLD), ObjectRemoved(kind="LocalQueue", namespace="team", name="lq")):
        room = Room(away, runs, checks=(CheckRule(name="new"),))
        assert room.steps() == []
        room.tell(door)
        assert room.step() == [ChecksRequired(workload=KEY, checks=("new",))]


@pytest.mark.parametrize("count", [-5, 0, 100])
def test_a_back_off_of_nothing_is_one_of_a_second_lest_one_job_fill_the_log(count: int) -> None:
    room = Room(settings(pods_ready=PodsReadyRule(timeout=0, backoff_base=0, backoff_max=0)))
    room.tell(submitted(reserved=True, admitted_at=room.at, requeue=(count, None)))
    (evicted,) = room.step()
    assert isinstance(evicted, EvictionOrdered)
    assert evicted.requeue_at == room.at + SECOND


def test_pods_that_are_not_ready_in_time_cost_ever_longer_waits_until_the_limit() -> None:
    rule = PodsReadyRule(timeout=3 * SECOND, backoff_limit=4, backoff_base=10 * SECOND, backoff_max=MINUTE)
    for count, wait in ((0, 10), (1, 20), (2, 40), (3, 60)):
        room = Room(settings(pods_ready=rule))
        room.tell(submitted(reserved=True, admitted_at=room.at - 3 * SECOND + 1, requeue=(count, None)))
        assert room.steps() == []
        room.at += 1
        (evicted,) = room.step()
        assert isinstance(evicted, EvictionOrdered)
        assert (evicted.requeue_count, evicted.requeue_at) == (count + 1, room.at + wait * SECOND)
        assert (evicted.reason, evicted.cause) == ("PodsReadyTimeout", "WaitForStart")
    room = Room(settings(pods_ready=rule))
    room.tell(submitted(reserved=True, admitted_at=room.at - 5 * SECOND, requeue=(4, None)))
    assert room.step() == [
        DeactivationOrdered(
            workload=KEY,
            cause="RequeuingLimitExceeded",
            message="exceeding the maximum number of re-queuing retries",
        )
    ]


def test_time_used_before_counts_and_starts_anew_after_the_deactivation() -> None:
    room = Room()
    spec = replace(SPEC, max_execution=10 * MINUTE)
    room.tell(submitted(spec, reserved=True, admitted_at=room.at - 4 * MINUTE, past=6 * MINUTE))
    said = room.steps()
    assert isinstance(said[0], DeactivationOrdered) and said[0].cause == "MaximumExecutionTimeExceeded"
    room.tell(PodsGone(workload=KEY, decision="1"))
    assert any(isinstance(one, QuotaReleased) for one in room.steps())
    assert room.workload.stops.past_execution == 0


def test_whose_time_is_up_while_the_pods_of_its_eviction_still_end_is_deactivated_and_not_let_in_again() -> None:
    spec = replace(SPEC, max_execution=10 * MINUTE)
    room = Room(submitted(spec, reserved=True, admitted_at=51 * MINUTE, owner=JOB))
    room.tell(EvictionOrdered(workload=KEY, reason="Preempted", message="for another one"))
    assert room.steps() == [] and room.world.next_deadline() == 61 * MINUTE
    room.at = 61 * MINUTE
    assert [type(one) for one in room.steps()] == [DeactivationOrdered, WorkloadDeactivated, DeactivationSettled]
    assert room.told("Evicted") == ("True", "Preempted", "for another one") and room.workload.reserved
    room.at = 63 * MINUTE
    room.tell(PodsGone(workload=KEY, decision=f"LOG_0/{room.workload.stops.stopped_by}"))
    said = room.steps()
    assert [type(one) for one in said] == [QuotaReleased, WorkloadParked]
    assert room.workload.stops.past_execution == 0, "once it is active again its time starts anew"


def test_the_quota_of_a_workload_without_a_job_returns_when_whoever_runs_it_says_that_it_stopped_after_this_eviction() -> (
    None
):
    room = Room(submitted(reserved=True, admitted_at=MINUTE))
    room.tell(WorkloadSwitched(workload=KEY, active=False))
    assert [type(one) for one in room.steps()] == [EvictionOrdered], "what it consists of may run"
    room.tell(PodsGone(workload=KEY, decision="0"))
    assert room.step() == [], "that is an attempt before"
    room.tell(PodsGone(workload=KEY, decision="1"))
    (released,) = room.step()
    assert isinstance(released, QuotaReleased)


def test_a_copy_that_its_manager_wants_stopped_is_set_inactive_and_evicted_for_that_cause() -> None:
    room = Room(submitted(reserved=True, admitted_at=MINUTE, owner=JOB))
    cause, why = "EvictedOnManagerCluster", "Evicted on manager: Preempted"
    told = WorkloadSwitched(workload=KEY, active=True, cause=cause, message=why)
    room.tell(told)
    assert room.steps()[:2] == [
        WorkloadDeactivated(workload=KEY, cause=cause, message=why),
        EvictionOrdered(
            workload=KEY,
            reason="Deactivated",
            cause=cause,
            message=f"The workload is deactivated due to {why}",
        ),
    ]
    assert not room.workload.spec.active and room.workload.stops.deactivated_by, "its object is set inactive"
    room.tell(told)
    assert room.steps() == [] and not room.workload.spec.active, "told again, it makes nothing active"


def test_who_was_not_admitted_yet_gives_its_quota_back_at_once() -> None:
    room = Room(submitted(reserved=True))
    room.tell(WorkloadSwitched(workload=KEY, active=False))
    assert [type(one) for one in room.steps()][:2] == [EvictionOrdered, QuotaReleased]


def test_a_slice_that_goes_on_where_another_was_keeps_its_quota_until_its_pods_are_gone_admitted_or_not() -> None:
    room = Room(submitted(replace(SPEC, elastic=True), reserved=True, owner=JOB))
    room.world.put_workload(replace(room.workload, resizing=Resizing(continues=True)))
    room.tell(EvictionOrdered(workload=KEY, reason="Preempted", message="for another one"))
    assert room.steps() == [] and room.workload.reserved and not room.workload.admitted
    room.tell(PodsGone(workload=KEY, decision=f"LOG_0/{room.workload.stops.stopped_by}"))
    assert room.step() == [QuotaReleased(workload=KEY, reason="Preempted", message="for another one")]


def test_a_gate_that_is_set_late_takes_the_reservation_back_but_stops_nothing_that_runs() -> None:
    gated = replace(SPEC, gated_by=("a.io/x",))
    (released,) = Room(submitted(gated, reserved=True)).step()
    assert released == QuotaReleased(
        workload=KEY, reason="AdmissionGated", message="Admission is gated by: a.io/x", withdrawn=True
    )
    assert Room(submitted(gated, reserved=True, admitted_at=MINUTE)).step() == []
    off = settings(gates={"AdmissionGatedBy": False})
    assert Room(off, submitted(gated, reserved=True)).step() == []


def test_who_is_evicted_already_keeps_that_reason_when_it_is_deactivated() -> None:
    room = Room(
        submitted(reserved=True, admitted_at=MINUTE, owner=JOB),
        EvictionOrdered(workload=KEY, reason="PodsReadyTimeout", message="too late", requeue_count=3),
        WorkloadDeactivated(workload=KEY, cause="RequeuingLimitExceeded", message=""),
    )
    assert room.step() == [DeactivationSettled(workload=KEY)]
    assert room.step() == [], "its pods are still there"
    assert room.told("Evicted") == ("True", "PodsReadyTimeout", "too late")
    assert room.workload.stops.requeue.count == 0


def test_without_observability_the_broader_reasons_are_told() -> None:
    off = settings(gates={"UnadmittedWorkloadsObservability": False})
    room = Room(off, stopped(StopPolicy.HOLD), submitted(reserved=True))
    room.step()
    assert room.told("QuotaReserved") == ("False", "Inadmissible", "ClusterQueue cq is stopped")
    assert room.told("Admitted") is None
    ran = Room(off, submitted(replace(SPEC, active=False), reserved=True, admitted_at=MINUTE))
    ran.steps()
    ran.tell(PodsGone(workload=KEY, decision="1"))
    ran.steps()
    assert ran.told("QuotaReserved") == ("False", "Pending", "The workload is deactivated")
    assert ran.told("Admitted") == ("False", "NoReservation", "The workload has no reservation")
    assert false("Admitted", "NoReservation").type in ran.workload.conditions
