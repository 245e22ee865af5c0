"""Whether a pod set of a Workload is valid: requests, labels of its template, topology."""

from events.json_object import JsonMapping, object_at, objects_at
from events.quantity import BadQuantity, parse_quantity
from events.settings import SettingsObserved
from projections.feature_gates import enabled
from services.validation.fields.names import annotations_problems, labels_problems
from services.validation.problem import Problem, forbidden, invalid, required

PODS = "pods"
"""The resource that counts pods; it is counted, never asked for (docs/rules/quota.md#pods-resource)."""


def pod_set_problems(pod_set: JsonMapping, field: str, settings: SettingsObserved) -> list[Problem]:
    """What is wrong with the requests, labels and annotations of one pod set."""
    template: JsonMapping = pod_set.get("template") or {}
    spec: JsonMapping = template.get("spec") or {}
    at = f"{field}.template.spec"
    found = _asked_pods(spec, at)
    if enabled(settings, "WorkloadValidateResourcesAreNonNegative"):
        found.extend(container_problems(spec, at))
    if enabled(settings, "WorkloadValidationForPodSetMetadata"):
        meta: JsonMapping = template.get("metadata") or {}
        found.extend(labels_problems(meta.get("labels"), f"{field}.template.metadata.labels"))
        found.extend(annotations_problems(meta.get("annotations"), f"{field}.template.metadata.annotations"))
    if enabled(settings, "TASValidateWorkloadSliceSize"):
        found.extend(_slices(pod_set.get("topologyRequest") or {}, f"{field}.topologyRequest"))
    return found


def container_problems(spec: JsonMapping, field: str) -> list[Problem]:
    """The problems of resources of a pod and its containers: each a quantity, and none below zero."""
    found: list[Problem] = []
    for part in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(part) or ()):
            found.extend(_negatives(container.get("resources") or {}, f"{field}.{part}[{index}].resources"))
    found.extend(_negatives(spec.get("resources") or {}, f"{field}.resources"))
    return [*found, *_negative_amounts(spec.get("overhead") or {}, f"{field}.overhead")]


def _asked_pods(spec: JsonMapping, field: str) -> list[Problem]:
    """A limit asks as much as a request does, which it stands in for."""
    asking = [
        (f"{field}.{part}[{index}]", container)
        for part in ("initContainers", "containers")
        for index, container in enumerate(spec.get(part) or ())
    ]
    return [
        invalid(f"{at}.resources.{kind}[{PODS}]", PODS, "pods are counted, not asked for", f"no {word} of {PODS}")
        for at, one in (*asking, (field, spec))
        for kind, word in (("requests", "request"), ("limits", "limit"))
        if PODS in object_at(one, "resources", kind)
    ]


def _negatives(resources: JsonMapping, field: str) -> list[Problem]:
    return [
        problem
        for part in ("requests", "limits")
        for problem in _negative_amounts(resources.get(part) or {}, f"{field}.{part}")
    ]


def _negative_amounts(amounts: JsonMapping, field: str) -> list[Problem]:
    found: list[Problem] = []
    for name in sorted(amounts):
        try:
            if parse_quantity(amounts[name]) < 0:
                found.append(invalid(f"{field}[{name}]", amounts[name], f"{amounts[name]} is negative", "at least 0"))
        except BadQuantity as bad:
            found.append(invalid(f"{field}[{name}]", amounts[name], str(bad)))
    return found


def _slices(topology: JsonMapping, field: str) -> list[Problem]:
    level, size = topology.get("podSetSliceRequiredTopology"), topology.get("podSetSliceSize")
    at, instead = f"{field}.podSetSliceSize", "how many pods are a slice"
    found: list[Problem] = []
    if size is not None and not level:
        what = "may not be set when podSetSliceRequiredTopology is not specified"
        found.append(forbidden(at, what, "podSetSliceRequiredTopology beside it"))
    elif level and size is None:
        found.append(required(at, "must be set when podSetSliceRequiredTopology is specified", instead))
    elif size is not None and size <= 0:
        found.append(invalid(at, size, "must be greater than 0", instead))
    for index, one in enumerate(objects_at(topology, "podsetSliceRequiredTopologyConstraints")):
        size = one.get("size", 0)
        if size <= 0:
            at = f"{field}.podsetSliceRequiredTopologyConstraints[{index}].size"
            found.append(invalid(at, size, "must be greater than 0", instead))
    return found
