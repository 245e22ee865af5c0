"""What is exported of counters from one scrape to the next."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from events.control import ObjectRemoved
from ops.production.metrics.counters.queue_counters import CounterMetrics
from projections.counters.queue_counters import QueueCounters
from tests.projections.counters.counted_story import CountedStory
from tests.stories.small_world import job, platform

ADMITTED = "kueue_admitted_workloads"


class One:
    """One partition is counted."""

    def __init__(self, counters: QueueCounters) -> None:
        self._counters = counters

    @contextmanager
    def ahead(self) -> Iterator[Mapping[str, QueueCounters]]:
        yield {"LOG_0": self._counters}


def exported(metrics: CounterMetrics) -> dict[str, float]:
    """By cluster queue, how many were admitted."""
    family = next(one for one in metrics.collect() if one.name == ADMITTED)
    return {one.labels["cluster_queue"]: one.value for one in family.samples if one.name == f"{ADMITTED}_total"}


def test_a_queue_that_comes_after_one_of_its_name_begins_at_0() -> None:
    story = CountedStory().told(*platform(nominal=2, cards=2), job("a"), job("b"))
    story.decided()
    metrics = CounterMetrics(One(story.counters))
    assert exported(metrics) == {"cq": 2}
    story.counters.fold(ObjectRemoved(kind="ClusterQueue", name="cq"), story.at)
    assert exported(metrics) == {}
    story.counters.fold(ObjectRemoved(kind="ClusterQueue", name="cq"), story.at)
    story.counters.counts["kueue_admitted_workloads_total", "cq", ""] = 1
    assert exported(metrics) == {"cq": 1}


def test_what_means_less_in_its_place_is_told_as_before_until_the_rest_has_caught_up() -> None:
    story = CountedStory().told(*platform(nominal=2, cards=2), job("a"), job("b"))
    story.decided()
    metrics = CounterMetrics(One(story.counters))
    assert exported(metrics) == {"cq": 2}
    story.counters.counts["kueue_admitted_workloads_total", "cq", ""] = 1
    assert exported(metrics) == {"cq": 2}
