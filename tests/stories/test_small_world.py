import pytest
from msgspec.structs import replace

from events.admission import AdmissionRefused, PreemptionRequested, QuotaReserved, WorkloadAdmitted
from events.codec import encode
from events.device import DevicesReleased, DevicesReserved
from events.preemption import PreemptionOrdered
from events.quota import LocalQueueObserved, PreemptionPolicy, StopPolicy
from events.workload import (
    EvictionOrdered,
    PodsGone,
    QuotaReleased,
    WorkloadChanged,
    WorkloadFinished,
    WorkloadParked,
    WorkloadQueued,
)
from ops.queries.explaining import explain
from projections.devices.placement.gang import NOT_EVEN_IDLE
from tests.stories.small_world import Story, job, platform, queue, story


def kinds(events: list[object]) -> list[str]:
    return [type(event).__name__ for event in events]


def test_a_job_that_fits_is_queued_gets_quota_then_cards_and_is_admitted() -> None:
    said = Story().told(*platform(), job("a")).decided()
    assert kinds(list(said)) == ["WorkloadQueued", "QuotaReserved", "DevicesReserved", "WorkloadAdmitted"]


def test_a_job_that_no_card_can_hold_is_refused_with_that_reason_though_quota_would_do() -> None:
    said = Story().told(*platform(), job("giant", memory=60000)).decided()
    refused = [event for event in said if isinstance(event, AdmissionRefused)]
    assert [event.reason for event in refused] == ["ExceedsCardCapacity"]
    assert "largest free piece 32768 MiB" in refused[0].message


def test_a_job_that_must_wait_gets_in_when_another_gives_its_cards_back() -> None:
    told = Story().told(*platform(nominal=2, cards=1), job("a"), job("b"), job("c"))
    said = told.decided()
    assert [e.workload for e in said if isinstance(e, WorkloadAdmitted)] == ["team/a", "team/b"]
    later = told.told(WorkloadFinished(workload="team/a", reason="Succeeded")).decided()
    assert [e.workload for e in later if isinstance(e, DevicesReleased)] == ["team/a"]
    assert [e.workload for e in later if isinstance(e, WorkloadAdmitted)] == ["team/c"]


def test_a_higher_priority_preempts_and_the_victim_runs_again_later() -> None:
    told = Story().told(*platform(nominal=2, cards=1), job("low"), job("low-2"))
    told.decided()
    said = told.told(job("high", priority=10)).decided()
    assert [e.workload for e in said if isinstance(e, PreemptionRequested)] == ["team/high"]
    victims = [e.workload for e in said if isinstance(e, PreemptionOrdered)]
    assert victims == ["team/low"], "of two that got quota at the same time, the lower UID"
    stopped = told.world.workloads["team/low"].stops.stopped_by
    said = told.told(PodsGone(workload="team/low", decision=f"LOG_0/{stopped}")).decided()
    assert [e.workload for e in said if isinstance(e, QuotaReleased)] == ["team/low"]
    assert [e.workload for e in said if isinstance(e, QuotaReserved)] == ["team/high"]
    said = told.told(WorkloadFinished(workload="team/high", reason="Succeeded")).decided()
    assert [e.workload for e in said if isinstance(e, WorkloadAdmitted)] == ["team/low"]


def test_the_end_of_pods_that_belongs_to_an_earlier_stop_releases_nothing() -> None:
    told = Story().told(*platform(nominal=2, cards=1), job("low"), job("low-2"))
    told.decided()
    told.told(job("high", priority=10)).decided()
    assert not told.told(PodsGone(workload="team/low", decision="LOG_0/1")).decided()


@pytest.mark.parametrize("protected", [False, True])
def test_who_was_refused_is_tried_again_when_one_that_runs_gets_easier_to_preempt(*, protected: bool) -> None:
    told = Story().told(*platform(nominal=1), job("runs", priority=9))
    told.decided()
    spec = told.world.workloads["team/runs"].spec
    if protected:
        spec = replace(spec, priority=0, never_preempt=True)
        told.told(WorkloadChanged(workload="team/runs", spec=spec))
    told.told(job("waits", priority=5))
    assert [type(one) for one in told.decided()] == [WorkloadQueued, AdmissionRefused]
    told.told(WorkloadChanged(workload="team/runs", spec=replace(spec, priority=8)))
    assert told.decided() == [], "it still is not to make room"
    told.told(WorkloadChanged(workload="team/runs", spec=replace(spec, priority=4, never_preempt=False)))
    assert [one.workload for one in told.decided() if isinstance(one, PreemptionOrdered)] == ["team/runs"]


def test_borrowed_quota_is_reclaimed_by_its_owner() -> None:
    lender = queue("lender", nominal=2, reclaim=PreemptionPolicy.ANY, cohort="pool")
    told = Story().told(*platform(nominal=2, cards=2, cohort="pool"), lender)
    told.told(LocalQueueObserved(namespace="team", name="lender", cluster_queue="lender"))
    told.told(*(job(f"b{i}") for i in range(4)))
    said = told.decided()
    assert sum(1 for e in said if isinstance(e, QuotaReserved) and e.borrow_level > 0) == 2
    said = told.told(job("own", queue="lender")).decided()
    assert [e.reason for e in said if isinstance(e, PreemptionOrdered)] == ["InCohortReclamation"]


def test_a_queue_that_does_not_exist_parks_the_job_with_a_message_and_its_arrival_wakes_it() -> None:
    told = Story().told(*platform(), job("lost", queue="nowhere"))
    said = told.decided()
    assert [(e.reason, e.message) for e in said if isinstance(e, WorkloadParked)] == [
        ("Misconfigured", "LocalQueue nowhere doesn't exist")
    ]
    said = told.told(LocalQueueObserved(namespace="team", name="nowhere", cluster_queue="cq")).decided()
    assert [e.workload for e in said if isinstance(e, WorkloadQueued)] == ["team/lost"]
    assert [e.workload for e in said if isinstance(e, WorkloadAdmitted)] == ["team/lost"]


def test_more_pods_than_there_are_cards_are_told_so_and_wait_until_there_are_more() -> None:
    told = Story().told(*platform(cards=2), job("a", count=3, memory=30000), job("b", count=2))
    refused = [event for event in told.decided() if isinstance(event, AdmissionRefused)]
    assert [(event.workload, event.reason) for event in refused] == [("team/a", "WaitingForDevices")]
    assert NOT_EVEN_IDLE in refused[0].message
    why = explain(told.world, told.world.workloads["team/a"], told.at)
    assert why.waits_for == ("more cards than there are now",)
    assert told.world.workloads["team/b"].admitted
    said = told.told(*platform(cards=5)).decided()
    assert [event.workload for event in said if isinstance(event, WorkloadAdmitted)] == ["team/a"]


def test_draining_a_local_queue_evicts_what_runs() -> None:
    told = Story().told(*platform(), job("a"))
    told.decided()
    drained = LocalQueueObserved(namespace="team", name="lq", cluster_queue="cq", stop=StopPolicy.HOLD_AND_DRAIN)
    said = told.told(drained).decided()
    assert [e.reason for e in said if isinstance(e, EvictionOrdered)] == ["LocalQueueStopped"]


def test_no_card_ever_holds_more_than_it_has_and_all_come_back() -> None:
    told = story()
    assert any(isinstance(event, DevicesReserved) for event in told.decisions)
    for use in told.world.cards.used.values():
        assert use.memory <= 32768 and use.cores <= 100


def test_the_same_story_twice_says_the_same_bytes() -> None:
    assert [encode(event) for event in story().decisions] == [encode(event) for event in story().decisions]
