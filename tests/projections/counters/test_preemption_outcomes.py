"""A preemption is wasted when who it was ordered for goes without quota, and not before that is known."""

import msgspec
import pytest

from events.catalogue import AnyEvent
from events.preemption import PreemptionWasted
from events.slices import WorkloadSliceDropped
from events.upkeep import DiscardReason, WorkloadDiscarded, WorkloadFailedToStart
from events.workload import EvictionOrdered, WorkloadDeactivated, WorkloadDeleted, WorkloadFinished
from projections.counters.counted_so_far import CountedSoFar
from projections.counters.queue_counters import WASTED, QueueCounters
from tests.projections.counters.counted_story import CountedStory
from tests.stories.small_world import job, platform

SERIES = WASTED, "cq", "InClusterQueue"
GONE = (
    WorkloadDeleted(workload="team/urgent"),
    WorkloadFinished(workload="team/urgent", reason="Succeeded"),
    WorkloadDiscarded(workload="team/urgent", reason=DiscardReason.FINISHED),
    WorkloadFailedToStart(workload="team/urgent", message="no such image"),
    EvictionOrdered(workload="team/urgent", reason="Deactivated", message=""),
    WorkloadDeactivated(workload="team/urgent", cause=""),
    PreemptionWasted(preemptor="team/urgent", victims=(), reason="ClaimExpired"),
)


def begun() -> CountedStory:
    """A workload makes room for one that is more urgent."""
    story = CountedStory().told(*platform(nominal=1, cards=1), job("a"))
    story.decided()
    story.told(job("urgent", priority=9)).decided()
    assert story.counters.counts["kueue_preempted_workloads_total", "cq", "InClusterQueue"] == 1
    return story


@pytest.mark.parametrize("gone", GONE, ids=lambda event: type(event).__name__)
def test_who_goes_before_it_gets_quota_has_others_preempted_for_nothing(gone: AnyEvent) -> None:
    story = begun()
    assert SERIES not in story.counters.counts
    story.counters.fold(gone, story.at)
    assert story.counters.counts[SERIES] == 1
    story.counters.fold(gone, story.at)
    assert story.counters.counts[SERIES] == 1, "once"


def test_who_got_quota_has_made_use_of_it_whatever_becomes_of_it_later() -> None:
    story = begun().left()
    story.told(WorkloadDeleted(workload="team/urgent")).decided()
    assert SERIES not in story.counters.counts


def test_what_a_dropped_slice_has_asked_for_is_asked_for_by_the_one_that_waits() -> None:
    counters = begun().counters
    counters.fold(WorkloadSliceDropped(workload="team/urgent", by="team/next", message=""), 1)
    assert SERIES not in counters.counts
    counters.fold(WorkloadDeleted(workload="team/next"), 2)
    assert counters.counts[SERIES] == 1


def test_what_is_not_known_yet_is_stored_with_what_was_counted() -> None:
    story = begun()
    stored = msgspec.json.decode(msgspec.json.encode(story.counters.so_far()), type=CountedSoFar)
    again = QueueCounters()
    again.begin_at(stored)
    again.fold(WorkloadDeleted(workload="team/urgent"), story.at)
    assert again.counts[SERIES] == 1


def test_what_is_taken_back_has_settled_nothing() -> None:
    counters = begun().counters
    with counters.trail.trial():
        counters.fold(WorkloadDeleted(workload="team/urgent"), 1)
        assert counters.counts[SERIES] == 1
    assert SERIES not in counters.counts
    counters.fold(WorkloadDeleted(workload="team/urgent"), 1)
    assert counters.counts[SERIES] == 1
