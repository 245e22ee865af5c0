"""What the metrics of a queue or cohort are to bear, and whether there are to be any, by its labels and annotations.

Rule: docs/metrics.md#custom-labels
"""

from collections.abc import Sequence

from msgspec.structs import replace

from events.catalogue import Fact
from events.json_object import JsonMapping, object_at
from events.quota import ClusterQueueObserved, CohortObserved, LocalQueueObserved
from events.settings import MetricLabel, SettingsObserved
from projections.nodes.affinity import selects


def with_metrics(fact: Fact, value: JsonMapping, settings: SettingsObserved) -> Fact:
    """The fact of a queue or cohort with what the settings ask for of its labels and annotations; any other as it is."""
    chosen = settings.measured_local_queues
    if chosen is not None and isinstance(fact, LocalQueueObserved):
        labels = {name: str(told) for name, told in object_at(value, "metadata", "labels").items()}
        fact = replace(fact, unmeasured=not selects(chosen, labels))
    return _with_labels(fact, value, settings.metric_labels)


def _with_labels(fact: Fact, value: JsonMapping, named: Sequence[MetricLabel]) -> Fact:
    if not named or not isinstance(fact, ClusterQueueObserved | LocalQueueObserved | CohortObserved):
        return fact
    meta = object_at(value, "metadata")
    labels, annotations = object_at(meta, "labels"), object_at(meta, "annotations")
    found = {
        one.name: str(told)
        for one in named
        if one.source == fact.kind
        and (told := labels.get(one.label) if one.label else annotations.get(one.annotation)) is not None
    }
    return replace(fact, metric_labels=found) if found else fact
