"""What the metrics tell of a world: of Kueue as they are fetched, of kuelog as they are collected."""

import math
from collections.abc import Iterable

from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families

from ops.production.metrics.names import KUEUE, ROLE

LATER = frozenset(
    {
        "kueue_cluster_queue_info",
        "kueue_cluster_queue_resource_pending",
        "kueue_cohort_info",
        "kueue_execution_time_seconds",
        "kueue_local_queue_admission_fair_sharing_usage",
        "kueue_local_queue_execution_time_seconds",
        "kueue_local_queue_unadmitted_workloads",
        "kueue_pending_scheduling_hashes",
        "kueue_pod_scheduling_gate_removal_seconds",
        "kueue_preemption_target_recomputations_total",
        "kueue_unadmitted_workloads",
        "kueue_workload_creation_latency_seconds",
        "kueue_workload_eviction_latency_seconds",
        "multikueue_workloads_admitted_total",
        "multikueue_workloads_dispatched_total",
    }
)
"""What Kueue 0.17 does not have yet."""
MISCOUNTED = "kueue_cohort_subtree_admitted_active_workloads"
"""Kueue 0.17 loses count of it, and may come to less than nothing."""
_COMPARED = frozenset(one.name for one in KUEUE) - LATER - {MISCOUNTED}
_LIMITS = ("kueue_cluster_queue_borrowing_limit", "kueue_cluster_queue_lending_limit")
_MILLI = ("kueue_cohort_subtree_quota", "kueue_cohort_subtree_resource_reservations")
_EVICTED_ONCE = "kueue_evicted_workloads_once"
_OF_QUEUES = ("cluster_queue", "preempting_cluster_queue", "cohort")


def told_by_kueue(text: str) -> list[Metric]:
    """What 0.17 tells, as later versions would: in cohorts it counts CPU in thousandths of a core, and it has another name for a label."""
    found = list(text_string_to_metric_families(text))
    for family in found:
        if family.name in _MILLI:
            family.samples = [
                one._replace(value=one.value / 1000) if one.labels["resource"] == "cpu" else one
                for one in family.samples
            ]
        elif family.name == _EVICTED_ONCE:
            family.samples = [one._replace(labels=_with_later_label(one.labels)) for one in family.samples]
    return found


def _with_later_label(labels: dict[str, str]) -> dict[str, str]:
    return {"underlying_cause" if key == "detailed_reason" else key: value for key, value in labels.items()}


def told_of_world(families: Iterable[Metric], space: str) -> dict[str, float | str]:
    """By metric with its labels each value of a world but for zeros; of a histogram how many were counted and where its buckets end."""
    found: dict[str, float | str] = {}
    ends: dict[str, list[str]] = {}
    for family in families:
        for sample in family.samples:
            name = family.name if family.type == "histogram" else sample.name
            if name not in _COMPARED or not _is_of(sample.labels, space):
                continue
            if name in _LIMITS and math.isinf(sample.value):
                continue  # 0.17 tells 0 where there is no limit.
            labels = {key: value for key, value in sample.labels.items() if key not in (ROLE, "le")}
            series = f"{name}{{{','.join(f'{key}={value}' for key, value in sorted(labels.items()))}}}"
            if sample.name.endswith("_bucket"):
                ends.setdefault(series, []).append(f"{float(sample.labels['le']):g}")
            elif not sample.name.endswith(("_sum", "_created")) and sample.value:
                found[series] = "NaN" if math.isnan(sample.value) else sample.value
    found |= {f"{series} buckets": " ".join(those) for series, those in ends.items() if series in found}
    return dict(sorted(found.items()))


def _is_of(labels: dict[str, str], space: str) -> bool:
    if labels.get("namespace") == space:
        return True
    return any(labels.get(one, "").startswith(f"{space}-") for one in _OF_QUEUES)
