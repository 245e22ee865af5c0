"""Pods that a controller makes of a template, and which of them are its own."""

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from ops.sandbox.embedded_cluster.selection import look
from ops.sandbox.embedded_cluster.store import Object, Store

PODS = "pods"
_OVER = ("Succeeded", "Failed")


def owner_reference(owner: Object) -> Object:
    """What an object says of the one that made it."""
    meta = owner["metadata"]
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def pod_of(owner: Object, template: Object, name: str, labels: Mapping[str, str]) -> Object:
    """A pod of a template, of that name, with further labels."""
    meta: Object = template.get("metadata") or {}
    return {
        "metadata": {
            "name": name,
            "labels": {**(meta.get("labels") or {}), **labels},
            "annotations": dict(meta.get("annotations") or {}),
            "ownerReferences": [owner_reference(owner)],
        },
        "spec": template.get("spec") or {},
    }


def owner_of(value: Object, kind: str) -> Object | None:
    """The controller of an object, if it is of that kind."""
    owners = value["metadata"].get("ownerReferences") or ()
    return next((one for one in owners if one.get("controller") and one.get("kind") == kind), None)


def owned(store: Store, key: str, owner: Object) -> list[Object]:
    """The objects of a kind that an object controls, by name."""
    uid, space = owner["metadata"]["uid"], owner["metadata"].get("namespace", "")
    found: list[Object] = []
    for (namespace, _), value in sorted(store.of(key).items()):
        controller = owner_of(value, owner["kind"]) if namespace == space else None
        if controller is not None and controller.get("uid") == uid:
            found.append(value)
    return found


def replicas_of(value: Object) -> int:
    """How many pods an object asks for."""
    found = look(value, "spec.replicas")
    return 1 if found is None else int(found)


def is_alive(pod: Object) -> bool:
    """Whether a pod has neither ended nor is leaving."""
    return look(pod, "status.phase") not in _OVER and not pod["metadata"].get("deletionTimestamp")


def is_ready(pod: Object) -> bool:
    """Whether a pod is alive and ready."""
    return is_alive(pod) and look(pod, 'status.conditions[?(@.type=="Ready")].status') == "True"


def template_hash(template: Object) -> str:
    """What tells a template from others; a field that is null is one that is not there."""
    return hashlib.sha256(msgspec.json.encode(_said(template), order="sorted")).hexdigest()[:10]


def _said(value: Any) -> Any:
    match value:
        case dict():
            return {name: _said(one) for name, one in value.items() if one is not None}
        case list():
            return [_said(one) for one in value]
        case _:
            return value
