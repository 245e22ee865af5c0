"""What is checked of every object before it is stored, and the form in which it is."""

from typing import Any

from ops.sandbox.embedded_cluster.admission.metadata_rules import refuse_metadata
from ops.sandbox.embedded_cluster.admission.pod_rules import settled as settled_pods
from ops.sandbox.embedded_cluster.cron_schedule import BadSchedule, Schedule
from ops.sandbox.embedded_cluster.failures import invalid
from ops.sandbox.embedded_cluster.kinds import ApiKind

Object = dict[str, Any]
_CLUSTER_EVENTS = ("default", "kube-system")
"""Where events are kept that tell of what is in no namespace."""
_PROTECTED = ("k8s.io", "kubernetes.io")
_APPROVED = "api-approved.kubernetes.io"


def settled(kind: ApiKind, value: Object, before: Object | None = None) -> Object:
    """The object as it is stored. Raises 422 for what breaks the rules of its kind."""
    refuse_metadata(kind, value["metadata"], before["metadata"] if before is not None else None)
    value, problems = settled_pods(kind.key, value)
    match kind.key:
        case "events":
            problems.extend(_event(value))
        case "customresourcedefinitions.apiextensions.k8s.io":
            problems.extend(_definition(value))
        case "deployments.apps" | "replicasets.apps" | "statefulsets.apps":
            problems.extend(_template(value, "template"))
            problems.extend(_replicas(value))
        case "cronjobs.batch":
            problems.extend(_template(value, "jobTemplate"))
            problems.extend(_schedule(value))
        case _:
            pass
    if problems:
        raise invalid(kind.kind, value["metadata"]["name"], problems)
    return value


def _template(value: Object, field: str) -> list[tuple[str, str]]:
    template = (value.get("spec") or {}).get(field)
    if isinstance(template, dict) and isinstance(template.get("spec"), dict):
        return []
    return [(f"spec.{field}.spec", "Required value")]


def _replicas(value: Object) -> list[tuple[str, str]]:
    found = (value.get("spec") or {}).get("replicas", 1)
    if isinstance(found, int) and not isinstance(found, bool) and found >= 0:
        return []
    return [("spec.replicas", "Invalid value: a whole number, at least 0, is expected")]


def _schedule(value: Object) -> list[tuple[str, str]]:
    spec: Object = value.get("spec") or {}
    if spec.get("timeZone") not in (None, "", "Etc/UTC", "UTC"):
        return [("spec.timeZone", "Invalid value: the embedded cluster keeps UTC: leave it out")]
    try:
        Schedule(str(spec.get("schedule", "")))
    except BadSchedule as problem:
        return [("spec.schedule", f"Invalid value: {problem}")]
    return []


def _event(value: Object) -> list[tuple[str, str]]:
    space, told = value["metadata"].get("namespace", ""), (value.get("involvedObject") or {}).get("namespace", "")
    if told == space or (not told and space in _CLUSTER_EVENTS):
        return []
    return [("involvedObject.namespace", f'Invalid value: "{told}": does not match event.namespace')]


def _definition(value: Object) -> list[tuple[str, str]]:
    """Groups below k8s.io belong to Kubernetes; x-k8s.io is its neighbours'."""
    group = value["spec"]["group"]
    protected = any(group == one or group.endswith(f".{one}") for one in _PROTECTED)
    if not protected or (value["metadata"].get("annotations") or {}).get(_APPROVED):
        return []
    told = f'Required value: protected groups must have approval annotation "{_APPROVED}"'
    return [(f"metadata.annotations[{_APPROVED}]", told)]
