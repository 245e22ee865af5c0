"""On a divided log a workload is counted by the partition that decides about it, and by no other that hears of it."""

import msgspec

from events.admission import QuotaReserved, WorkloadAdmitted
from events.partition_map import PartitionMapObserved
from events.workload import PodsReady, WorkloadDeleted, WorkloadFinished, WorkloadQueued
from projections.counters.counted_so_far import CountedSoFar
from projections.counters.queue_counters import QueueCounters
from tests.stories.small_world import job

KEY = "team/a"
CREATED = ("kueue_workload_creation_latency_seconds", "Job")
ENDED = ("kueue_finished_workloads_total", "cq", "")
QUEUED = WorkloadQueued(workload=KEY, cluster_queue="cq")
FINISHED = WorkloadFinished(workload=KEY, reason="Succeeded")


def of_partition(name: str) -> QueueCounters:
    counters = QueueCounters(name)
    counters.fold(PartitionMapObserved(partitions=2), 5)
    counters.fold(job("a", at=10), 30)
    return counters


def created(counters: QueueCounters) -> int:
    found = counters.times.get(CREATED)
    return 0 if found is None else sum(found.counts)


def test_what_is_only_heard_of_counts_nothing_and_leaves_nothing() -> None:
    counters = of_partition("LOG_1")
    for fact in (PodsReady(workload=KEY, ready=True), FINISHED, WorkloadDeleted(workload=KEY)):
        counters.fold(fact, 40)
    assert not counters.counts and not created(counters)
    so_far = counters.so_far()
    assert not so_far.undecided and not so_far.courses


def test_with_the_first_decision_about_it_its_creation_counts_as_it_was_told() -> None:
    counters = of_partition("LOG_1")
    stored = msgspec.json.encode(counters.so_far())
    begun = QueueCounters("LOG_1")
    begun.begin_at(msgspec.json.decode(stored, type=CountedSoFar))
    for one in (counters, begun):
        one.fold(QUEUED, 900, 1)
        one.fold(FINISHED, 950)
        assert one.times[CREATED].total == 20 and one.counts[ENDED] == 1


def test_what_was_there_before_the_map_is_counted_by_the_first_partition() -> None:
    first, other = QueueCounters("LOG_0"), QueueCounters("LOG_1")
    for counters in (first, other):
        counters.fold(job("a", at=10), 30)
        counters.fold(PartitionMapObserved(partitions=2), 35)
        counters.fold(FINISHED, 40)
    assert created(first) == 1 and sum(first.counts.values()) == 2, "by cluster queue and by local queue"
    assert not created(other) and not other.counts and not other.so_far().courses


def test_what_moved_into_another_partition_is_counted_there_from_then_on() -> None:
    counters = of_partition("LOG_0")
    counters.fold(QUEUED, 40, 1)
    counters.fold(QuotaReserved(workload=KEY, cluster_queue="cq", assignments=()), 50, 2)
    counters.fold(WorkloadAdmitted(workload=KEY, cluster_queue="cq"), 50, 2)
    before = dict(counters.counts)
    counters.let_go({"team"})
    counters.fold(FINISHED, 60)
    assert counters.counts == before and not counters.so_far().courses
