"""Whether the head that was tried last in a queue had victims that others of the cycle took."""

import msgspec
import pytest

from events.admission import AdmissionRefused, PreemptionRequested, QuotaReserved, Recomputation, RequeueReason
from events.catalogue import AnyEvent
from events.control import ObjectRemoved
from events.workload import WorkloadDeleted, WorkloadFinished, WorkloadParked, WorkloadQueued
from projections.counters.counted_so_far import CountedSoFar
from projections.counters.queue_counters import QueueCounters
from tests.stories.small_world import job


def refused(workload: str, *, skipped: bool, recomputed: Recomputation = Recomputation.NONE) -> AdmissionRefused:
    return AdmissionRefused(
        workload=workload,
        cluster_queue="cq",
        requeue=RequeueReason.FAILED_AFTER_NOMINATION,
        reason="WaitingForQuota",
        message="",
        skipped=skipped,
        recomputed=recomputed,
    )


def skipped() -> QueueCounters:
    counters = QueueCounters()
    for event in (job("a"), WorkloadQueued(workload="team/a", cluster_queue="cq"), refused("team/a", skipped=True)):
        counters.fold(event, 1)
    assert counters.skipped.gauge == {"cq": 1}
    return counters


@pytest.mark.parametrize(
    "event",
    [
        refused("team/a", skipped=False),
        refused("team/b", skipped=False),
        QuotaReserved(workload="team/a", cluster_queue="cq", assignments=()),
        PreemptionRequested(workload="team/b", cluster_queue="cq", assignments=(), victims=()),
        WorkloadDeleted(workload="team/a"),
        WorkloadFinished(workload="team/a", reason="Succeeded"),
        WorkloadParked(workload="team/a", cluster_queue="cq", reason="Inadmissible"),
    ],
    ids=lambda event: f"{type(event).__name__} of {event.workload}",
)
def test_none_is_skipped_any_more_once_the_queue_is_tried_otherwise_or_who_was_skipped_has_left(
    event: AnyEvent,
) -> None:
    counters = skipped()
    counters.fold(event, 2)
    assert counters.skipped.gauge == {"cq": 0}


def test_what_becomes_of_another_workload_changes_nothing() -> None:
    counters = skipped()
    for event in (job("b"), WorkloadQueued(workload="team/b", cluster_queue="cq"), WorkloadDeleted(workload="team/b")):
        counters.fold(event, 2)
    assert counters.skipped.gauge == {"cq": 1}


def test_a_queue_that_is_gone_has_no_gauge() -> None:
    counters = skipped()
    counters.fold(ObjectRemoved(kind="ClusterQueue", name="cq"), 2)
    assert counters.skipped.gauge == {}


def test_repeated_searches_count_by_what_came_of_them() -> None:
    counters = skipped()
    counters.fold(refused("team/a", skipped=False, recomputed=Recomputation.SKIPPED), 2)
    counters.fold(refused("team/a", skipped=False, recomputed=Recomputation.SKIPPED), 3)
    counters.fold(refused("team/a", skipped=False), 4)
    assert counters.counts["kueue_preemption_target_recomputations_total", "cq", "skipped"] == 2


def test_what_was_stored_goes_on_and_what_is_taken_back_never_was() -> None:
    stored = msgspec.json.decode(msgspec.json.encode(skipped().so_far().skipped), type=dict[str, str])
    counters = QueueCounters()
    counters.begin_at(msgspec.structs.replace(QueueCounters().so_far(), skipped=stored))
    assert counters.skipped.gauge == {"cq": 1}
    assert isinstance(counters.so_far(), CountedSoFar)
    counters.settle()
    counters.fold(refused("team/a", skipped=False), 2)
    assert counters.skipped.gauge == {"cq": 0}
