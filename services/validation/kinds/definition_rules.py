"""What definitions refuse in what is new of an object; of what stands there already nothing is said again, as by the API server.

Rule: docs/rules/objects.md#validation
"""

from collections.abc import Callable

from events.json_object import JsonMapping, array_at, is_object, object_at, objects_at
from services.validation.fields.bounds import bound_problems
from services.validation.fields.shape import shape_problems
from services.validation.kinds import flavor
from services.validation.kinds.definition_bounds import BOUNDS, PRIORITY_CLASSES
from services.validation.problem import Problem, duplicate, forbidden, invalid, required


def definition_problems(value: JsonMapping) -> list[Problem]:
    """What is beyond the bounds of an object's kind, or makes no sense together."""
    kind = str(value.get("kind"))
    rule = _RULES.get(kind)
    return [*bound_problems(value, BOUNDS.get(kind, {})), *(rule(value) if rule is not None else ())]


def new_definition_problems(old: JsonMapping, new: JsonMapping) -> list[Problem]:
    """The same of a changed object, as far as it was not so before."""
    stood = definition_problems(old) if not shape_problems(old) else []
    return [one for one in definition_problems(new) if one not in stood]


def _workload(value: JsonMapping) -> list[Problem]:
    spec = object_at(value, "spec")
    reference, field = spec.get("priorityClassRef"), "spec.priorityClassRef"
    if not is_object(reference):
        return []
    found: list[Problem] = []
    group, kind = str(reference.get("group")), reference.get("kind")
    meant = PRIORITY_CLASSES.get(group)
    if meant is not None and kind in PRIORITY_CLASSES.values() and kind != meant:
        found.append(invalid(f"{field}.kind", kind, f"{group} has no {kind}", meant))
    if spec.get("priority") is None:
        what = "who is in a priority class says what that comes to"
        found.append(required("spec.priority", what, "priority: with the value of the class"))
    return found


def _cluster_queue(value: JsonMapping) -> list[Problem]:
    checks = "spec.admissionChecksStrategy.admissionChecks"
    return _twice(objects_at(value, *checks.split(".")), "name", checks)


def _provisioning(value: JsonMapping) -> list[Problem]:
    keys = "spec.podSetUpdates.nodeSelector"
    return _twice(objects_at(value, *keys.split(".")), "key", keys)


def _twice(entries: list[JsonMapping], key: str, field: str) -> list[Problem]:
    """The entries of a list that have the key of another one."""
    keys = [one.get(key) for one in entries]
    return [
        duplicate(f"{field}[{index}].{key}", one, "each once")
        for index, one in enumerate(keys)
        if one is not None and one in keys[:index]
    ]


def _multikueue_cluster(value: JsonMapping) -> list[Problem]:
    source, field = object_at(value, "spec", "clusterSource"), "spec.clusterSource"
    said = [name for name in _SOURCES if source.get(name) is not None]
    if len(said) > 1:
        return [forbidden(f"{field}.{said[1]}", f"{said[0]} says already how it is reached", "one of the two")]
    return [] if said else [required(field, "it does not say how the cluster is reached", " or ".join(_SOURCES))]


def _multikueue_config(value: JsonMapping) -> list[Problem]:
    names = array_at(value, "spec", "clusters")
    return [
        duplicate(f"spec.clusters[{index}]", name, "each cluster once")
        for index, name in enumerate(names)
        if name in names[:index]
    ]


_SOURCES = ("kubeConfig", "clusterProfileRef")
_RULES: dict[str, Callable[[JsonMapping], list[Problem]]] = {
    "ClusterQueue": _cluster_queue,
    "MultiKueueCluster": _multikueue_cluster,
    "MultiKueueConfig": _multikueue_config,
    "ProvisioningRequestConfig": _provisioning,
    "ResourceFlavor": flavor.definition_problems,
    "Workload": _workload,
}
