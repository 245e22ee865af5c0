"""Counts and histograms by name and labels, to which something is added and from which the last can be taken back."""

from collections.abc import Iterable

from events.catalogue import AnyEvent
from events.control import ObjectRemoved
from events.event import Millis
from projections.counters.counted_so_far import Series
from projections.counters.course import Course, name_and_namespace
from projections.counters.gone_queues import GoneQueues, Queue
from projections.counters.histogram import (
    HOURS,
    LONGER,
    SECONDS,
    SHORT,
    Bounds,
    Histogram,
    Observation,
    bucket_of,
    empty,
)
from projections.trail import Trail

COMMITS, EVENTS = "kuelog_commits_total", "kuelog_events_total"
"""By author, and by author and type, of the one partition that is folded: its name is put in front where they are exported."""
GATE_REMOVAL = "kueue_pod_scheduling_gate_removal_seconds"
BOUNDS: dict[str, Bounds] = {
    GATE_REMOVAL: SECONDS,
    "kueue_admission_wait_time_seconds": LONGER,
    "kueue_execution_time_seconds": LONGER,
    "kueue_local_queue_execution_time_seconds": LONGER,
    "kueue_workload_creation_latency_seconds": SHORT,
}
"""Of histograms whose buckets are others than `HOURS`."""
_OF_LOCAL_QUEUES, _OF_COHORTS = "kueue_local_queue_", "kueue_cohort_subtree_admitted_workloads_total"
_HAVE_SERIES = frozenset({"ClusterQueue", "Cohort", "LocalQueue"})
_OF_NO_QUEUE = frozenset(
    {
        "kueue_admission_attempts_total",
        "kueue_workload_creation_latency_seconds",
        COMMITS,
        EVENTS,
    }
)


class CountedSeries:
    """What was counted and how long it took, by series."""

    def __init__(self, trail: Trail) -> None:
        self._trail = trail
        self.counts: dict[Series, int] = {}
        self.times: dict[Series, Histogram] = {}
        self.latest: dict[tuple[Series, int], Observation] = {}
        """The last observation of a workload in each bucket, since this was made: an example of what is counted there."""
        self.dropped = 0
        """For how many queues and cohorts that are gone series were dropped, since this was made."""
        self.gone = GoneQueues(trail)

    def count(self, *series: str) -> None:
        """One more, by name and labels; none of a queue that is gone."""
        if self._is_gone(series):
            return
        self._trail.put(self.counts, series, self.counts.get(series, 0) + 1)

    def took(self, name: str, took: Millis, *labels: str) -> None:
        """One more duration of something, by name and labels; none of a queue that is gone."""
        series, bounds = (name, *labels), BOUNDS.get(name, HOURS)
        if self._is_gone(series):
            return
        before = self.times.get(series) or empty(bounds)
        self._trail.put(self.times, series, before.observed(bounds, took))

    def count_both(self, what: str, course: Course, *labels: str) -> None:
        """Of a cluster queue, and of the local queue that leads to it."""
        self.count(f"kueue_{what}", course.cluster_queue, *labels)
        self.count(f"kueue_local_queue_{what}", *name_and_namespace(course), *labels)

    def took_both(self, what: str, course: Course, since: Millis, at: Millis) -> None:
        """How long something took of a workload, by its queues and priority class, with itself as the latest example."""
        seen = Observation(course.uid, max(at - since, 0), at)
        cluster = (f"kueue_{what}", course.cluster_queue, course.priority_class)
        local = (f"kueue_local_queue_{what}", *name_and_namespace(course), course.priority_class)
        for name, *labels in (cluster, local):
            self.took(name, at - since, *labels)
            if course.uid and not self._is_gone((name, *labels)):
                place = (name, *labels), bucket_of(BOUNDS.get(name, HOURS), seen.took)
                self._trail.put(self.latest, place, seen)

    def hear(self, event: AnyEvent, courses: Iterable[Course]) -> None:
        """Forget the series of a queue or a cohort that is gone: one of its name that comes later begins at 0.

        Rule: docs/metrics.md#queues-gone
        """
        self.gone.hear(event, courses)
        if not isinstance(event, ObjectRemoved) or event.kind not in _HAVE_SERIES:
            return
        owner = (event.kind, event.namespace, event.name)
        self.dropped += 1
        for series in [one for one in self.counts if _owner(one) == owner]:
            self._trail.drop(self.counts, series)
        for series in [one for one in self.times if _owner(one) == owner]:
            self._trail.drop(self.times, series)
        for place in [one for one in self.latest if _owner(one[0]) == owner]:
            self._trail.drop(self.latest, place)

    def _is_gone(self, series: Series) -> bool:
        return bool(self.gone.known) and _owner(series) in self.gone


def _owner(series: Series) -> Queue:
    """The queue or cohort that a series is of; nobody's name is empty."""
    family = series[0]
    if family.startswith(_OF_LOCAL_QUEUES):
        return "LocalQueue", series[2], series[1]
    if family == _OF_COHORTS:
        return "Cohort", "", series[1]
    if family in _OF_NO_QUEUE:
        return "", "", ""
    return "ClusterQueue", "", series[2 if family == GATE_REMOVAL else 1]
