"""A workload that the log knows, and what another manager has decided about it meanwhile: a table of both."""

from typing import NamedTuple

import pytest
from msgspec.structs import replace

from events.admission import (
    AdmissionRefused,
    PreemptionRequested,
    QuotaReserved,
    SecondPassFailed,
    Victim,
    WorkloadAdmitted,
)
from events.application import FAILED_TO_START, DecisionApplied, DecisionRejected
from events.catalogue import AnyEvent
from events.control import ResourceVersionsRestarted
from events.device import DevicesRefused
from events.pod_set import ContainerShape, PodShape
from events.preemption import RoomClaimed
from events.upkeep import DiscardReason, WorkloadDiscarded
from events.workload import (
    AdoptedStatus,
    Condition,
    DecidedElsewhere,
    EvictionCount,
    EvictionOrdered,
    Owner,
    PodSetAssignment,
    PodsGone,
    QuotaReleased,
    WorkloadFinished,
    WorkloadQueued,
    WorkloadSubmitted,
)
from projections.counters.course import course_of
from projections.snapshot import tables_of, world_of
from projections.state_hash import state_hash
from tests.services.queue_manager.waiting_room import KEY, MINUTE, SPEC, Room, false, true

OWNER = Owner(kind="Job", name="w", uid="j")
TWO = replace(SPEC, pod_sets=(replace(SPEC.pod_sets[0], count=2, minimum=1),))
HERE = PodSetAssignment(name="main", count=2, flavors={"cpu": "f"}, usage={"cpu": 2000})
THERE = PodSetAssignment(name="main", count=2, flavors={"cpu": "g"}, usage={"cpu": 2000})
FEWER = PodSetAssignment(name="main", count=1, flavors={"cpu": "f"}, usage={"cpu": 1000})

SUBMITTED: tuple[AnyEvent, ...] = (WorkloadSubmitted(workload=KEY, uid="j", created_at=0, spec=TWO, owner=OWNER),)
QUEUED = (*SUBMITTED, WorkloadQueued(workload=KEY, cluster_queue="cq"))
RESERVED = (*QUEUED, QuotaReserved(workload=KEY, cluster_queue="cq", assignments=(HERE,)))
ADMITTED = (*RESERVED, WorkloadAdmitted(workload=KEY, cluster_queue="cq"))
EVICTED = (*ADMITTED, EvictionOrdered(workload=KEY, reason="Preempted", message="by us"))
RELEASED = (
    *EVICTED,
    PodsGone(workload=KEY, decision="LOG_0/9"),
    QuotaReleased(workload=KEY, reason="Preempted", message="by us"),
)
FINISHED = (*ADMITTED, WorkloadFinished(workload=KEY, reason="Succeeded"))
LOG = {
    "submitted": SUBMITTED,
    "waits": QUEUED,
    "reserved": RESERVED,
    "admitted": ADMITTED,
    "evicted": EVICTED,
    "released": RELEASED,
    "finished": FINISHED,
}

CARDS = PodShape(containers=(ContainerShape(name="main", limits={"nvidia.com/gpu": 1}),))
REFUSED = AdmissionRefused(workload=KEY, cluster_queue="cq", requeue="NoFit", reason="WaitingForQuota", message="full")
LATER = MINUTE * 90
"""Kueue has decided half an hour after the log did."""


def shown(*conditions: Condition, held: PodSetAssignment | None = None, **more: object) -> AdoptedStatus:
    admission = {"cluster_queue": "cq", "assignments": (held,)} if held is not None else {}
    return AdoptedStatus(conditions=conditions, **admission, **more)  # pyright: ignore[reportArgumentType]


def let_in(at: int, held: PodSetAssignment) -> AdoptedStatus:
    return shown(true("QuotaReserved", "QuotaReserved", since=at), true("Admitted", "Admitted", since=at), held=held)


def put_back(at: int) -> AdoptedStatus:
    return shown(
        false("QuotaReserved", "Pending", since=at),
        false("Admitted", "NoReservation", since=at),
        true("Evicted", "Preempted", "by Kueue", since=at),
        true("Requeued", "Preempted", since=at),
        evictions=(EvictionCount(reason="Preempted", count=3),),
    )


OBJECT = {
    "waits": shown(false("QuotaReserved", "Pending", since=LATER)),
    "reserved": shown(true("QuotaReserved", "QuotaReserved", since=LATER), held=HERE),
    "admitted": let_in(LATER, HERE),
    "admitted elsewhere": let_in(LATER, THERE),
    "admitted with another count": let_in(LATER, FEWER),
    "evicted": put_back(LATER),
    "evicted, still running": shown(
        true("QuotaReserved", "QuotaReserved", since=LATER - 1),
        true("Admitted", "Admitted", since=LATER - 1),
        true("Evicted", "Preempted", "by Kueue", since=LATER),
        held=THERE,
    ),
    "let in by the log, evicted since, still running": shown(
        *let_in(MINUTE * 60, THERE).conditions, true("Evicted", "Preempted", "by Kueue", since=LATER), held=THERE
    ),
    "admitted by a clock behind ours": let_in(MINUTE, THERE),
    "what the log said itself": let_in(MINUTE * 60, THERE),
    "what the log said itself, and its pods are ready": shown(
        *let_in(MINUTE * 60, THERE).conditions, true("PodsReady", "Started", since=LATER), held=THERE
    ),
    "nothing decided": shown(),
}


class Stands(NamedTuple):
    """How a workload stands."""

    holds: str
    """The flavor and the CPU that it is charged with; empty when nothing."""
    admitted: bool
    evicted: bool
    line: str


WAITS = Stands("", admitted=False, evicted=False, line="")
PUT_BACK = Stands("", admitted=False, evicted=True, line="")
RUNS = Stands("f 2000", admitted=True, evicted=False, line="")
TAKEN = {
    "waits": WAITS,
    "reserved": Stands("f 2000", admitted=False, evicted=False, line=""),
    "admitted": RUNS,
    "admitted elsewhere": Stands("g 2000", admitted=True, evicted=False, line=""),
    "admitted with another count": Stands("f 1000", admitted=True, evicted=False, line=""),
    "admitted by a clock behind ours": Stands("g 2000", admitted=True, evicted=False, line=""),
    "evicted": PUT_BACK,
    "let in by the log, evicted since, still running": Stands("g 2000", admitted=True, evicted=True, line=""),
    "evicted, still running": Stands("g 2000", admitted=True, evicted=True, line=""),
}
KEPT = {
    "submitted": WAITS,
    "waits": Stands("", admitted=False, evicted=False, line="cq"),
    "reserved": Stands("f 2000", admitted=False, evicted=False, line=""),
    "admitted": RUNS,
    "evicted": Stands("f 2000", admitted=True, evicted=True, line=""),
    "released": PUT_BACK,
    "finished": Stands("", admitted=True, evicted=False, line=""),
}


def stands(room: Room) -> Stands:
    one = room.workload
    usage = room.world.holders("cq").usage.get(KEY) or {}
    names = room.world.quota.columns.names
    holds = " ".join(f"{names[column][0]} {amount}" for column, amount in usage.items())
    return Stands(holds, admitted=one.admitted, evicted=one.evicted, line=one.line)


@pytest.mark.parametrize("log", LOG)
@pytest.mark.parametrize("found", OBJECT)
def test_the_word_of_others_counts_and_what_the_log_has_said_itself_changes_nothing(log: str, found: str) -> None:
    room = Room().tell(*LOG[log])
    before = state_hash(room.world)
    room.at = MINUTE * 120
    room.tell(DecidedElsewhere(workload=KEY, version=9, status=OBJECT[found]))
    undecided = log in ("submitted", "waits") and found.startswith("what the log said itself")
    if log == "finished" or not (found in TAKEN or undecided):
        assert stands(room) == KEPT[log]
        assert state_hash(room.world) == before
        return
    assert stands(room) == TAKEN.get(found, TAKEN["admitted elsewhere"])
    assert room.workload.conditions == {one.type: one for one in OBJECT[found].conditions}


@pytest.mark.parametrize("log", LOG)
def test_told_twice_it_is_taken_over_once(log: str) -> None:
    room = Room().tell(*LOG[log])
    room.at = MINUTE * 120
    fact = DecidedElsewhere(workload=KEY, version=9, status=OBJECT["admitted elsewhere"])
    once = state_hash(room.tell(fact).world)
    assert state_hash(room.tell(fact).world) == once


def test_what_it_holds_is_given_back_once_it_has_ended() -> None:
    room = Room().tell(*ADMITTED)
    room.at = MINUTE * 120
    room.tell(DecidedElsewhere(workload=KEY, version=9, status=OBJECT["admitted elsewhere"]))
    room.tell(WorkloadFinished(workload=KEY, reason="Succeeded"))
    assert stands(room).holds == ""


def test_who_was_evicted_by_kueue_comes_back_in_line_with_what_kueue_has_counted() -> None:
    room = Room().tell(*ADMITTED)
    room.at = MINUTE * 120
    room.tell(DecidedElsewhere(workload=KEY, version=9, status=OBJECT["evicted"]))
    assert [one.count for one in room.workload.stops.evictions] == [3]
    assert room.steps() == [WorkloadQueued(workload=KEY, cluster_queue="cq")]


@pytest.mark.parametrize("log", [log for log in LOG if log != "finished"])
def test_an_eviction_that_kueue_has_begun_is_decided_anew_and_ends_when_the_pods_are_gone(log: str) -> None:
    room = Room().tell(*LOG[log])
    room.at = MINUTE * 120
    room.tell(DecidedElsewhere(workload=KEY, version=9, status=OBJECT["evicted, still running"]))
    (evicted,) = room.steps()
    assert evicted == EvictionOrdered(workload=KEY, reason="Preempted", message="by Kueue")
    decided = room.workload.decided
    assert decided > room.workload.applied, "so the applier stops the job and marks it"
    room.tell(DecisionApplied(workload=KEY, partition="LOG_0", sequence=decided))
    room.tell(PodsGone(workload=KEY, decision=f"LOG_0/{decided}"))
    assert room.step() == [QuotaReleased(workload=KEY, reason="Preempted", message="by Kueue")]


def test_an_eviction_is_decided_anew_with_its_cause_and_only_where_pods_of_a_job_may_run() -> None:
    stops = (
        true("QuotaReserved", "QuotaReserved", since=LATER - 1),
        true("Evicted", "DeactivatedDueToAdmissionCheck", "by Kueue", since=LATER),
    )
    runs = shown(*stops, true("Admitted", "Admitted", since=LATER - 1), held=HERE)
    anew = EvictionOrdered(workload=KEY, reason="Deactivated", cause="AdmissionCheck", message="by Kueue")
    free = QuotaReleased(workload=KEY, reason="DeactivatedDueToAdmissionCheck", message="by Kueue")
    of_no_job = WorkloadSubmitted(workload=KEY, uid="j", created_at=0, spec=TWO)
    for log, status, decided in (
        (ADMITTED, runs, [anew]),
        (ADMITTED, shown(*stops, held=HERE), [free]),
        ((of_no_job, *ADMITTED[1:]), runs, []),
    ):
        room = Room().tell(*log)
        room.at = MINUTE * 120
        room.tell(DecidedElsewhere(workload=KEY, version=9, status=status))
        assert room.step() == decided


def test_of_an_eviction_of_ours_whose_pods_were_gone_nothing_counts_for_the_one_that_kueue_has_begun() -> None:
    """Those that run again are waited for."""
    room = Room().tell(*RELEASED[:-1])
    assert room.workload.stops.pods_gone
    room.at = MINUTE * 120
    room.tell(DecidedElsewhere(workload=KEY, version=9, status=OBJECT["evicted, still running"]))
    assert (room.workload.stops.pods_gone, room.workload.stops.stopped_by) == ("", 0)


def test_what_was_tried_asked_for_and_set_aside_is_over_once_the_word_of_others_counts() -> None:
    room = Room().tell(*QUEUED, REFUSED)
    assert room.workload.attempt == REFUSED
    victim = Victim(workload="team/v", reason="InClusterQueue")
    room.tell(PreemptionRequested(workload=KEY, cluster_queue="cq", assignments=(HERE,), victims=(victim,)))
    room.tell(RoomClaimed(preemptor=KEY, cluster_queue="cq", rooms=(), until=MINUTE * 180))
    assert KEY in room.world.requests and KEY in room.world.claims
    room.at = MINUTE * 120
    room.tell(DecidedElsewhere(workload=KEY, version=9, status=OBJECT["reserved"]))
    assert room.workload.attempt is None
    assert KEY not in room.world.requests and KEY not in room.world.claims

    asks = replace(SPEC, pod_sets=(replace(SPEC.pod_sets[0], shape=CARDS),))
    job = WorkloadSubmitted(workload=KEY, uid="j", created_at=0, spec=asks, owner=OWNER)
    room = Room().tell(job, *RESERVED[1:])
    assert room.workload.admission is not None
    number = room.workload.admission.reservation
    room.tell(
        DevicesRefused(workload=KEY, reservation=number, reason="NoFit", message="no card"),
        SecondPassFailed(workload=KEY, cluster_queue="cq", again_at=MINUTE * 61, message="no rack"),
        WorkloadAdmitted(workload=KEY, cluster_queue="cq"),
    )
    decided = room.workload.decided
    room.tell(
        DecisionRejected(workload=KEY, partition="LOG_0", sequence=decided, reason=FAILED_TO_START, message="no"),
    )
    assert room.workload.devices is not None and room.workload.second_pass.failures == 1
    assert room.workload.in_cluster.start_failed == "no"
    room.at = MINUTE * 120
    room.tell(DecidedElsewhere(workload=KEY, version=9, status=OBJECT["waits"]))
    assert (room.workload.devices, room.workload.second_pass.failures) == (None, 0)
    assert room.workload.in_cluster.start_failed == ""


def test_who_was_let_in_meanwhile_waits_no_longer() -> None:
    room = Room().tell(*QUEUED)
    assert KEY in room.world.lines.of("cq").waiting
    room.tell(DecidedElsewhere(workload=KEY, version=9, status=OBJECT["admitted"]))
    assert KEY not in room.world.lines.of("cq").waiting


@pytest.mark.parametrize("shows", ["refused", "admitted", "put back"])
def test_a_write_of_ours_that_comes_long_behind_newer_decisions_is_not_the_word_of_others(shows: str) -> None:
    """What another replica, or a slow API server, lets in late shows what the log has decided two turns before."""
    steps: dict[str, tuple[AnyEvent, AdoptedStatus]] = {
        "refused": (REFUSED, shown(false("QuotaReserved", "Pending", since=MINUTE))),
        "admitted": (ADMITTED[-2], let_in(MINUTE * 2, HERE)),
        "then": (ADMITTED[-1], shown()),
        "stopped": (EVICTED[-1], shown()),
        "put back": (RELEASED[-1], put_back(MINUTE * 5)),
        "again": (ADMITTED[-2], shown()),
        "runs": (ADMITTED[-1], shown()),
    }
    room = Room().tell(*QUEUED)
    for minute, (event, _) in enumerate(steps.values(), start=1):
        room.at = MINUTE * minute
        room.tell(event)
    before = state_hash(room.world)
    room.tell(DecidedElsewhere(workload=KEY, version=9, status=steps[shows][1]))
    assert stands(room) == RUNS
    assert state_hash(room.world) == before


def test_once_the_object_shows_the_last_decision_what_was_shown_before_is_needed_no_more() -> None:
    room = Room().tell(*EVICTED)
    assert room.workload.in_cluster.earlier == ()
    room.at = MINUTE * 120
    room.tell(RELEASED[-1], *ADMITTED[-2:])
    assert room.workload.in_cluster.earlier
    room.tell(DecisionApplied(workload=KEY, partition="LOG_0", sequence=room.workload.decided, version=9))
    assert room.workload.in_cluster.earlier == ()


WAITED = shown(false("QuotaReserved", "Pending", since=MINUTE * 60))


def waited_then_runs() -> Room:
    """It was let in after it was shown to wait, and its object shows that at version 9."""
    room = Room().tell(*LOG["waits"], REFUSED)
    room.at = MINUTE * 120
    room.tell(*ADMITTED[-2:])
    room.tell(DecisionApplied(workload=KEY, partition="LOG_0", sequence=room.workload.decided, version=9))
    assert stands(room).holds
    return room


@pytest.mark.parametrize(("version", "counts"), [(8, False), (9, False), (10, True)])
def test_what_its_object_was_before_it_showed_the_last_decision_says_nothing_when_it_is_told_late(
    version: int, *, counts: bool
) -> None:
    """A watcher that was listing meanwhile, or was cut off from the bus, tells it behind what was written since."""
    room = waited_then_runs()
    told = DecidedElsewhere(workload=KEY, version=version, status=WAITED)
    assert bool(course_of(room.workload).decided.second_of_others(told)) is counts
    room.tell(told)
    assert bool(stands(room).holds) is not counts


def test_versions_that_begin_anew_are_not_held_against_those_from_before() -> None:
    room = waited_then_runs()
    room.tell(ResourceVersionsRestarted(epoch=1, kind="Workload", listed=4, known=9))
    room.tell(DecidedElsewhere(workload=KEY, version=5, status=WAITED))
    assert not stands(room).holds


@pytest.mark.parametrize("found", ["reserved", "admitted elsewhere"])
def test_a_decision_that_comes_behind_what_its_object_shows_is_charged_once(found: str) -> None:
    """In the order of the cards' partition what an object shows may be ahead of the decision that it shows."""
    room = Room().tell(*LOG["waits"])
    room.at = MINUTE * 120
    room.tell(DecidedElsewhere(workload=KEY, version=9, status=OBJECT[found]))
    room.tell(*(one for one in LOG["reserved"] if isinstance(one, QuotaReserved)))
    assert stands(room).holds == "f 2000"
    assert state_hash(room.world) == state_hash(world_of(tables_of(room.world)))


def test_what_is_to_be_taken_from_the_cluster_gets_no_quota_by_the_word_of_others() -> None:
    room = Room().tell(*RELEASED, WorkloadDiscarded(workload=KEY, reason=DiscardReason.DEACTIVATED))
    discarded = room.sequence
    room.at = MINUTE * 120
    room.tell(DecidedElsewhere(workload=KEY, version=9, status=OBJECT["admitted"]))
    assert not stands(room).holds and not room.workload.reserved
    room.tell(DecisionApplied(workload=KEY, partition="LOG_0", sequence=discarded))
    assert KEY not in room.world.workloads
    assert state_hash(world_of(tables_of(room.world))) == state_hash(room.world)
