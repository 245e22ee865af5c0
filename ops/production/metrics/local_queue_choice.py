"""Metrics of local queues, without those that the settings leave out.

Rule: docs/metrics.md#local-queues
"""

from collections.abc import Callable, Iterator, Mapping

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from events.settings import LabelSource
from ops.production.metrics.custom_labels import source_of
from projections.world import World


class WithChosenLocalQueues(Collector):
    """The metrics of another collector without series of local queues that are left out."""

    def __init__(self, metrics: Collector, world: Callable[[], World | None]) -> None:
        self._metrics, self._world = metrics, world

    def collect(self) -> Iterator[Metric]:
        """All of them, in the same order."""
        world = self._world()
        for metric in self._metrics.collect():
            if world is not None and source_of(metric) is LabelSource.LOCAL_QUEUE:
                metric.samples = [one for one in metric.samples if _is_measured(world, one.labels)]
            yield metric


def _is_measured(world: World, labels: Mapping[str, str]) -> bool:
    """What was counted of a local queue that is gone stays, as nobody knows its labels any more."""
    found = world.local_queues.get(f"{labels['namespace']}/{labels['name']}")
    return world.settings.local_queue_metrics and (found is None or not found.unmeasured)
