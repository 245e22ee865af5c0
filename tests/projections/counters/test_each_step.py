"""What is counted at each step of a workload's life, told event by event with its time."""

import msgspec

from events.admission import QuotaReserved, WorkloadAdmitted
from events.catalogue import AnyEvent, Fact
from events.commit import Sighting
from events.control import ObjectRemoved
from events.object_version import ObjectVersion
from events.quota import ClusterQueueObserved, CohortObserved
from events.settings import PodsReadyRule, SettingsObserved
from events.workload import (
    CheckReported,
    CheckStatus,
    EvictionOrdered,
    PodsReady,
    QuotaReleased,
    WorkloadDeleted,
    WorkloadFinished,
    WorkloadRequeued,
)
from projections.counters.counted_so_far import CountedSoFar
from projections.counters.queue_counters import QueueCounters
from tests.stories.small_world import job

KEY = "team/a"
RESERVED = QuotaReserved(workload=KEY, cluster_queue="cq", assignments=())
ADMITTED = WorkloadAdmitted(workload=KEY, cluster_queue="cq")
TIMED_OUT = EvictionOrdered(workload=KEY, reason="PodsReadyTimeout")
RELEASED = QuotaReleased(workload=KEY, reason="PodsReadyTimeout")


def counted(*told: tuple[int, AnyEvent]) -> QueueCounters:
    """What is counted of a job that was created at 0, after events with their times."""
    counters = QueueCounters()
    counters.fold(job("a"), 0)
    for at, event in told:
        counters.fold(event, at, sequence=at)
    return counters


def waited(counters: QueueCounters) -> int:
    return counters.times["kueue_quota_reserved_wait_time_seconds", "cq", ""].total


def test_who_was_put_back_waits_since_then_and_not_since_it_was_said_again() -> None:
    stopped = ((10, RESERVED), (20, TIMED_OUT), (30, RELEASED))
    again = (40, WorkloadRequeued(workload=KEY, allowed=False, reason="PodsReadyTimeout"))
    allowed = (50, WorkloadRequeued(workload=KEY, allowed=True, reason="BackoffFinished"))
    assert waited(counted(*stopped, again, (100, RESERVED))) == 10 + 70
    assert waited(counted(*stopped, again, allowed, (100, RESERVED))) == 10 + 50


def test_who_was_preempted_may_queue_at_once_and_waits_since_its_quota_was_free() -> None:
    preempted = EvictionOrdered(workload=KEY, reason="Preempted")
    released = QuotaReleased(workload=KEY, reason="Preempted")
    told_again = WorkloadRequeued(workload=KEY, allowed=True, reason="Preempted")
    assert waited(counted((10, RESERVED), (20, preempted), (30, released), (40, told_again), (100, RESERVED))) == 80


def test_quota_that_was_taken_back_before_admission_begins_no_new_wait_and_was_no_eviction() -> None:
    withdrawn = QuotaReleased(workload=KEY, reason="Pending", withdrawn=True)
    assert waited(counted((10, RESERVED), (20, withdrawn), (50, RESERVED))) == 10 + 50
    counters = counted((10, RESERVED), (20, TIMED_OUT), (30, RELEASED), (40, RESERVED), (50, withdrawn))
    latency = counters.times["kueue_workload_eviction_latency_seconds", "cq", "PodsReadyTimeout"]
    assert (sum(latency.counts), latency.total) == (1, 10)


def test_who_is_stopped_for_a_second_reason_is_on_the_way_out_since_the_first() -> None:
    switched_off = EvictionOrdered(workload=KEY, reason="Deactivated")
    counters = counted((10, RESERVED), (20, TIMED_OUT), (25, switched_off), (40, RELEASED))
    assert counters.times["kueue_workload_eviction_latency_seconds", "cq", "Deactivated"].total == 20
    assert ("kueue_workload_eviction_latency_seconds", "cq", "PodsReadyTimeout") not in counters.times


def test_a_workload_is_evicted_once_for_each_reason_however_often_it_is_evicted() -> None:
    rounds = [
        (at + 100 * turn, event)
        for turn in range(3)
        for at, event in ((10, RESERVED), (15, ADMITTED), (20, TIMED_OUT), (30, RELEASED))
    ]
    counters = counted(*rounds)
    assert counters.counts["kueue_evicted_workloads_total", "cq", "PodsReadyTimeout", "", ""] == 3
    assert counters.counts["kueue_evicted_workloads_once_total", "cq", "PodsReadyTimeout", "", ""] == 1


def test_who_holds_no_quota_is_not_evicted() -> None:
    counters = counted((10, TIMED_OUT))
    assert not [series for series in counters.counts if "evicted" in series[0]]


def test_checks_are_waited_for_only_where_there_are_any() -> None:
    check = CheckReported(workload=KEY, check=CheckStatus(name="slow"))
    series = ("kueue_admission_checks_wait_time_seconds", "cq", "")
    assert counted((5, check), (10, RESERVED), (30, ADMITTED)).times[series].total == 20
    assert series not in counted((10, RESERVED), (30, ADMITTED)).times


def test_pods_are_ready_once_in_each_attempt_and_only_where_it_is_waited_for_them() -> None:
    ready, not_ready = PodsReady(workload=KEY, ready=True), PodsReady(workload=KEY, ready=False)
    rule = (1, SettingsObserved(pods_ready=PodsReadyRule(timeout=1)))
    attempt = ((10, RESERVED), (20, ADMITTED), (50, ready), (60, ready), (70, TIMED_OUT), (80, RELEASED))
    series = ("kueue_admitted_until_ready_wait_time_seconds", "cq", "")
    counters = counted(rule, (5, ready), *attempt, (90, ready), (110, RESERVED), (120, ADMITTED), (130, ready))
    assert (sum(counters.times[series].counts), counters.times[series].total) == (2, 30 + 10)
    lost = counters.times["kueue_pods_ready_to_evicted_time_seconds", "cq", "PodsReadyTimeout", ""]
    assert (sum(lost.counts), lost.total) == (1, 20)
    again = counted(rule, (10, RESERVED), (20, ADMITTED), (50, ready), (55, not_ready), (60, ready))
    assert sum(again.times[series].counts) == 2
    assert series not in counted(*attempt).times


def test_an_end_that_is_told_twice_is_counted_once_with_the_time_since_the_first_admission() -> None:
    over = WorkloadFinished(workload=KEY, reason="Succeeded")
    attempts = ((10, RESERVED), (20, ADMITTED), (30, TIMED_OUT), (40, RELEASED), (50, RESERVED), (60, ADMITTED))
    counters = counted(*attempts, (90, over), (95, over))
    assert counters.counts["kueue_finished_workloads_total", "cq", ""] == 1
    assert counters.times["kueue_execution_time_seconds", "cq", ""].total == 70


def test_an_admission_counts_in_every_cohort_above_as_they_stand_and_once_in_a_circle() -> None:
    tree = (
        (1, ClusterQueueObserved(name="cq", cohort="low")),
        (2, CohortObserved(name="low", parent="high")),
        (3, CohortObserved(name="high", parent="top")),
        (4, CohortObserved(name="top", parent="low")),
    )
    name = "kueue_cohort_subtree_admitted_workloads_total"
    counts = counted(*tree, (10, RESERVED), (20, ADMITTED)).counts
    assert {series: count for series, count in counts.items() if series[0] == name} == {
        (name, "low", ""): 1,
        (name, "high", ""): 1,
        (name, "top", ""): 1,
    }
    removed = (5, ObjectRemoved(kind="Cohort", namespace="", name="high"))
    counts = counted(*tree, removed, (10, RESERVED), (20, ADMITTED)).counts
    assert (name, "top", "") not in counts and counts[name, "high", ""] == 1
    removed = (5, ObjectRemoved(kind="ClusterQueue", namespace="", name="cq"))
    assert (name, "low", "") not in counted(*tree, removed, (10, RESERVED), (20, ADMITTED)).counts


def test_what_is_known_of_versions_is_stored_so_that_a_late_fact_is_not_counted_after_a_start() -> None:
    def seen(number: int, fact: Fact, *, gone: bool = False) -> Sighting:
        about = ObjectVersion(kind="Job", namespace="team", name="a", version=number, gone=gone)
        return Sighting(id=str(number), at=number, author="watcher", about=about, fact=fact)

    counters = QueueCounters()
    counters.fold_sighting(seen(5, job("a")))
    counters.fold_sighting(seen(7, WorkloadDeleted(workload=KEY), gone=True))
    stored = msgspec.json.encode(counters.so_far())
    begun = QueueCounters()
    begun.begin_at(msgspec.json.decode(stored, type=CountedSoFar))
    for one in (counters, begun):
        one.fold_sighting(seen(6, job("a")))
        assert sum(one.times["kueue_workload_creation_latency_seconds", "Job"].counts) == 1


def test_of_a_workload_that_is_gone_nothing_is_counted() -> None:
    counters = counted((10, WorkloadDeleted(workload=KEY)), (20, RESERVED), (30, ADMITTED))
    assert not counters.counts


def test_pods_of_an_earlier_attempt_lose_nothing_when_a_later_one_is_stopped_before_it_runs() -> None:
    ready = PodsReady(workload=KEY, ready=True)
    first = ((10, RESERVED), (20, ADMITTED), (50, ready), (70, TIMED_OUT), (80, RELEASED))
    counters = counted(*first, (110, RESERVED), (115, TIMED_OUT))
    lost = counters.times["kueue_pods_ready_to_evicted_time_seconds", "cq", "PodsReadyTimeout", ""]
    assert sum(lost.counts) == 1
