"""What the API server fills into new built-in objects."""

from typing import Any

from ops.sandbox.embedded_cluster.failures import invalid

Object = dict[str, Any]
_NAME = "kubernetes.io/metadata.name"


def filled(key: str, value: Object) -> Object:
    """A new object with what nobody has to write. Raises 422 for what can't be filled in."""
    match key:
        case "namespaces":
            return _namespace(value)
        case "pods":
            return _pod(value)
        case "jobs.batch":
            return _job(value)
        case "deployments.apps" | "replicasets.apps" | "statefulsets.apps":
            return _serving(value)
        case "cronjobs.batch":
            return _cron_job(value)
        case _:
            return value


def _serving(value: Object) -> Object:
    spec = {name: part for name, part in (value.get("spec") or {}).items() if part is not None}
    if value["kind"] == "StatefulSet":
        spec = {"podManagementPolicy": "OrderedReady", "updateStrategy": {"type": "RollingUpdate"}, **spec}
    return {**value, "spec": {"replicas": 1, **spec}}


def _cron_job(value: Object) -> Object:
    return {**value, "spec": {"concurrencyPolicy": "Allow", "suspend": False, **(value.get("spec") or {})}}


def _namespace(value: Object) -> Object:
    meta = value["metadata"]
    labels = {**(meta.get("labels") or {}), _NAME: meta["name"]}
    status = {"phase": "Active"}
    return {**value, "metadata": {**meta, "labels": labels}, "spec": {"finalizers": ["kubernetes"]}, "status": status}


def _pod(value: Object) -> Object:
    spec: Object = {
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        **(value.get("spec") or {}),
    }
    return {**value, "spec": spec, "status": {"phase": "Pending", **(value.get("status") or {})}}


def _job(value: Object) -> Object:
    spec = dict(value.get("spec") or {})
    if not isinstance(spec.get("template"), dict):
        raise invalid("Job", value["metadata"]["name"], [("spec.template", "Required value")])
    for field in ("parallelism", "completions", "backoffLimit"):
        if not isinstance(spec.get(field, 0), int) or spec.get(field, 0) < 0:
            raise invalid("Job", value["metadata"]["name"], [(f"spec.{field}", "must be a whole number, at least 0")])
    spec.setdefault("suspend", False)
    spec.setdefault("backoffLimit", 6)
    spec.setdefault("completionMode", "NonIndexed")
    if "parallelism" not in spec:
        spec.setdefault("completions", 1)
    spec.setdefault("parallelism", 1)
    uid = value["metadata"]["uid"]
    labels = {"batch.kubernetes.io/controller-uid": uid, "controller-uid": uid}
    spec.setdefault("selector", {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}})
    named = {"batch.kubernetes.io/job-name": value["metadata"]["name"], "job-name": value["metadata"]["name"], **labels}
    template = spec["template"]
    meta = dict(template.get("metadata") or {})
    meta["labels"] = {**(meta.get("labels") or {}), **named}
    spec["template"] = {**template, "metadata": meta}
    return {**value, "spec": spec}
