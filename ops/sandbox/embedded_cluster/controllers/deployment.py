"""The Deployment controller: a ReplicaSet for each template it had, and the way from one to the next."""

from typing import Any

from events.timestamp import format_timestamp
from ops.sandbox.embedded_cluster.controllers.owned_pods import (
    owned,
    owner_reference,
    replicas_of,
    template_hash,
)
from ops.sandbox.embedded_cluster.controllers.owner_controller import OwnerController
from ops.sandbox.embedded_cluster.controllers.replica_set import REPLICA_SETS
from ops.sandbox.embedded_cluster.selection import look
from ops.sandbox.embedded_cluster.store import Name, Object

DEPLOYMENTS = "deployments.apps"
_REVISION = "deployment.kubernetes.io/revision"
_HASH = "pod-template-hash"
_HISTORY = 10


class Deployments(OwnerController):
    """Rolls every Deployment out."""

    kind, owner_key, owned_key = "Deployment", DEPLOYMENTS, REPLICA_SETS

    def reconcile(self, name: Name, value: Object) -> None:
        """Have the newest template take the place of those before it as fast as its pods are ready."""
        digest = template_hash(value["spec"]["template"])
        sets = owned(self.store, REPLICA_SETS, value)
        newest = next((one for one in sets if one["metadata"]["labels"].get(_HASH) == digest), None)
        others = sorted((one for one in sets if one is not newest), key=_revision, reverse=True)
        if not value["spec"].get("paused"):
            newest = self._newest(name, value, newest, others, digest)
            self._shrink(value, newest, others)
            self._forget(value["spec"].get("revisionHistoryLimit", _HISTORY), others)
        self._tell(name, newest, others)

    def _newest(self, name: Name, value: Object, newest: Object | None, others: list[Object], digest: str) -> Object:
        """The ReplicaSet of the newest template, at its size and under the newest revision."""
        wanted, kind = replicas_of(value), self.resources.kind("apps", "v1", "replicasets")
        if _recreates(value) and any(map(_pods, others)):
            wanted = 0 if newest is None else replicas_of(newest)
        revision = max((_revision(one) for one in others), default=0) + 1
        if newest is None:
            newest = self.resources.create(kind, name[0], _set_of(value, digest, wanted, revision))
        elif _revision(newest) < revision or replicas_of(newest) != wanted:
            revision = max(revision, _revision(newest))
            newest = self.resources.update(kind, _name(newest), _sized(newest, wanted, revision))
        noted: Object = value["metadata"].get("annotations") or {}
        told = str(_revision(newest))
        if noted.get(_REVISION) != told:
            meta = {**value["metadata"], "annotations": {**noted, _REVISION: told}}
            own = self.resources.kind("apps", "v1", "deployments")
            self.resources.update(own, name, {**value, "metadata": meta})
        return newest

    def _shrink(self, value: Object, newest: Object, others: list[Object]) -> None:
        """Leave of the others what the newest can't do yet, or nothing where that is how it is wanted."""
        left = 0 if _recreates(value) else max(replicas_of(value) - _available(newest), 0)
        kind = self.resources.kind("apps", "v1", "replicasets")
        for one in others:
            size = min(replicas_of(one), left)
            left -= size
            if size != replicas_of(one):
                self.resources.update(kind, _name(one), _sized(one, size, _revision(one)))

    def _forget(self, limit: int, others: list[Object]) -> None:
        kind = self.resources.kind("apps", "v1", "replicasets")
        for one in [one for one in others if not replicas_of(one) and not _pods(one)][limit:]:
            self.resources.delete(kind, _name(one))

    def _tell(self, name: Name, newest: Object | None, others: list[Object]) -> None:
        value = self.store.get(DEPLOYMENTS, name)
        if value is None:
            return
        wanted = replicas_of(value)
        available = sum(_available(one) for one in (*others, *([newest] if newest else [])))
        updated = _pods(newest) if newest is not None else 0
        done = updated >= wanted and available >= wanted and not any(map(_pods, others))
        status: dict[str, Any] = {
            "observedGeneration": value["metadata"]["generation"],
            "replicas": updated + sum(map(_pods, others)),
            "updatedReplicas": updated,
            "readyReplicas": available,
            "availableReplicas": available,
            "unavailableReplicas": max(wanted - available, 0),
        }
        conditions: list[Object] = list(look(value, "status.conditions") or ())
        is_available = available >= wanted
        self._set(conditions, "Available", "True" if is_available else "False", _AVAILABLE[is_available])
        self._set(conditions, "Progressing", "True", "NewReplicaSetAvailable" if done else "ReplicaSetUpdated")
        shown = {field: count for field, count in status.items() if count} | {"conditions": conditions}
        kind = self.resources.kind("apps", "v1", "deployments")
        self.resources.update(kind, name, {"metadata": {}, "status": shown}, subresource="status")

    def _set(self, conditions: list[Object], kind: str, status: str, reason: str) -> None:
        found = next((one for one in conditions if one["type"] == kind), None)
        if found is not None and (found["status"], found["reason"]) == (status, reason):
            return
        if found is not None:
            conditions.remove(found)
        now = format_timestamp(self.clock.now())
        told = {"type": kind, "status": status, "reason": reason, "message": ""}
        conditions.append({**told, "lastUpdateTime": now, "lastTransitionTime": now})


_AVAILABLE = {True: "MinimumReplicasAvailable", False: "MinimumReplicasUnavailable"}


def _set_of(value: Object, digest: str, replicas: int, revision: int) -> Object:
    meta, spec = value["metadata"], value["spec"]
    template = spec["template"]
    inside: Object = template.get("metadata") or {}
    labels = {**(inside.get("labels") or {}), _HASH: digest}
    selector = spec.get("selector") or {}
    matched = {**selector, "matchLabels": {**(selector.get("matchLabels") or {}), _HASH: digest}}
    return {
        "metadata": {
            "name": f"{meta['name']}-{digest}",
            "labels": labels,
            "annotations": {_REVISION: str(revision)},
            "ownerReferences": [owner_reference(value)],
        },
        "spec": {
            "replicas": replicas,
            "selector": matched,
            "template": {**template, "metadata": {**inside, "labels": labels}},
        },
    }


def _sized(value: Object, replicas: int, revision: int) -> Object:
    meta = value["metadata"]
    noted = {**(meta.get("annotations") or {}), _REVISION: str(revision)}
    return {**value, "metadata": {**meta, "annotations": noted}, "spec": {**value["spec"], "replicas": replicas}}


def _name(value: Object) -> Name:
    return value["metadata"]["namespace"], value["metadata"]["name"]


def _pods(value: Object) -> int:
    return look(value, "status.replicas") or 0


def _available(value: Object) -> int:
    return look(value, "status.availableReplicas") or 0


def _recreates(value: Object) -> bool:
    return look(value, "spec.strategy.type") == "Recreate"


def _revision(value: Object) -> int:
    text = (value["metadata"].get("annotations") or {}).get(_REVISION, "0")
    return int(text) if text.isdigit() else 0
