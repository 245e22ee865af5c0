"""Objects of v1beta2 with the fields of v1beta1, for those who still ask for it (docs/rules/objects.md#beta1)."""

from typing import Any

from events.json_object import JsonMapping, JsonObject, array_at, is_array, is_object, object_at, objects_at
from services.validation.conversion.field_changes import Changes, change_topologies, changed, rename

_SOURCES = {
    "WorkloadPriorityClass": "kueue.x-k8s.io/workloadpriorityclass",
    "PriorityClass": "scheduling.k8s.io/priorityclass",
}
_STOPPING_SEARCH = {"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt"}
_NEWER_IN_TOPOLOGY = "podsetSliceRequiredTopologyConstraints"


def to_beta1(value: JsonObject) -> JsonObject:
    """The object with its fields named and placed as v1beta1 has them; what it can't say is left out."""
    return changed(value, _CHANGES)


def _cluster_queue(spec: JsonObject) -> None:
    rename(spec, "cohortName", "cohort")
    fungibility = spec.get("flavorFungibility")
    if is_object(fungibility):
        spec["flavorFungibility"] = {
            name: _STOPPING_SEARCH.get(name, value) if value == "MayStopSearch" else value
            for name, value in fungibility.items()
        }


def _local_queue_status(status: JsonObject) -> None:
    rename(status, "flavorsUsage", "flavorUsage")


def _workload(spec: JsonObject) -> None:
    spec.pop("preemptionGates", None)
    reference = spec.pop("priorityClassRef", None)
    if is_object(reference):
        spec["priorityClassName"] = reference.get("name", "")
        spec["priorityClassSource"] = _SOURCES.get(str(reference.get("kind")), "")
    if is_array(spec.get("podSets")):
        spec["podSets"] = [_pod_set(one) for one in spec["podSets"]]


def _pod_set(value: Any) -> Any:
    asked = object_at(value, "topologyRequest")
    if _NEWER_IN_TOPOLOGY not in asked:
        return value
    return {**value, "topologyRequest": {name: field for name, field in asked.items() if name != _NEWER_IN_TOPOLOGY}}


def _workload_status(status: JsonObject) -> None:
    # The misspelling is v1beta1's own.
    rename(status, "accumulatedPastExecutionTimeSeconds", "accumulatedPastExexcutionTimeSeconds")
    status.pop("preemptionGates", None)
    change_topologies(status, "slices", "domains", _domains)


def _domains(slices: list[JsonObject]) -> list[JsonObject]:
    return [domain for one in slices for domain in slice_domains(one)]


def slice_domains(one: JsonMapping) -> list[JsonObject]:
    """The domains that a slice stands for, each with its own values and count."""
    count = int(one.get("domainCount", 0))
    levels = [_values(level, count) for level in objects_at(one, "valuesPerLevel")]
    counts = object_at(one, "podCounts")
    pods = counts.get("individual") or [counts.get("universal", 0)] * count
    return [{"values": [level[index] for level in levels], "count": pods[index]} for index in range(count)]


def _values(level: JsonMapping, count: int) -> list[str]:
    if "universal" in level:
        return [str(level["universal"])] * count
    own = object_at(level, "individual")
    return [f"{own.get('prefix') or ''}{root}{own.get('suffix') or ''}" for root in array_at(own, "roots")]


def _cluster(spec: JsonObject) -> None:
    source = spec.pop("clusterSource", None)
    if is_object(source):
        for name, value in source.items():
            spec.setdefault(name, value)


def _clusters(spec: JsonObject) -> None:
    spec.pop("quotaManagement", None)


_CHANGES: Changes = {
    "ClusterQueue": (_cluster_queue, None),
    "LocalQueue": (None, _local_queue_status),
    "Workload": (_workload, _workload_status),
    "MultiKueueCluster": (_cluster, None),
    "MultiKueueConfig": (_clusters, None),
}
