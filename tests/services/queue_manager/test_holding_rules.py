"""What each rule says of a workload that holds quota, row by row, with the nearest standing in which it says nothing."""

import pytest
from msgspec.structs import replace

from events.budget import Budget, BudgetPeriod
from events.catalogue import AnyEvent, Decision
from events.device import DevicesRefused
from events.quota import (
    AdmissionCheckObserved,
    CheckRule,
    ClusterQueueObserved,
    LocalQueueObserved,
    StopPolicy,
)
from events.selector import LabelSelector
from events.settings import PodsReadyRule
from events.upkeep import BackoffSet, CheckSettled, ChecksRequired, DeactivationOrdered, DeactivationSettled
from events.workload import (
    CheckState,
    CheckStatus,
    Condition,
    ConditionStatus,
    EvictionOrdered,
    Member,
    MemberState,
    Owner,
    PodsGone,
    QuotaReleased,
    WorkloadDeactivated,
    WorkloadSubmitted,
    WorkloadSwitched,
)
from projections.budgets.rates import CONTROLLER
from tests.services.queue_manager.waiting_room import (
    GROUPS,
    KEY,
    MINUTE,
    SECOND,
    SPEC,
    Room,
    check,
    false,
    settings,
    submitted,
    true,
)

JOB = Owner(kind="Job", name="j", uid="j")
NOW = 60 * MINUTE
READY_IN_TIME = settings(pods_ready=PodsReadyRule(timeout=30 * SECOND, recovery_timeout=20 * SECOND))
RETRIED = check("a", CheckState.RETRY, message="no room")
PLAIN = submitted(reserved=True)


def runs(*conditions: Condition, since: int = MINUTE, **changes: object) -> WorkloadSubmitted:
    return submitted(replace(SPEC, **changes), reserved=True, admitted_at=since, owner=JOB, conditions=conditions)


def evicted(reason: str, message: str, cause: str = "") -> list[Decision]:
    return [EvictionOrdered(workload=KEY, reason=reason, message=message, cause=cause)]


def withdrawn(reason: str, message: str) -> list[Decision]:
    return [QuotaReleased(workload=KEY, reason=reason, message=message, withdrawn=True)]


def late(cause: str) -> list[Decision]:
    message = f"Exceeded the PodsReady timeout {KEY}"
    return [
        EvictionOrdered(
            workload=KEY,
            reason="PodsReadyTimeout",
            cause=cause,
            message=message,
            requeue_count=1,
            requeue_at=NOW + MINUTE,
        )
    ]


def member(state: MemberState) -> Member:
    return Member(name="p", uid="p", pod_set="main", state=state)


def local_queue(**changes: object) -> LocalQueueObserved:
    return replace(LocalQueueObserved(namespace="team", name="lq", cluster_queue="cq"), **changes)


def recovering(since: int) -> Condition:
    return false("PodsReady", "WaitForRecovery", since=since)


@pytest.mark.parametrize(
    ("told", "said"),
    [
        # Who is set inactive has to stop; who is to be inactive is made so first.
        (
            (submitted(replace(SPEC, active=False), reserved=True),),
            evicted("Deactivated", "The workload is deactivated"),
        ),
        (
            (submitted(reserved=True, conditions=(true("DeactivationTarget", "Why", "this"),)),),
            [WorkloadDeactivated(workload=KEY, cause="Why", message="this")],
        ),
        ((submitted(reserved=True, conditions=(false("DeactivationTarget", "Why", "this"),)),), []),
        # Its quota is free when its pods are gone, and at once where none can be there.
        (
            (submitted(reserved=True, owner=JOB, conditions=(true("Evicted", "Preempted", "room"),)),),
            [QuotaReleased(workload=KEY, reason="Preempted", message="room")],
        ),
        ((runs(), *evicted("Preempted", "room")), []),
        # Whom somebody else has begun to evict is evicted anew, so that it is seen when its pods are gone.
        ((runs(true("Evicted", "Preempted", "room")),), evicted("Preempted", "room")),
        ((runs(false("Evicted", "Preempted", "room")),), []),
        # What is on hold holds nothing, once its pods are gone.
        ((runs(on_hold=True),), withdrawn("OnHold", "Job scaled to zero; workload on hold")),
        (
            (submitted(replace(SPEC, on_hold=True), reserved=True),),
            withdrawn("OnHold", "Job scaled to zero; workload on hold"),
        ),
        ((runs(on_hold=True, members=(member(MemberState.LIVE),)),), []),
        (
            (submitted(replace(SPEC, on_hold=True, members=(member(MemberState.LIVE),)), reserved=True),),
            withdrawn("OnHold", "The job is on hold"),
        ),
        # A queue that stops or goes away.
        ((PLAIN, local_queue(stop=StopPolicy.HOLD)), withdrawn("Suspended", "LocalQueue lq is stopped")),
        (
            (PLAIN, local_queue(terminating=True)),
            withdrawn("Misconfigured", "LocalQueue lq is terminating or missing"),
        ),
        ((runs(), local_queue(stop=StopPolicy.HOLD)), []),
        ((runs(), local_queue(terminating=True)), []),
        (
            (runs(), local_queue(stop=StopPolicy.HOLD_AND_DRAIN)),
            evicted("LocalQueueStopped", "The LocalQueue is stopped"),
        ),
        # Cards that can't be given.
        (
            (PLAIN, DevicesRefused(workload=KEY, reservation=4, reason="NoFit", message="all are full")),
            evicted("DevicesRefused", "Cards can't be given: all are full"),
        ),
        # Its time to run is up: to the millisecond.
        ((runs(since=NOW - MINUTE, max_execution=MINUTE + 1),), []),
        (
            (runs(since=NOW - MINUTE, max_execution=MINUTE),),
            [
                DeactivationOrdered(
                    workload=KEY,
                    cause="MaximumExecutionTimeExceeded",
                    message="exceeding the maximum execution time",
                )
            ],
        ),
        # Its pods are not ready in time: to the millisecond, and told apart from those that were.
        ((READY_IN_TIME, runs(since=NOW - 30 * SECOND + 1)), []),
        ((READY_IN_TIME, runs(since=NOW - 30 * SECOND)), late("WaitForStart")),
        ((READY_IN_TIME, runs(recovering(NOW - 20 * SECOND + 1))), []),
        ((READY_IN_TIME, runs(recovering(NOW - 20 * SECOND))), late("WaitForRecovery")),
        ((READY_IN_TIME, runs(false("PodsReady", "PodsReady"))), late("WaitForStart")),
        ((runs(recovering(0)),), []),
    ],
)
def test_what_has_to_happen_to_who_holds_quota(told: tuple[AnyEvent, ...], said: list[Decision]) -> None:
    assert Room(*told).step() == said


@pytest.mark.parametrize(
    ("checks", "said"),
    [
        (("a",), evicted("AdmissionCheck", 'Evicted due to AdmissionCheck in Retry state: "a" (no room)')),
        (
            ("a", "b"),
            evicted("AdmissionCheck", 'Evicted due to AdmissionChecks in Retry state: "a" (no room); "b" (no room)'),
        ),
    ],
)
def test_the_checks_that_ask_for_another_try_are_all_told(checks: tuple[str, ...], said: list[Decision]) -> None:
    room = Room(checks=tuple(CheckRule(name=name) for name in checks))
    room.tell(submitted(reserved=True, checks=tuple(replace(RETRIED, name=name) for name in checks)))
    assert room.step() == said


@pytest.mark.parametrize(("limit", "count", "stops"), [(None, 1000, False), (3, 2, False), (3, 3, True), (0, 0, True)])
def test_after_so_many_tries_as_the_limit_says_a_workload_is_deactivated(
    limit: int | None, count: int, *, stops: bool
) -> None:
    rule = PodsReadyRule(timeout=30 * SECOND, backoff_limit=limit)
    room = Room(settings(pods_ready=rule))
    (said,) = room.tell(submitted(reserved=True, admitted_at=MINUTE, requeue=(count, None))).step()
    assert isinstance(said, DeactivationOrdered) is stops
    assert stops or (isinstance(said, EvictionOrdered) and said.requeue_count == count + 1)


@pytest.mark.parametrize(
    ("since", "unsettled"),
    [
        ((), False),
        ((WorkloadDeactivated(workload=KEY, cause="Why", message=""),), True),
        ((BackoffSet(workload=KEY, count=3),), True),
        ((BackoffSet(workload=KEY, count=0, until=2 * NOW),), True),
    ],
)
def test_who_is_inactive_and_stopped_waits_for_nothing_any_more(
    since: tuple[AnyEvent, ...], *, unsettled: bool
) -> None:
    told = submitted(replace(SPEC, active=False), reserved=True, admitted_at=MINUTE, owner=JOB)
    room = Room(told, *evicted("Deactivated", ""), *since)
    assert room.step() == ([DeactivationSettled(workload=KEY)] if unsettled else [])


def test_an_eviction_lets_quota_go_only_when_the_pods_of_that_eviction_are_gone() -> None:
    room = Room(runs())
    room.tell(WorkloadSwitched(workload=KEY, active=False)).step()
    assert room.told("Evicted") is not None and room.step() == []
    room.tell(PodsGone(workload=KEY, decision=f"LOG_0/{room.workload.stops.stopped_by}"))
    assert [type(one) for one in room.step()] == [QuotaReleased]


def test_a_queue_that_requires_other_checks_binds_who_has_the_same_list_but_was_let_in_under_another() -> None:
    room = Room(submitted(reserved=True))
    assert room.steps() == []
    for names in (("a",), ("a", "b"), ("b",), ()):
        checks = tuple(CheckRule(name=name) for name in names)
        room.tell(ClusterQueueObserved(name="cq", namespaces=LabelSelector(), checks=checks))
        assert room.step() == [ChecksRequired(workload=KEY, checks=names)]
        assert room.workload.admission is not None and room.workload.admission.required_checks == names
        assert room.steps() == []


def test_a_condition_that_is_not_true_stops_nobody() -> None:
    unknown = Condition(type="Evicted", status=ConditionStatus.UNKNOWN, reason="Preempted", message="", since=0)
    assert Room(runs(unknown)).step() == []


@pytest.mark.parametrize(
    ("known", "moves"),
    [(None, True), (NOW + 90 * SECOND - 1, True), (NOW + 90 * SECOND, False), (NOW + 91 * SECOND, False)],
)
def test_a_check_that_asks_for_a_later_try_moves_the_back_off_forward_and_never_back(
    known: int | None, *, moves: bool
) -> None:
    room = Room(checks=(CheckRule(name="a"),))
    later = check("a", CheckState.RETRY, since=NOW, after=90 * SECOND)
    (said,) = room.tell(submitted(reserved=True, checks=(later,), requeue=(2, known))).step()
    assert (said == BackoffSet(workload=KEY, count=2, until=NOW + 90 * SECOND)) is moves


@pytest.mark.parametrize("state", [CheckState.PENDING, CheckState.READY])
def test_a_check_that_does_not_ask_for_another_try_moves_no_back_off(state: CheckState) -> None:
    room = Room(checks=(CheckRule(name="a"),))
    assert room.tell(submitted(reserved=True, checks=(check("a", state, since=NOW, after=MINUTE),))).steps() == []
    assert room.workload.stops.requeue.at is None


SPENT = Budget(period=BudgetPeriod.DAY, limits={"cpu": 0})
PENDING, PASSED = check("money", CheckState.PENDING), check("money", CheckState.READY)


def with_budget(limit: Budget | None, *flavors: str) -> tuple[AnyEvent, ...]:
    """A queue with the built-in check, for these flavors alone or for all."""
    rules = (CheckRule(name="money", flavors=flavors), CheckRule(name="other", flavors=flavors))
    return (
        AdmissionCheckObserved(name="money", controller=CONTROLLER),
        AdmissionCheckObserved(name="other", controller="somebody.else"),
        ClusterQueueObserved(name="cq", namespaces=LabelSelector(), checks=rules, budget=limit, groups=GROUPS),
    )


OTHER = check("other", CheckState.PENDING)


@pytest.mark.parametrize(
    ("told", "says"),
    [
        ((*with_budget(SPENT), submitted(reserved=True, checks=(PENDING, OTHER))), "BudgetExhausted"),
        ((*with_budget(SPENT), submitted(reserved=True, checks=(PASSED, OTHER))), "BudgetExhausted"),
        ((*with_budget(SPENT), submitted(reserved=True, checks=(PASSED, OTHER), admitted_at=MINUTE)), None),
        ((*with_budget(SPENT, "g"), submitted(reserved=True)), None),
        ((*with_budget(None), submitted(reserved=True, checks=(PENDING, OTHER))), "Within the budget"),
        ((*with_budget(None), submitted(reserved=True, checks=(PASSED, OTHER))), None),
    ],
)
def test_a_budget_binds_who_waits_for_its_check_and_nobody_else(told: tuple[AnyEvent, ...], says: str | None) -> None:
    said = Room(*told).step()
    match said:
        case [QuotaReleased(withdrawn=True, reason=reason, message=message)]:
            assert reason == says and message.startswith("The budget of ClusterQueue cq is used up")
        case [CheckSettled(check=CheckStatus(name="money", state=CheckState.READY, since=since, message=message))]:
            assert (message, since) == (says, NOW)
        case _:
            assert (said, says) == ([], None)
