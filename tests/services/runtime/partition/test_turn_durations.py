"""Turns of deciders are told by author and whether they decided anything, and those of the admitter as attempts."""

from typing import Any, cast

import pytest

from events.admission import PreemptionRequested, QuotaReserved, WorkloadAdmitted
from events.catalogue import AnyEvent
from events.workload import WorkloadQueued
from services.runtime.partition.turn_durations import Turns


class HandClock:
    def __init__(self) -> None:
        self.at = 1_000

    def now(self) -> int:
        return self.at


RESERVED = QuotaReserved(workload="team/a", cluster_queue="cq", assignments=())
REQUESTED = PreemptionRequested(workload="team/b", cluster_queue="cq", assignments=(), victims=())
ADMITTED = WorkloadAdmitted(workload="team/a", cluster_queue="cq")
QUEUED = WorkloadQueued(workload="team/a", cluster_queue="cq")


def test_a_turn_falls_into_the_bucket_of_its_author_and_of_whether_it_decided_anything() -> None:
    clock = HandClock()
    turns = Turns(cast(Any, clock))
    for author, took, events in (("admitter", 7, [RESERVED]), ("admitter", 3, []), ("preemptor", 11_000, [REQUESTED])):
        began = turns.begun()
        clock.at += took
        turns.ended(author, began, events)
    assert {key: (one.counts.index(1), one.total) for key, one in turns.took.items()} == {
        ("admitter", "decided"): (1, 7),
        ("admitter", "nothing"): (0, 3),
        ("preemptor", "decided"): (11, 11_000),
    }


@pytest.mark.parametrize(
    ("author", "events", "attempts"),
    [
        ("admitter", [REQUESTED, RESERVED], ["success"]),
        ("admitter", [REQUESTED], ["inadmissible"]),
        ("admitter", [ADMITTED], []),
        ("queue-manager", [QUEUED], []),
    ],
)
def test_an_attempt_is_a_turn_of_the_admitter_in_which_anybody_was_tried(
    author: str, events: list[AnyEvent], attempts: list[str]
) -> None:
    turns = Turns(cast(Any, HandClock()))
    turns.ended(author, turns.begun(), events)
    assert list(turns.attempts) == attempts
