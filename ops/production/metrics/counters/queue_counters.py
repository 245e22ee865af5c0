"""Kueue's counters and histograms as Prometheus metrics, all partitions together, and how much was said on each."""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from prometheus_client.core import Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Exemplar

from ops.production.metrics.families import by_name, counter, gauge, histogram, in_seconds
from ops.production.metrics.names import ATTEMPTS, KUEUE, MetricKind
from projections.counters.counted_so_far import Series
from projections.counters.histogram import HOURS, Histogram, Observation
from projections.counters.queue_counters import WASTED, QueueCounters
from projections.counters.series import BOUNDS, COMMITS, EVENTS
from projections.counters.skipped_heads import SKIPS


def _untraced(uid: str) -> str:
    del uid
    return ""


class Counted(Protocol):
    """Who has counted."""

    def ahead(self) -> AbstractContextManager[Mapping[str, QueueCounters]]:
        """What was counted by partition, as of now."""
        ...


class _Told:
    """What is exported of the counters of a partition, or of several together: it never gets smaller, but for queues that are gone."""

    def __init__(self) -> None:
        self._dropped = 0
        self.counts: dict[Series, int] = {}
        self.times: dict[Series, Histogram] = {}
        self.latest: dict[Series, dict[int, Observation]] = {}

    def note(self, counters: QueueCounters) -> None:
        """What was counted by now."""
        if counters.dropped != self._dropped:
            self._dropped = counters.dropped
            self.counts, self.times, self.latest = {}, {}, {}
        for series, count in counters.counts.items():
            self.counts[series] = max(count, self.counts.get(series, 0))
        for series, times in counters.times.items():
            told = self.times.get(series)
            if told is None or sum(times.counts) >= sum(told.counts):
                self.times[series] = times
        for (series, bucket), seen in counters.latest.items():
            if series in self.times:
                self.latest.setdefault(series, {})[bucket] = seen


def summed(parts: Collection[_Told]) -> _Told:
    """What is exported of all partitions together; of each bucket the workload that was counted there last."""
    if len(parts) == 1:
        return next(iter(parts))
    found = _Told()
    for part in parts:
        for series, count in part.counts.items():
            found.counts[series] = found.counts.get(series, 0) + count
        for series, times in part.times.items():
            before = found.times.get(series)
            found.times[series] = times if before is None else before.plus(times)
        for series, latest in part.latest.items():
            known = found.latest.setdefault(series, {})
            for bucket, seen in latest.items():
                if bucket not in known or known[bucket].at < seen.at:
                    known[bucket] = seen
    return found


class CounterMetrics(Collector):
    """Collects what was counted up to now; nothing before everything is folded that was there at the start.

    Facts that no decision has given their place yet are counted along, so that what happened last is told although nothing was
    decided since. Should such a fact come to mean less in its place, what was told stays until the rest has caught up with it: a
    counter that went back would be taken for one that began anew.
    """

    def __init__(self, followers: Counted, trace_of: Callable[[str], str] = _untraced) -> None:
        self._followers, self._trace_of = followers, trace_of
        self._told: dict[str, _Told] = {}
        """By partition."""
        self._skips: dict[str, int] = {}

    def collect(self) -> Iterator[Metric]:
        """All that are told, also those of which nothing was counted yet."""
        with self._followers.ahead() as found:
            if not found:
                return
            self._skips = {}
            for partition, counters in found.items():
                self._told.setdefault(partition, _Told()).note(counters)
                self._skips |= counters.skipped.gauge
        everything = summed(self._told.values())
        counts, times = by_name(everything.counts), by_name(everything.times)
        for one in KUEUE:
            if one.kind is MetricKind.COUNTER:
                rows = [(series[1:], everything.counts[series]) for series in counts.get(one.name, ())]
                yield counter(one.name, rows)
            elif one.kind is MetricKind.HISTOGRAM and one.name != ATTEMPTS:
                bounds = BOUNDS.get(one.name, HOURS)
                series = times.get(one.name, ())
                exemplars = {s[1:]: self._exemplars(everything.latest.get(s, {})) for s in series}
                yield histogram(one.name, bounds, [(s[1:], everything.times[s]) for s in series], exemplars)
        yield gauge(SKIPS, [((name,), count) for name, count in self._skips.items()])
        yield counter(WASTED, [(s[1:], everything.counts[s]) for s in counts.get(WASTED, ())])
        for name in (COMMITS, EVENTS):
            rows = [
                ((partition, *series[1:]), count)
                for partition, told in self._told.items()
                for series, count in told.counts.items()
                if series[0] == name
            ]
            yield counter(name, rows)

    def _exemplars(self, latest: Mapping[int, Observation]) -> dict[int, Exemplar]:
        """By bucket the workload that was counted there last, and its trace where that is exported."""
        found: dict[int, Exemplar] = {}
        for bucket, seen in latest.items():
            traced = self._trace_of(seen.uid)
            labels = ({"trace_id": traced} if traced else {}) | {"workload_uid": seen.uid}
            found[bucket] = Exemplar(labels, in_seconds(seen.took), in_seconds(seen.at))
        return found
