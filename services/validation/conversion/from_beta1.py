"""Objects of v1beta1 with the fields of v1beta2, spec and status (docs/rules/objects.md#beta1)."""

from itertools import groupby

from events.json_object import JsonObject, is_array, is_object
from services.validation.conversion.field_changes import Changes, change_topologies, changed, rename

_SEARCH = {"Borrow": "MayStopSearch", "Preempt": "MayStopSearch"}
CLASS_OF_PODS = "scheduling.k8s.io/priorityclass"
_CLASSES = {"kueue.x-k8s.io/workloadpriorityclass": "WorkloadPriorityClass", CLASS_OF_PODS: "PriorityClass"}
"""Of any other source the newer version knows no class: the number stays."""


def from_beta1(value: JsonObject) -> JsonObject:
    """The object with its fields renamed, moved and dropped as v1beta2 has them."""
    return changed(value, _CHANGES)


def _cluster_queue(spec: JsonObject) -> None:
    rename(spec, "cohort", "cohortName")
    names = spec.pop("admissionChecks", None)
    if is_array(names) and names:
        spec["admissionChecksStrategy"] = {"admissionChecks": [{"name": name} for name in names]}
    fungibility = spec.get("flavorFungibility")
    if is_object(fungibility):
        spec["flavorFungibility"] = {
            name: _SEARCH.get(value, value) if isinstance(value, str) else value for name, value in fungibility.items()
        }


def _cluster_queue_status(status: JsonObject) -> None:
    status.pop("pendingWorkloadsStatus", None)
    fair = status.get("fairSharing")
    if is_object(fair):
        status["fairSharing"] = {name: value for name, value in fair.items() if name != "admissionFairSharingStatus"}


def _cohort(spec: JsonObject) -> None:
    rename(spec, "parent", "parentName")


def _local_queue_status(status: JsonObject) -> None:
    rename(status, "flavorUsage", "flavorsUsage")
    status.pop("flavors", None)


def _workload(spec: JsonObject) -> None:
    name, source = spec.pop("priorityClassName", ""), str(spec.pop("priorityClassSource", "") or "")
    if name and source in _CLASSES and "priorityClassRef" not in spec:
        group = source.partition("/")[0]
        spec["priorityClassRef"] = {"group": group, "kind": _CLASSES[source], "name": name}


def _workload_status(status: JsonObject) -> None:
    # The misspelling is v1beta1's own.
    rename(status, "accumulatedPastExexcutionTimeSeconds", "accumulatedPastExecutionTimeSeconds")
    change_topologies(status, "domains", "slices", topology_slices)


def topology_slices(domains: list[JsonObject]) -> list[JsonObject]:
    """Domains in the encoding of v1beta2: neighbours with equal counts share a slice, values by level."""
    slices: list[JsonObject] = []
    for count, run in groupby(domains, key=lambda one: one.get("count")):
        members = list(run)
        slices.append(
            {
                "domainCount": len(members),
                "podCounts": {"universal": count},
                "valuesPerLevel": [
                    _level(list(values)) for values in zip(*(one["values"] for one in members), strict=False)
                ],
            }
        )
    return slices


def _level(values: list[str]) -> JsonObject:
    if len(set(values)) == 1:
        return {"universal": values[0]}
    return {"individual": {"roots": values}}


def _check(spec: JsonObject) -> None:
    spec.pop("retryDelayMinutes", None)


def _cluster(spec: JsonObject) -> None:
    source = {name: spec.pop(name) for name in ("kubeConfig", "clusterProfileRef") if name in spec}
    if source:
        spec.setdefault("clusterSource", source)


_CHANGES: Changes = {
    "ClusterQueue": (_cluster_queue, _cluster_queue_status),
    "Cohort": (_cohort, None),
    "LocalQueue": (None, _local_queue_status),
    "Workload": (_workload, _workload_status),
    "AdmissionCheck": (_check, None),
    "MultiKueueCluster": (_cluster, None),
}
