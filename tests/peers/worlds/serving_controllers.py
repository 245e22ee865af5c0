"""Who makes the pods of Deployments, StatefulSets and LeaderWorkerSets, as far as pods are concerned; and their kubelets.

Deployments recreate their pods. A pod that waits at no gate any more runs and is ready at once; one that is deleted is gone.
"""

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from uuid import NAMESPACE_URL, uuid5

import msgspec

from events.event import Millis
from events.json_object import JsonObject
from events.json_path import get, look
from ops.production.kubernetes.client import ApiRequests
from services.runtime.cluster_port import ObjectConflict, ObjectInvalid, ObjectMissing
from tests.peers.worlds.pods import PODS
from tests.peers.worlds.serving import LEADER_WORKER_SET, SERVED, STATEFUL_SET

Objects = Mapping[tuple[str, str], JsonObject]
_SET = "leaderworkerset.sigs.k8s.io/"
_APART: Millis = 1100
_READY = [{"type": "Ready", "status": "True"}, {"type": "ContainersReady", "status": "True"}]


class ServingControllers:
    """All of them in one cluster; they know how many pods of each Deployment they have made."""

    def __init__(self, client: ApiRequests) -> None:
        self._client = client
        self._made = Counter[tuple[str, str, str]]()
        self._now: Millis = 0
        self._last: dict[str, Millis] = {}
        """By namespace, when the last pod of a Deployment was made: who comes in the same second is in line in any order."""

    async def play(self, served: Mapping[str, Objects], pods: Objects, now: Millis) -> None:
        """Bring pods to where those objects want them, in one step each, and show on the objects how far they are."""
        self._now = now
        by_owner: dict[str, list[JsonObject]] = {}
        for pod in pods.values():
            owner = next(iter(pod["metadata"].get("ownerReferences") or ()), None)
            if owner is not None and not pod["metadata"].get("deletionTimestamp"):
                by_owner.setdefault(owner["uid"], []).append(pod)
        wanted: set[str] = set()
        for kind, those in served.items():
            for value in list(those.values()):
                mine = self._pods_of(kind, value, by_owner)
                wanted |= {one["metadata"]["uid"] for one in mine}
                with suppress(ObjectConflict, ObjectMissing, ObjectInvalid):
                    await self._controlled(kind, value, mine)
        for those in by_owner.values():
            for pod in those:
                if pod["metadata"]["uid"] not in wanted and _is_of_served(pod):
                    await self._delete(pod)
                elif not pod["spec"].get("schedulingGates") and not look(pod, "status.conditions[Ready].status"):
                    await self._run(pod)

    def _pods_of(self, kind: str, value: JsonObject, by_owner: Mapping[str, list[JsonObject]]) -> list[JsonObject]:
        uid = value["metadata"]["uid"]
        if kind == STATEFUL_SET:
            return by_owner.get(uid, [])
        found = by_owner.get(_part(uid), [])
        workers = [one for leader in found for one in by_owner.get(_part(leader["metadata"]["uid"]), [])]
        return [*found, *workers]

    async def _controlled(self, kind: str, value: JsonObject, mine: list[JsonObject]) -> None:
        over = [one for one in mine if look(one, "status.phase") in ("Succeeded", "Failed")]
        for one in over:
            await self._delete(one)
        if not over:
            match kind:
                case "Deployment":
                    await self._deployment(value, mine)
                case "StatefulSet":
                    await self._stateful_set(value, mine)
                case _:
                    await self._sets(value, mine)
        await self._show(kind, value, mine)

    async def _deployment(self, value: JsonObject, mine: list[JsonObject]) -> None:
        template, meta = value["spec"]["template"], value["metadata"]
        revision = _digest(template)
        old = [one for one in mine if one["metadata"]["labels"]["pod-template-hash"] != revision]
        many = value["spec"]["replicas"]
        for one in old:
            await self._delete(one)
        if old:
            return
        # It takes away first who is not ready, then who came last.
        for one in sorted(mine, key=lambda one: (not _is_ready(one), _number(one)))[many:][::-1]:
            await self._delete(one)
        if len(mine) < many and self._now - self._last.get(meta["namespace"], 0) >= _APART:
            self._last[meta["namespace"]] = self._now
            place = (meta["namespace"], meta["name"], meta["uid"])
            name = f"{meta['name']}-{self._made[place]}"
            self._made[place] += 1
            owner = _owner("ReplicaSet", f"{meta['name']}-{revision}", _part(meta["uid"]))
            await self._make(template, meta["namespace"], name, owner, {"pod-template-hash": revision}, {})

    async def _stateful_set(self, value: JsonObject, mine: list[JsonObject]) -> None:
        template, meta, many = value["spec"]["template"], value["metadata"], value["spec"]["replicas"]
        revision = _digest(template)
        by_number = {_number(one): one for one in mine}
        ordered = value["spec"].get("podManagementPolicy") != "Parallel"
        for number in range(many):
            there = by_number.get(number)
            if there is None:
                name = f"{meta['name']}-{number}"
                labels = {
                    "apps.kubernetes.io/pod-index": str(number),
                    "statefulset.kubernetes.io/pod-name": name,
                    "controller-revision-hash": revision,
                }
                await self._make(
                    template, meta["namespace"], name, _owner(STATEFUL_SET, meta["name"], meta["uid"]), labels, {}
                )
            if ordered and (there is None or not _is_ready(there)):
                break
        for number in sorted((number for number in by_number if number >= many), reverse=True):
            await self._delete(by_number[number])
            if ordered:
                return
        newest = [one for one in mine if one["metadata"]["labels"].get("controller-revision-hash") == revision]
        older = [number for number, one in by_number.items() if one not in newest and number < many]
        if older and all(map(_is_ready, newest)) and len(by_number) >= many:
            await self._delete(by_number[max(older)])

    async def _sets(self, value: JsonObject, mine: list[JsonObject]) -> None:
        meta, spec = value["metadata"], value["spec"]
        inner = spec["leaderWorkerTemplate"]
        size, there = inner.get("size", 1), {one["metadata"]["name"]: one for one in mine}
        annotations = {f"{_SET}size": str(size)}
        wanted: set[str] = set()
        for group in range(spec["replicas"]):
            name = f"{meta['name']}-{group}"
            labels = {
                f"{_SET}name": meta["name"],
                f"{_SET}group-index": str(group),
                f"{_SET}group-key": sha256(name.encode()).hexdigest()[:10],
            }
            wanted.add(name)
            leader = there.get(name)
            if leader is None:
                template = inner.get("leaderTemplate") or inner["workerTemplate"]
                owner = _owner(STATEFUL_SET, meta["name"], _part(meta["uid"]))
                first = {**labels, f"{_SET}worker-index": "0"}
                await self._make(template, meta["namespace"], name, owner, first, annotations)
                continue
            owner = _owner(STATEFUL_SET, name, _part(leader["metadata"]["uid"]))
            for worker in range(1, size):
                its = f"{name}-{worker}"
                wanted.add(its)
                if its not in there:
                    told = {**labels, f"{_SET}worker-index": str(worker)}
                    notes = {**annotations, f"{_SET}leader-name": name}
                    await self._make(inner["workerTemplate"], meta["namespace"], its, owner, told, notes)
        for name, pod in sorted(there.items()):
            if name not in wanted:
                await self._delete(pod)

    async def _show(self, kind: str, value: JsonObject, mine: list[JsonObject]) -> None:
        counted = mine if kind != LEADER_WORKER_SET else [one for one in mine if _is_leader(one)]
        ready = [
            one
            for one in counted
            if _is_ready(one) and (kind != LEADER_WORKER_SET or _group_is_ready(one, mine, value))
        ]
        status: JsonObject = {"replicas": len(counted), "readyReplicas": len(ready), "updatedReplicas": len(counted)}
        if kind != LEADER_WORKER_SET:
            status["observedGeneration"] = value["metadata"]["generation"]
        shown = {name: get(value, ("status", name)) or 0 for name in status}
        if shown != status:
            meta = value["metadata"]
            patch = {"metadata": {"resourceVersion": meta["resourceVersion"]}, "status": status}
            await self._client.merge(SERVED[kind], meta["namespace"], meta["name"], patch, subresource="status")

    async def _make(
        self,
        template: JsonObject,
        namespace: str,
        name: str,
        owner: JsonObject,
        labels: Mapping[str, str],
        annotations: Mapping[str, str],
    ) -> None:
        told = template.get("metadata") or {}
        meta = {
            "name": name,
            "namespace": namespace,
            "labels": {**(told.get("labels") or {}), **labels},
            "annotations": {**(told.get("annotations") or {}), **annotations},
            "ownerReferences": [owner],
        }
        value = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": completed(template["spec"])}
        with suppress(ObjectConflict):
            await self._client.create(PODS, namespace, value)

    async def _run(self, pod: JsonObject) -> None:
        meta = pod["metadata"]
        status = {"phase": "Running", "conditions": [*(look(pod, "status.conditions") or ()), *_READY]}
        patch = {"metadata": {"resourceVersion": meta["resourceVersion"]}, "status": status}
        with suppress(ObjectConflict, ObjectMissing, ObjectInvalid):
            await self._client.merge(PODS, meta["namespace"], meta["name"], patch, subresource="status")

    async def _delete(self, pod: JsonObject) -> None:
        meta = pod["metadata"]
        with suppress(ObjectMissing, ObjectConflict):
            await self._client.delete(PODS, meta["namespace"], meta["name"], uid=meta["uid"], at_once=True)


def completed(spec: JsonObject) -> JsonObject:
    """The spec of a pod with what a real API server gives it before it asks anybody."""
    there = spec.get("tolerations") or []
    lost = [
        {"key": f"node.kubernetes.io/{why}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for why in ("not-ready", "unreachable")
        if not any(_covers(one, why) for one in there)
    ]
    given = {"priority": 0, "preemptionPolicy": "PreemptLowerPriority", "enableServiceLinks": True}
    return {**given, **spec, "tolerations": [*there, *lost]}


def _covers(toleration: JsonObject, why: str) -> bool:
    named = toleration.get("key") in (None, "", f"node.kubernetes.io/{why}")
    return named and toleration.get("effect") in (None, "", "NoExecute")


def _is_of_served(pod: JsonObject) -> bool:
    owner = pod["metadata"]["ownerReferences"][0]
    return bool(owner.get("controller")) and owner["kind"] in ("ReplicaSet", STATEFUL_SET)


def _is_ready(pod: JsonObject) -> bool:
    return look(pod, "status.conditions[Ready].status") == "True"


def _is_leader(pod: JsonObject) -> bool:
    return pod["metadata"]["labels"].get(f"{_SET}worker-index") == "0"


def _group_is_ready(leader: JsonObject, mine: list[JsonObject], value: JsonObject) -> bool:
    index = leader["metadata"]["labels"][f"{_SET}group-index"]
    group = [one for one in mine if one["metadata"]["labels"][f"{_SET}group-index"] == index]
    return len(group) == value["spec"]["leaderWorkerTemplate"].get("size", 1) and all(map(_is_ready, group))


def _number(pod: JsonObject) -> int:
    return int(pod["metadata"]["name"].rpartition("-")[2])


def _digest(template: JsonObject) -> str:
    return sha256(msgspec.json.encode(template, order="deterministic")).hexdigest()[:8]


def _part(uid: str) -> str:
    """The UID of what stands between an object, or a leader, and the pods that it is made to make."""
    return str(uuid5(NAMESPACE_URL, uid))


def _owner(kind: str, name: str, uid: str) -> JsonObject:
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "name": name,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
