"""Jobs that somebody lets run or stops beside what was decided: the applier looks at them at once."""

from msgspec.structs import replace

from events.application import DecisionApplied
from events.quota import AdmissionCheckObserved, CheckRule, ClusterQueueObserved
from events.workload import (
    AdoptedStatus,
    Condition,
    ConditionStatus,
    JobUnsuspended,
    Member,
    MemberState,
    Owner,
    PodSetAssignment,
    PodsGone,
    WorkloadChanged,
    WorkloadOwned,
)
from services.applier.plan import plan
from tests.stories.small_world import GPU, Story, job, platform

KEY = "team/a"


def shown(*, let_in: bool) -> Story:
    """A job of which the cluster shows all that was decided."""
    told = Story().told(*platform(nominal=1 if let_in else 0), job("a"))
    told.decided()
    assert told.world.workloads[KEY].admitted is let_in
    tell_applied(told)
    return told


def tell_applied(told: Story) -> None:
    workload = told.world.workloads[KEY]
    told.told(DecisionApplied(workload=KEY, partition="LOG_0", sequence=workload.decided, seen=workload.seen))
    assert not plan(told.world, "LOG_0", [KEY])


def test_who_waits_and_is_let_run_is_stopped_at_once() -> None:
    told = shown(let_in=False)
    told.told(JobUnsuspended(workload=KEY, generation=2))
    (application,) = plan(told.world, "LOG_0", [KEY])
    assert application.job == "a" and not application.run and not application.aside
    tell_applied(told)


def test_who_was_let_in_and_is_stopped_runs_on_at_once() -> None:
    told = shown(let_in=True)
    told.told(PodsGone(workload=KEY, decision=f"LOG_0/{told.world.workloads[KEY].decided}"))
    (application,) = plan(told.world, "LOG_0", [KEY])
    assert application.run and not application.aside
    assert told.decided() == [], "it keeps its quota"
    tell_applied(told)


def test_a_job_that_comes_to_an_object_which_another_log_had_let_in_runs() -> None:
    """As on a worker whose log was lost between the admission of a copy and its job."""
    told = Story().told(*platform(nominal=1))
    conditions = [
        Condition(type=kind, status=ConditionStatus.TRUE, reason=kind, message="", since=5)
        for kind in ("QuotaReserved", "Admitted")
    ]
    held = PodSetAssignment(name="main", count=1, flavors={GPU: "v100"}, usage={GPU: 1})
    adopted = AdoptedStatus(conditions=tuple(conditions), cluster_queue="cq", assignments=(held,))
    asked = job("a")
    told.told(replace(asked, owner=None, adopted=adopted))
    assert told.decided() == [] and not plan(told.world, "LOG_0", [KEY])
    assert asked.owner is not None
    told.told(WorkloadOwned(workload=KEY, owner=asked.owner))
    (application,) = plan(told.world, "LOG_0", [KEY])
    assert application.job == "a" and application.run
    tell_applied(told)


def test_a_pod_that_waits_and_is_let_through_by_hand_is_ended_and_those_at_the_gate_are_not() -> None:
    told = Story().told(*platform(nominal=0))
    asked = job("a")
    owner = Owner(kind="PodGroup", api_version="v1", name="a", uid="a")
    gated = Member(name="a-0", uid="0", pod_set="main")
    live = Member(name="a-1", uid="1", pod_set="main", state=MemberState.LIVE)
    told.told(replace(asked, owner=owner, spec=replace(asked.spec, members=(gated, gated)))).decided()
    tell_applied(told)
    told.told(WorkloadChanged(workload=KEY, spec=replace(asked.spec, members=(gated, live))))
    (application,) = plan(told.world, "LOG_0", [KEY])
    assert application.never_let_in and not application.run and not application.aside
    assert application.why == ("NotAdmitted", "Not admitted by cluster queue")
    tell_applied(told)


def test_a_pod_that_holds_quota_and_is_let_through_by_hand_before_its_checks_are_ready_is_ended() -> None:
    queues = [
        replace(one, checks=(CheckRule(name="slow"),)) if isinstance(one, ClusterQueueObserved) else one
        for one in platform()
    ]
    told = Story().told(*queues, AdmissionCheckObserved(name="slow", controller="x"))
    asked = job("a")
    owner = Owner(kind="Pod", api_version="v1", name="a", uid="a")
    gated = Member(name="a", uid="0", pod_set="main")
    told.told(replace(asked, owner=owner, spec=replace(asked.spec, members=(gated,)))).decided()
    assert told.world.workloads[KEY].reserved and not told.world.workloads[KEY].admitted
    tell_applied(told)
    live = replace(gated, state=MemberState.LIVE)
    told.told(WorkloadChanged(workload=KEY, spec=replace(asked.spec, members=(live,))))
    (application,) = plan(told.world, "LOG_0", [KEY])
    assert application.never_let_in and not application.run and not application.aside
    assert application.why == ("NotAdmitted", "Not admitted by cluster queue")
    tell_applied(told)


def test_a_job_that_still_stands_by_an_earlier_decision_is_looked_at_again() -> None:
    """It may have been stopped while it was let in, seen by nobody: whoever was to start it found it running."""
    told = shown(let_in=True)
    told.told(PodsGone(workload=KEY, decision="LOG_0/1"))
    (application,) = plan(told.world, "LOG_0", [KEY])
    assert application.run and not application.aside
    tell_applied(told)


def test_a_stop_of_an_attempt_before_the_last_is_no_reason_to_look() -> None:
    told = shown(let_in=True)
    workload = told.world.workloads[KEY]
    told.world.put_workload(replace(workload, stops=replace(workload.stops, stopped_by=1)))
    told.told(PodsGone(workload=KEY, decision="LOG_0/0"))
    assert not plan(told.world, "LOG_0", [KEY])
