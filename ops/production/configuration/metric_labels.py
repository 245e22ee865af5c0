"""`metrics` of the configuration file: labels of one's own on metrics, held to Kueue's rules in its words, and of whom they are.

Rule: docs/metrics.md#custom-labels
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from events.api.meta import Selector
from events.settings import LabelSource, MetricLabel
from ops.production.configuration.qualified_names import is_qualified

GATE = "CustomMetricLabels"
_MOST, _MOST_OF_A_KIND, _MOST_VALUES = 20, 6, 16
_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_]*", re.ASCII)
_WORKLOAD = "Workload"


class CustomLabelPart(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """A label of one's own."""

    name: str
    """The metrics' label is called `custom_` and this."""
    source_kind: str = LabelSource.CLUSTER_QUEUE
    """The kind of object that has it: ClusterQueue, LocalQueue or Cohort. Its metrics bear the label."""
    source_label_key: str = ""
    """The label of the object that it is; called like `name` where neither this nor an annotation is named."""
    source_annotation_key: str = ""
    """The annotation of the object that it is."""
    tracked_values: tuple[str, ...] = ()
    """Values that are told; others become `kueue.x-k8s.io/_UNTRACKED_VALUE_`. All are told without it."""


class LocalQueueMetricsPart(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Which metrics of local queues there are."""

    enable: bool = False
    """Whether they are exported: as in Kueue, once `localQueueMetrics` is there, only where it says so."""
    local_queue_selector: Selector | None = None
    """A label selector of the local queues whose metrics are exported; of all of them without it."""


class MetricsPart(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """What the file says about metrics; where Kueue's manager serves them is of no meaning here."""

    custom_labels: tuple[CustomLabelPart, ...] = ()
    """Labels of one's own on metrics, with the feature gate CustomMetricLabels (metrics.md)."""
    local_queue_metrics: LocalQueueMetricsPart | None = None
    """Metrics of local queues; of all of them without it."""
    bind_address: Any = None
    """Of no meaning here."""
    enable_cluster_queue_resources: Any = None
    """Of no meaning here: these metrics are always exported."""


WITHOUT_MEANING = ("bindAddress", "enableClusterQueueResources")
"""Fields that are taken and mean nothing here."""


def metric_labels(parts: Sequence[CustomLabelPart]) -> tuple[MetricLabel, ...]:
    """The labels of the file. Raises `ValueError` naming the field, in Kueue's words."""
    at = "metrics.customLabels"
    if len(parts) > _MOST:
        raise ValueError(f"{at}: Too many: {len(parts)}: must have at most {_MOST} items")
    found = tuple(_label(f"{at}[{index}]", part) for index, part in enumerate(parts))
    for index, one in enumerate(found):
        if any(before.name == one.name for before in found[:index]):
            raise ValueError(f'{at}[{index}].name: Duplicate value: "{one.name}"')
    for kind, count in sorted(Counter(one.source for one in found).items()):
        if count > _MOST_OF_A_KIND:
            raise ValueError(
                f"{at}: too many custom labels for source kind {kind}: found {count}, expected <= {_MOST_OF_A_KIND}"
            )
    return found


def _label(at: str, part: CustomLabelPart) -> MetricLabel:
    if not _NAME.fullmatch(part.name):
        raise ValueError(f'{at}.name: Invalid value: "{part.name}": must match ^[a-zA-Z][a-zA-Z0-9_]*$')
    if part.source_label_key and part.source_annotation_key:
        raise ValueError(f"{at}: sourceLabelKey and sourceAnnotationKey are mutually exclusive")
    for field, key in (
        ("sourceLabelKey", part.source_label_key),
        ("sourceAnnotationKey", part.source_annotation_key),
        ("name", "" if part.source_label_key or part.source_annotation_key else part.name),
    ):
        if key and not is_qualified(key):  # A label and an annotation are named alike.
            raise ValueError(
                f'{at}.{field}: Invalid value: "{key}": write the key of a label, such as team or example.com/team'
            )
    if len(part.tracked_values) > _MOST_VALUES:
        raise ValueError(
            f"{at}.trackedValues: Too many: {len(part.tracked_values)}: must have at most {_MOST_VALUES} items"
        )
    if len(set(part.tracked_values)) < len(part.tracked_values):
        raise ValueError(f"{at}.trackedValues: Invalid value: {list(part.tracked_values)}: must not contain duplicates")
    return MetricLabel(
        name=part.name,
        source=_source(f"{at}.sourceKind", part.source_kind),
        label="" if part.source_annotation_key else part.source_label_key or part.name,
        annotation=part.source_annotation_key,
        tracked=part.tracked_values,
    )


def _source(at: str, kind: str) -> LabelSource:
    kinds = ", ".join(LabelSource)
    if kind == _WORKLOAD:
        raise ValueError(f"{at}: labels of Workloads are not told here: write one of {kinds}")
    try:
        return LabelSource(kind)
    except ValueError as unknown:
        raise ValueError(f"{at}: unknown source kind: {kind}: write one of {kinds}") from unknown
