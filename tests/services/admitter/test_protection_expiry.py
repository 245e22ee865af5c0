from msgspec.structs import replace

from events.admission import AdmissionRefused, PreemptionRequested, WorkloadAdmitted
from events.preemption import PreemptionOrdered, PreemptionRefused
from events.quota import AdmissionCheckObserved, CheckRule, ClusterQueueObserved
from events.upkeep import ChecksRequired
from events.workload import WorkloadQueued
from projections.preemption.protection_by_time import begin_protection
from projections.snapshot import tables_of, world_of
from services.admitter.decide import Admitter
from services.preemptor.decide import Preemptor
from services.queue_manager.decide import QueueManager
from services.runtime.partition.host import Decider
from tests.stories.small_world import Story, job, platform


def one_runs(**rules: int) -> Story:
    facts = [
        replace(fact, preemption=replace(fact.preemption, **rules)) if isinstance(fact, ClusterQueueObserved) else fact
        for fact in platform(nominal=1, cards=1)
    ]
    told = Story().told(*facts, job("low"))
    told.decided()
    return told


def ordered(told: Story) -> list[str]:
    return [event.workload for event in told.decided() if isinstance(event, PreemptionOrdered)]


def test_who_waits_for_the_end_of_a_minimum_run_time_preempts_as_soon_as_it_is_over() -> None:
    told = one_runs(minimum_runtime=60_000)
    said = told.told(job("high", priority=9)).decided()
    assert [event.reason for event in said if isinstance(event, AdmissionRefused)] == ["WaitingForQuota"]
    due = told.world.next_deadline()
    assert due is not None
    told.at = due - 1
    assert ordered(told) == []
    told.at = due
    assert ordered(told) == ["team/low"]


def test_who_waits_for_the_end_of_a_cool_down_preempts_as_soon_as_it_is_over() -> None:
    told = one_runs(cooldown=60_000)
    low = told.world.workloads["team/low"]
    told.world.put_workload(replace(low, stops=replace(low.stops, preempted_at=told.at)))
    due = told.at + 60_000
    begin_protection(told.world, told.world.workloads["team/low"])
    told.told(job("high", priority=9))
    assert ordered(told) == []
    assert told.world.next_deadline() == due
    told.at = due - 1
    assert ordered(told) == []
    told.at = due
    assert ordered(told) == ["team/low"]


def test_who_waits_is_tried_again_when_the_queue_heeds_marks_no_more() -> None:
    facts = platform(nominal=1, cards=1)
    told = Story().told(*facts, replace(job("low"), spec=replace(job("low").spec, never_preempt=True)))
    told.decided()
    said = told.told(job("high", priority=9)).decided()
    assert [event.reason for event in said if isinstance(event, AdmissionRefused)] == ["WaitingForQuota"]
    queue = next(fact for fact in facts if isinstance(fact, ClusterQueueObserved))
    told.told(replace(queue, preemption=replace(queue.preemption, marks_ignored=True)))
    assert ordered(told) == ["team/low"]


def test_the_end_of_a_protection_is_not_forgotten_by_a_snapshot() -> None:
    told = one_runs(minimum_runtime=60_000)
    told.told(job("high", priority=9)).decided()
    told.world.settle()
    due = told.world.next_deadline()
    told.world = world_of(tables_of(told.world))
    told.decided()
    assert due is not None
    assert told.world.next_deadline() == due
    told.at = due
    assert ordered(told) == ["team/low"]


def one_holds_all_of_a_full_queue(*deciders: Decider) -> Story:
    """A queue that takes one workload, which waits for its check, and is protected for a minute from its admission on."""
    facts = [
        replace(
            fact,
            checks=(CheckRule(name="ready"),),
            max_concurrent=1,
            preemption=replace(fact.preemption, minimum_runtime=60_000),
        )
        if isinstance(fact, ClusterQueueObserved)
        else fact
        for fact in platform(nominal=2, cards=2)
    ]
    told = Story(unchecked=True).told(
        *facts, AdmissionCheckObserved(name="ready", controller="example.com/controller"), job("low")
    )
    told.deciders = list(deciders) or told.deciders
    told.decided()
    return told


def test_who_is_refused_its_victim_as_that_is_protected_from_its_admission_on_is_told_so_at_once() -> None:
    facts = [
        replace(fact, checks=(CheckRule(name="ready"),), preemption=replace(fact.preemption, minimum_runtime=60_000))
        if isinstance(fact, ClusterQueueObserved)
        else fact
        for fact in platform(nominal=1, cards=1)
    ]
    told = Story(unchecked=True).told(
        *facts, AdmissionCheckObserved(name="ready", controller="example.com/controller"), job("low")
    )
    told.deciders = [QueueManager(), Admitter()]
    told.decided()
    told.told(job("high", priority=9)).decided()
    told.told(WorkloadAdmitted(workload="team/low", cluster_queue="cq"))
    told.deciders.append(Preemptor())
    told.decided()
    said = [
        type(one)
        for one in told.decisions
        if "team/high" in (getattr(one, "workload", ""), getattr(one, "preemptor", ""))
    ]
    assert said == [ChecksRequired, WorkloadQueued, PreemptionRequested, PreemptionRefused, AdmissionRefused]


def test_who_asked_for_room_in_a_full_queue_is_told_so_when_its_victim_is_admitted_and_protected() -> None:
    told = one_holds_all_of_a_full_queue(QueueManager(), Admitter())
    asked = told.told(job("high", priority=9)).decided()
    assert any(isinstance(one, PreemptionRequested) for one in asked)
    told.told(WorkloadAdmitted(workload="team/low", cluster_queue="cq"))
    assert [(one.workload, one.message) for one in told.decided() if isinstance(one, AdmissionRefused)] == [
        ("team/high", "ClusterQueue cq already has its maximum of 1 workloads")
    ]


def test_who_fits_nowhere_is_told_of_the_full_queue_as_soon_as_its_holder_is_protected() -> None:
    """No time passes between its refusal and the admission by which nobody may be asked for room any more."""
    told = one_holds_all_of_a_full_queue()
    (refused,) = (
        one for one in told.told(job("high", priority=9, count=9)).decided() if isinstance(one, AdmissionRefused)
    )
    assert refused.reason == "ExceedsMaxQuota"
    told.at -= 10
    told.told(WorkloadAdmitted(workload="team/low", cluster_queue="cq"))
    assert [(one.workload, one.message) for one in told.decided() if isinstance(one, AdmissionRefused)] == [
        ("team/high", "ClusterQueue cq already has its maximum of 1 workloads")
    ]


def test_who_may_have_fewer_pods_waits_for_a_victim_that_its_own_preemption_would_protect() -> None:
    facts = [
        replace(fact, preemption=replace(fact.preemption, cooldown=90_000))
        if isinstance(fact, ClusterQueueObserved)
        else fact
        for fact in platform(nominal=2, cards=2)
    ]
    told = Story().told(*facts, job("low"), job("kept", priority=99))
    told.decided()
    high = job("high", count=2, priority=9)
    fewer = replace(high.spec, pod_sets=tuple(replace(one, minimum=1) for one in high.spec.pod_sets))
    said = told.told(replace(high, spec=fewer)).decided()
    assert [one.workload for one in said if isinstance(one, PreemptionOrdered)] == ["team/low"]
    assert [one for one in said if isinstance(one, AdmissionRefused)] == []
