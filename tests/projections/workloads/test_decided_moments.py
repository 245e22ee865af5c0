"""A status of ours that comes late is not another manager's word, for who pays and for what is counted either."""

import pytest

from events.admission import AdmissionRefused, QuotaReserved, WorkloadAdmitted
from events.application import DecisionApplied
from events.catalogue import AnyEvent
from events.control import ResourceVersionsRestarted
from events.event import Millis
from events.workload import (
    AdoptedStatus,
    Condition,
    ConditionStatus,
    DecidedElsewhere,
    EvictionOrdered,
    PodSetAssignment,
    QuotaReleased,
    WorkloadQueued,
    WorkloadSpec,
    WorkloadSubmitted,
)
from projections.billing.ledger import Ledger
from projections.counters.queue_counters import QueueCounters
from projections.log_position import LogPosition
from projections.workloads.decided_moments import DecidedEvent, DecidedMoments

MINUTE: Millis = 60_000
KEY = "team/w"
GIVEN = PodSetAssignment(name="main", count=1, flavors={"cpu": "default"}, usage={"cpu": 1000})
SUBMITTED = WorkloadSubmitted(workload=KEY, uid="u", created_at=0, spec=WorkloadSpec(queue="main", pod_sets=()))
QUEUED = WorkloadQueued(workload=KEY, cluster_queue="cq")
REFUSED = AdmissionRefused(
    workload=KEY, cluster_queue="cq", requeue="NoFit", reason="WaitingForQuota", message="nothing is free"
)
RESERVED = QuotaReserved(workload=KEY, cluster_queue="cq", assignments=(GIVEN,))
ADMITTED = WorkloadAdmitted(workload=KEY, cluster_queue="cq")
EVICTED = EvictionOrdered(workload=KEY, reason="Preempted", message="")
RELEASED = QuotaReleased(workload=KEY, reason="Preempted", message="")
STORY: tuple[AnyEvent, ...] = (
    SUBMITTED,
    QUEUED,
    REFUSED,
    *((RESERVED, EVICTED, RELEASED, QUEUED) * 3),
    RESERVED,
    ADMITTED,
)
"""One event a minute; it was let in and stopped again and again while nothing was written."""


class Folds:
    """The folds that hear everything and keep no conditions."""

    def __init__(self) -> None:
        self.ledger, self.counters, self.minute = Ledger(), QueueCounters(), 0
        self.hear(*STORY)

    def hear(self, *events: AnyEvent) -> None:
        for event in events:
            facts = not isinstance(event, DecidedEvent | WorkloadAdmitted)
            at, position = self.minute * MINUTE, self.minute + 1
            partition = "FACTS" if facts else "LOG_0"
            self.ledger.fold(event, LogPosition(partition=partition, sequence=position, at=at))
            self.counters.fold(event, at, position)
            self.minute += 1

    @property
    def holds(self) -> tuple[bool, bool]:
        """Whether it is charged for quota, and counted as admitted."""
        quota, counted = self.ledger.quota, self.counters.so_far().courses[KEY]
        quota.settle(self.minute * MINUTE)
        before = sum(quota.held.values())
        self.minute += 1
        quota.settle(self.minute * MINUTE)
        return sum(quota.held.values()) > before, counted.admitted_at is not None


def elsewhere(minute: int, version: int = 9) -> DecidedElsewhere:
    since = minute * MINUTE
    false = Condition(
        type="QuotaReserved", status=ConditionStatus.FALSE, reason="Pending", message="", since=since, generation=1
    )
    return DecidedElsewhere(workload=KEY, version=version, status=AdoptedStatus(conditions=(false,)))


@pytest.mark.parametrize("minute", [1, 2, 5, 9, 13])
def test_what_the_log_has_decided_any_number_of_turns_before_takes_nothing_from_who_runs(minute: int) -> None:
    folds = Folds()
    assert folds.holds == (True, True)
    folds.hear(elsewhere(minute))
    assert folds.holds == (True, True)


def test_what_the_log_has_never_decided_counts() -> None:
    folds = Folds()
    folds.hear(elsewhere(90))
    assert folds.holds == (False, False)


def test_what_was_taken_over_once_takes_nothing_when_it_is_told_again() -> None:
    folds = Folds()
    folds.hear(elsewhere(90), QUEUED, RESERVED, ADMITTED)
    assert folds.holds == (True, True)
    folds.hear(elsewhere(90))
    assert folds.holds == (True, True)


def test_once_the_object_shows_the_last_reservation_what_was_decided_before_it_is_forgotten() -> None:
    folds = Folds()
    folds.hear(DecisionApplied(workload=KEY, partition="LOG_0", sequence=3, version=4), elsewhere(2))
    assert folds.holds == (True, True)
    folds.hear(DecisionApplied(workload=KEY, partition="LOG_0", sequence=len(STORY), version=5), elsewhere(2))
    assert folds.holds == (False, False)


def test_what_the_object_was_before_it_showed_the_last_decision_says_nothing_when_it_is_told_late() -> None:
    """A watcher that was listing meanwhile, or was cut off from the bus, tells it behind what was written since."""
    folds = Folds()
    folds.hear(
        DecisionApplied(workload=KEY, partition="LOG_0", sequence=len(STORY), version=5), elsewhere(2, version=5)
    )
    assert folds.holds == (True, True)
    folds.hear(EVICTED, RELEASED, QUEUED, RESERVED, ADMITTED, elsewhere(2, version=5))
    assert folds.holds == (True, True)
    folds.hear(elsewhere(2, version=6))
    assert folds.holds == (False, False)


def test_versions_that_begin_anew_are_not_held_against_those_from_before() -> None:
    folds = Folds()
    folds.hear(DecisionApplied(workload=KEY, partition="LOG_0", sequence=len(STORY), version=50))
    folds.hear(ResourceVersionsRestarted(epoch=1, kind="Job", listed=4, known=50), elsewhere(2, version=5))
    assert folds.holds == (False, False)


def test_who_is_refused_again_and_again_takes_no_more_room() -> None:
    moments = DecidedMoments()
    for sequence in range(1, 100):
        moments = moments.noted(QUEUED, sequence * MINUTE, sequence).noted(REFUSED, sequence * MINUTE, sequence)
    assert moments.seconds == (60, 60)
