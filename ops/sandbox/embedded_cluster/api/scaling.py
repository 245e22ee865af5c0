"""The scale subresource: replicas of a custom resource, at the paths that its definition names."""

from typing import Any

from ops.sandbox.embedded_cluster.kinds import ApiKind
from ops.sandbox.embedded_cluster.selection import look
from ops.sandbox.embedded_cluster.store import Object


def scale_of(kind: ApiKind, value: Object) -> Object:
    """The autoscaling/v1 Scale of an object."""
    paths = kind.scale or {}
    meta = value["metadata"]
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: meta[name] for name in ("name", "namespace", "uid", "resourceVersion") if name in meta},
        "spec": {"replicas": look(value, paths.get("specReplicasPath", "").lstrip(".")) or 0},
        "status": {"replicas": look(value, paths.get("statusReplicasPath", "").lstrip(".")) or 0},
    }


def with_scale(kind: ApiKind, value: Object, scale: Object) -> Object:
    """The object with the replicas that a Scale asks for."""
    path = (kind.scale or {}).get("specReplicasPath", ".spec.replicas").lstrip(".").split(".")
    replicas = scale.get("spec", {}).get("replicas", 0)
    meta = {**value["metadata"]}
    wanted = scale.get("metadata", {}).get("resourceVersion")
    if wanted:
        meta["resourceVersion"] = wanted
    return {**_set(value, path, replicas), "metadata": meta}


def _set(value: Any, path: list[str], replicas: int) -> Any:
    if not path:
        return replicas
    inner = value.get(path[0]) if isinstance(value, dict) else None
    return {**(value or {}), path[0]: _set(inner, path[1:], replicas)}
