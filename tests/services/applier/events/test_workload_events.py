"""What is told of a workload in Kueue's words, and what of it is told at all when there is no time."""

import asyncio

from msgspec.structs import replace

from events.admission import AdmissionRefused, RequeueReason
from events.json_object import JsonObject
from events.workload import (
    CheckState,
    CheckStatus,
    Condition,
    ConditionStatus,
    Member,
    MemberState,
    Owner,
    WorkloadSpec,
)
from ops.production.kubernetes.absent import AbsentCluster
from ops.production.process.clock import ScaledClock
from projections.workloads.lifecycle import Admission, Workload
from projections.workloads.stops import Stops
from services.applier.events.cluster_events import ClusterEvent
from services.applier.events.event_recorder import EventRecorder
from services.applier.events.workload_events import (
    checks_told,
    created,
    finished,
    started,
    stopped,
    updated,
    workload_events,
)
from services.applier.writes.low_priority_writes import LowPriorityWrites
from services.runtime.cluster_port import Resource

TRUE, FALSE = ConditionStatus.TRUE, ConditionStatus.FALSE
WAITS = Workload(
    key="team/w",
    uid="u",
    owner=Owner(kind="Job", name="j", uid="uj"),
    created_at=10_000,
    generation=1,
    spec=WorkloadSpec(queue="lq", pod_sets=()),
    decided=3,
)


def conditions(**reasons: tuple[ConditionStatus, str, str]) -> dict[str, Condition]:
    return {
        kind: Condition(type=kind, status=status, reason=reason, message=message, since=40_000)
        for kind, (status, reason, message) in reasons.items()
    }


RESERVED = Admission(cluster_queue="cq", assignments=(), reservation=4, reserved_at=42_400)
ADMITTED = replace(
    WAITS,
    admission=RESERVED,
    admitted_at=45_000,
    decided=5,
    conditions=conditions(Admitted=(TRUE, "Admitted", ""), QuotaReserved=(TRUE, "QuotaReserved", "")),
)


def said(workload: Workload) -> list[tuple[str, str, bool]]:
    return [(one.reason, one.message, one.warning) for one in workload_events(workload)]


def test_who_is_let_in_hears_where_and_how_long_it_took() -> None:
    assert said(ADMITTED) == [
        ("QuotaReserved", "Quota reserved in ClusterQueue cq, wait time since queued was 32s", False),
        ("Admitted", "Admitted by ClusterQueue cq, wait time since reservation was 3s", False),
    ]
    requeued = {**ADMITTED.conditions, **conditions(Requeued=(TRUE, "BackoffFinished", ""))}
    first = said(replace(ADMITTED, conditions=requeued))[0]
    assert first[1].endswith("since queued was 2s"), "since it might queue again"


def test_what_was_shown_is_not_told_again() -> None:
    assert [one[0] for one in said(replace(ADMITTED, applied=4))] == ["Admitted"], "its checks were not ready before"
    assert said(replace(ADMITTED, applied=5)) == []


def test_why_a_workload_waits_is_a_warning_under_its_reason() -> None:
    waits = replace(WAITS, conditions=conditions(QuotaReserved=(FALSE, "WaitingForQuota", "2 more needed")))
    assert said(waits) == [("WaitingForQuota", "2 more needed", True)]
    (first,), (again,) = list(workload_events(waits)), list(workload_events(replace(waits, decided=9)))
    assert first.sequence == again.sequence, "each reason once, for its words change with every attempt"
    in_line = replace(WAITS, conditions=conditions(QuotaReserved=(FALSE, "PendingEvaluation", "")))
    assert said(in_line) == [] and said(WAITS) == []


def test_of_who_is_set_inactive_or_gated_no_warning_comes_though_it_was_tried_before() -> None:
    tried = AdmissionRefused(
        workload=WAITS.key,
        cluster_queue="cq",
        requeue=RequeueReason.GENERIC,
        reason="WaitingForQuota",
        message="2 more needed",
    )
    inactive = conditions(QuotaReserved=(FALSE, "Deactivated", "The workload is deactivated"))
    gated = conditions(QuotaReserved=(FALSE, "AdmissionGated", "Admission is gated by: example.com/gate"))
    for known in (inactive, gated):
        assert said(replace(WAITS, conditions=known)) == said(replace(WAITS, conditions=known, attempt=tried)) == []
    blocked = conditions(QuotaReserved=(FALSE, "AdmissionGated", "Workload requires preemption, but it's gated"))
    assert [one[0] for one in said(replace(WAITS, conditions=blocked, attempt=tried))] == ["AdmissionGated"]


def test_a_job_hears_what_is_done_to_it() -> None:
    told = [*created(ADMITTED, 1), *started(ADMITTED, (), 1), *finished(ADMITTED, 1)]
    assert [(one.kind, one.name, one.reason, one.message) for one in told] == [
        ("Job", "j", "CreatedWorkload", "Created Workload: team/w"),
        ("Job", "j", "Started", "Admitted by clusterQueue cq"),
        ("Job", "j", "FinishedWorkload", "Workload 'team/w' is declared finished"),
    ]
    evicted = replace(
        ADMITTED, stops=Stops(stopped_by=7), conditions=conditions(Evicted=(TRUE, "Preempted", "made room"))
    )
    assert [one.message for one in (*stopped(evicted, 1), *stopped(WAITS, 1))] == [
        "made room",
        "Not admitted by cluster queue",
    ]


def test_pods_of_a_group_hear_it_themselves() -> None:
    pods = tuple(
        Member(name=name, uid=f"u-{name}", pod_set="r", state=state)
        for name, state in (("a", MemberState.OVER), ("b", MemberState.GATED))
    )
    spec = replace(ADMITTED.spec, members=pods)
    group = replace(ADMITTED, owner=Owner(kind="PodGroup", name="g", uid="x", api_version="v1"), spec=spec)
    assert [(one.kind, one.name, one.uid) for one in started(group, ("b",), 1)] == [("Pod", "b", "u-b")]
    assert [one.name for one in created(group, 1)] == ["b"], "there is no object of the group's own"


class Written(AbsentCluster):
    """Takes Events, one at a time when it is told to."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.news = asyncio.Event()

    async def create(self, resource: Resource, namespace: str, value: JsonObject) -> JsonObject:
        self.events.append(value["message"])
        self.news.set()
        return value

    async def until(self, count: int) -> None:
        while len(self.events) < count:
            self.news.clear()
            await self.news.wait()


def notice(message: str, *, warning: bool = False) -> ClusterEvent:
    return ClusterEvent(
        api_version="v1",
        kind="Pod",
        namespace="team",
        name="p",
        uid="u",
        identity=message,
        at=0,
        reason="R",
        message=message,
        warning=warning,
    )


async def test_warnings_go_first_and_of_too_many_the_oldest_are_lost() -> None:
    cluster, clock = Written(), ScaledClock(1000)
    notices = EventRecorder(cluster, LowPriorityWrites(clock), clock)
    for number in range(1200):
        notices.record(notice(str(number)))
    notices.record(notice("bad", warning=True), notice("bad", warning=True))
    task = asyncio.create_task(notices.run())
    await asyncio.wait_for(cluster.until(1001), 30)
    task.cancel()
    assert cluster.events[:2] == ["bad", "200"] and notices.dropped == 200
    notices.record(notice("1199"))
    assert len(cluster.events) == 1001, "what was told lately is not told again"


async def test_others_are_told_only_while_nothing_else_is_written() -> None:
    cluster, clock = Written(), ScaledClock(1000)
    spare = LowPriorityWrites(clock)
    notices = EventRecorder(cluster, spare, clock)
    task = asyncio.create_task(notices.run())
    with spare.first():
        notices.record(notice("hint"), notice("bad", warning=True))
        await asyncio.wait_for(cluster.until(1), 30)
        for _ in range(5):
            async with spare.turn():
                assert cluster.events == ["bad"]
    await asyncio.wait_for(cluster.until(2), 30)
    task.cancel()
    assert cluster.events == ["bad", "hint"]


def test_what_checks_say_that_are_pending_is_told_of_the_job_once_for_each_wording() -> None:
    checks = {
        name: CheckStatus(name=name, state=state, message=message)
        for name, state, message in (
            ("a", CheckState.READY, "done"),
            ("b", CheckState.PENDING, "in an hour"),
            ("c", CheckState.PENDING, ""),
            ("d", CheckState.PENDING, "asked"),
        )
    }
    waits = replace(WAITS, admission=RESERVED, checks=checks)
    (event,) = checks_told(waits, 7)
    assert (event.kind, event.reason, event.message) == ("Job", "UpdatedAdmissionCheck", "b: in an hour; d: asked")
    assert [one.digest for one in checks_told(replace(waits, decided=9), 8)] == [event.digest]
    assert not [*checks_told(replace(WAITS, checks=checks), 7)], "it has no quota"
    assert not [*checks_told(replace(ADMITTED, checks=checks), 7)], "it runs"
    assert not [*checks_told(replace(waits, checks={"c": checks["c"]}), 7)]


def test_each_change_of_what_a_workload_asks_for_is_told_of_its_job() -> None:
    told = [*updated(WAITS, ("one", "other"), 7)]
    assert [(one.kind, one.reason, one.message) for one in told] == [
        ("Job", "UpdatedWorkload", "one"),
        ("Job", "UpdatedWorkload", "other"),
    ]
    assert told[0].digest != told[1].digest


def test_each_slice_of_a_job_is_told_to_be_made_and_none_that_another_replaces_to_have_ended() -> None:
    first = replace(WAITS, conditions=conditions(Finished=(TRUE, "WorkloadSliceReplaced", "")))
    second = replace(WAITS, key="team/w+1")
    made = [event for one in (first, second) for event in created(one, 7)]
    assert [one.message for one in made] == ["Created Workload: team/w", "Created Workload: team/w+1"]
    assert made[0].digest != made[1].digest
    assert not [*finished(first, 9)]
    assert [*finished(replace(second, conditions=conditions(Finished=(TRUE, "Succeeded", ""))), 9)]
