"""Metrics as Prometheus takes them, each under a name of the list with the labels that stand there."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from types import MappingProxyType

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.samples import Exemplar
from prometheus_client.utils import floatToGoString

from events.amount import UNLIMITED
from events.event import Millis
from events.quantity import units_per_one
from ops.production.metrics.names import BY_NAME, ROLE, STANDALONE, VGPU, ZONE
from projections.counters.histogram import Bounds, Histogram

Values = tuple[str, ...]
_ALWAYS = {ROLE: STANDALONE, ZONE: VGPU}
"""What the last label always says, where a metric ends in it."""
_MILLI = 1000


def gauge(name: str, rows: Iterable[tuple[Values, float]]) -> Metric:
    """A gauge of the list; of labels that always say the same the values are left out."""
    named = BY_NAME[name]
    family = GaugeMetricFamily(name, named.meaning, labels=named.labels)
    for values, value in rows:
        family.add_metric(_all(name, values), value)
    return family


def counter(name: str, rows: Iterable[tuple[Values, int]]) -> Metric:
    """A counter by its name in the list of metrics, with a value for each row of labels."""
    named = BY_NAME[name]
    family = CounterMetricFamily(name, named.meaning, labels=named.labels)
    for values, value in rows:
        family.add_metric(_all(name, values), value)
    return family


def histogram(
    name: str,
    bounds: Bounds,
    rows: Iterable[tuple[Values, Histogram]],
    exemplars: Mapping[Values, Mapping[int, Exemplar]] = MappingProxyType({}),
) -> Metric:
    """A histogram of the list, in seconds; exemplars by the values of labels and the number of the bucket."""
    named = BY_NAME[name]
    family = HistogramMetricFamily(name, named.meaning, labels=named.labels)
    for values, value in rows:
        buckets = _buckets(bounds, value, exemplars.get(values, {}))
        family.add_metric(_all(name, values), buckets, in_seconds(value.total))
    return family


def in_units(resource: str, amount: int | None) -> float:
    """An amount as Kueue tells it: CPU in cores, all else as it is counted, and what has no bound as infinite."""
    if amount is None or amount == UNLIMITED:
        return float("inf")
    each = units_per_one(resource)
    return amount / each if each > 1 else amount


def in_seconds(duration: Millis) -> float:
    """Milliseconds as Prometheus has them."""
    return duration / _MILLI


def ratio(exact: Fraction) -> float:
    """A fraction, as near as a float comes."""
    return exact.numerator / exact.denominator


def _all(name: str, values: Values) -> Values:
    last = BY_NAME[name].labels[-1:]
    return (*values, _ALWAYS[last[0]]) if last and last[0] in _ALWAYS else values


def _buckets(
    bounds: Bounds, value: Histogram, exemplars: Mapping[int, Exemplar]
) -> list[tuple[str, float] | tuple[str, float, Exemplar]]:
    found: list[tuple[str, float] | tuple[str, float, Exemplar]] = []
    upto = 0
    for number, (bound, count) in enumerate(zip((*bounds, None), value.counts, strict=True)):
        upto += count
        le = "+Inf" if bound is None else floatToGoString(in_seconds(bound))
        exemplar = exemplars.get(number)
        found.append((le, upto) if exemplar is None else (le, upto, exemplar))
    return found


def by_name(series: Mapping[tuple[str, ...], object]) -> dict[str, list[tuple[str, ...]]]:
    """The series of each name, in order."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for one in sorted(series):
        found.setdefault(one[0], []).append(one)
    return found
