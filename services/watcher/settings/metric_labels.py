"""Which labels of one's own the metrics of a queue or cohort bear: what its labels and annotations say.

Rule: docs/metrics.md#custom-labels
"""

from collections.abc import Sequence

from msgspec.structs import replace

from events.catalogue import Fact
from events.json_object import JsonMapping, object_at
from events.quota import ClusterQueueObserved, CohortObserved, LocalQueueObserved
from events.settings import MetricLabel


def with_metric_labels(fact: Fact, value: JsonMapping, named: Sequence[MetricLabel]) -> Fact:
    """The fact of a queue or cohort with what the settings ask for of its labels and annotations; any other as it is."""
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
