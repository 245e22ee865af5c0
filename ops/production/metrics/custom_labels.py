"""Labels of one's own on Kueue's metrics: which metric bears those of which object, and what they say.

Rule: docs/metrics.md#custom-labels
"""

from collections.abc import Callable, Iterator, Mapping

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from events.settings import LabelSource, MetricLabel
from ops.production.crds.definitions import GROUP
from ops.production.metrics.names import BY_NAME, Named, Whose
from projections.world import World

PREFIX, UNTRACKED = "custom_", f"{GROUP}/_UNTRACKED_VALUE_"
_QUEUE_LABELS = ("cluster_queue", "preempting_cluster_queue")
_LOCAL_QUEUE, _COHORT = ("name", "namespace"), "cohort"


class WithCustomLabels(Collector):
    """The metrics of another collector with the labels of one's own that the settings name."""

    def __init__(self, metrics: Collector, world: Callable[[], World | None]) -> None:
        self._metrics, self._world = metrics, world

    def collect(self) -> Iterator[Metric]:
        """All of them, in the same order; as they are where the settings name no such label."""
        world = self._world()
        named = () if world is None else world.settings.metric_labels
        for metric in self._metrics.collect():
            source = source_of(metric)
            here = [one for one in named if one.source is source]
            if world is not None and here:
                metric.samples = [
                    sample._replace(
                        labels={**sample.labels, **_values(here, told_of(world, here[0].source, sample.labels))}
                    )
                    for sample in metric.samples
                ]
            yield metric


def source_of(metric: Metric) -> LabelSource | None:
    """The kind of object that a metric is about; none for those about no queue or cohort, and for those that are not Kueue's."""
    named = BY_NAME.get(f"{metric.name}_total" if metric.type == "counter" else metric.name)
    return None if named is None or named.whose is not Whose.KUEUE else _source(named)


def _source(named: Named) -> LabelSource | None:
    if named.labels[: len(_LOCAL_QUEUE)] == _LOCAL_QUEUE:
        return LabelSource.LOCAL_QUEUE
    if any(label in named.labels for label in _QUEUE_LABELS):
        return LabelSource.CLUSTER_QUEUE
    return LabelSource.COHORT if _COHORT in named.labels else None


def told_of(world: World, source: LabelSource, labels: Mapping[str, str]) -> Mapping[str, str]:
    """What the object says that a sample is about; nothing where it is gone, or a cohort without an object."""
    match source:
        case LabelSource.LOCAL_QUEUE:
            found = world.local_queues.get(f"{labels['namespace']}/{labels['name']}")
        case LabelSource.CLUSTER_QUEUE:
            found = world.cluster_queues.get(next(labels[one] for one in _QUEUE_LABELS if one in labels))
        case LabelSource.COHORT:
            found = world.cohorts.get(labels[_COHORT])
    return {} if found is None else found.metric_labels


def _values(named: list[MetricLabel], told: Mapping[str, str]) -> dict[str, str]:
    return {f"{PREFIX}{one.name}": _value(one, told.get(one.name, "")) for one in named}


def _value(one: MetricLabel, told: str) -> str:
    return UNTRACKED if told and one.tracked and told not in one.tracked else told
