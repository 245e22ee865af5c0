"""Kueue's counters and histograms as Prometheus metrics, and how much was said on the partition of the queues."""

from collections.abc import Callable, Iterator

from prometheus_client.core import Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Exemplar

from ops.production.metrics.counters.follower import CountersFollower
from ops.production.metrics.families import by_name, counter, gauge, histogram, in_seconds
from ops.production.metrics.names import ATTEMPTS, KUEUE, MetricKind
from projections.counters.counted_so_far import Series
from projections.counters.histogram import HOURS, Histogram, Observation
from projections.counters.queue_counters import COMMITS, EVENTS, WASTED, QueueCounters
from projections.counters.series import BOUNDS
from projections.counters.skipped_heads import SKIPS


def _untraced(uid: str) -> str:
    del uid
    return ""


class CounterMetrics(Collector):
    """Collects what was counted up to now; nothing before everything is folded that was there at the start.

    Facts that no decision has given their place yet are counted along, so that what happened last is told although nothing was
    decided since. Should such a fact come to mean less in its place, what was told stays until the rest has caught up with it: a
    counter that went back would be taken for one that began anew.
    """

    def __init__(self, follower: CountersFollower, trace_of: Callable[[str], str] = _untraced) -> None:
        self._follower, self._trace_of = follower, trace_of
        self._counts: dict[Series, int] = {}
        self._times: dict[Series, Histogram] = {}
        self._latest: dict[Series, dict[int, Observation]] = {}
        self._skips: dict[str, int] = {}

    def collect(self) -> Iterator[Metric]:
        """All that are told, also those of which nothing was counted yet."""
        with self._follower.ahead() as counters:
            if counters is None:
                return
            self._note(counters)
        counts, times = by_name(self._counts), by_name(self._times)
        for one in KUEUE:
            if one.kind is MetricKind.COUNTER:
                rows = [(series[1:], self._counts[series]) for series in counts.get(one.name, ())]
                yield counter(one.name, rows)
            elif one.kind is MetricKind.HISTOGRAM and one.name != ATTEMPTS:
                bounds = BOUNDS.get(one.name, HOURS)
                found = times.get(one.name, ())
                exemplars = {s[1:]: self._exemplars(s) for s in found}
                yield histogram(one.name, bounds, [(s[1:], self._times[s]) for s in found], exemplars)
        yield gauge(SKIPS, [((name,), count) for name, count in self._skips.items()])
        yield counter(WASTED, [(s[1:], self._counts[s]) for s in counts.get(WASTED, ())])
        for name in (COMMITS, EVENTS):
            yield counter(name, [((self._follower.partition, *s[1:]), self._counts[s]) for s in counts.get(name, ())])

    def _note(self, counters: QueueCounters) -> None:
        self._skips = counters.skipped.gauge
        for series, count in counters.counts.items():
            self._counts[series] = max(count, self._counts.get(series, 0))
        for series, times in counters.times.items():
            told = self._times.get(series)
            if told is None or sum(times.counts) >= sum(told.counts):
                self._times[series] = times
        for (series, bucket), seen in counters.latest.items():
            if series in self._times:
                self._latest.setdefault(series, {})[bucket] = seen

    def _exemplars(self, series: Series) -> dict[int, Exemplar]:
        """By bucket the workload that was counted there last, and its trace where that is exported."""
        found: dict[int, Exemplar] = {}
        for bucket, seen in self._latest.get(series, {}).items():
            traced = self._trace_of(seen.uid)
            labels = ({"trace_id": traced} if traced else {}) | {"workload_uid": seen.uid}
            found[bucket] = Exemplar(labels, in_seconds(seen.took), in_seconds(seen.at))
        return found
