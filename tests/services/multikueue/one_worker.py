"""A worker cluster with the copy and the job of one workload, as the writer of other clusters meets it."""

import asyncio
from typing import Any

from events.api.labels import MULTIKUEUE_ORIGIN, POD_SETS, PREBUILT_WORKLOAD_NAME
from events.codec import decode_sighting
from events.event import Millis
from events.json_object import JsonObject
from events.subjects import FACTS
from ops.production.kubernetes.absent import AbsentCluster
from ops.production.log.memory import MemoryStream
from ops.production.process.clock import ScaledClock
from services.multikueue.connection import ClusterConnection
from services.multikueue.remote_plan import RemotePlan
from services.multikueue.remote_workloads import WORKLOADS
from services.multikueue.seen import SeenElsewhere
from services.multikueue.writing import RemoteWriter
from services.runtime.cluster_port import ObjectConflict, ObjectMissing, Resource
from tests.services.multikueue.test_restored_clusters import Opened, Seen
from tests.services.multikueue.test_rules import Manager


def batch_job(*, active: int = 0, **meta: Any) -> JsonObject:
    """A Job by the name of the workload, of which so many pods run."""
    found = {"name": "a", "namespace": "team", "uid": "uid-job", "resourceVersion": "1", "labels": {}, **meta}
    status = {"active": active} if active else {}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": found, "spec": {"suspend": False}, "status": status}


class Here(AbsentCluster):
    """The manager's own cluster: its job, and what was shown on it."""

    def __init__(self, job: JsonObject) -> None:
        self.job, self.shown = job, list[JsonObject]()
        self.workload: JsonObject | None = None

    async def get(self, resource: Resource, namespace: str, name: str) -> JsonObject:
        del namespace, name
        if resource.kind != "Workload":
            return self.job
        if self.workload is None:
            raise ObjectMissing("there is no object of it")
        return self.workload

    async def merge(
        self, resource: Resource, namespace: str, name: str, patch: JsonObject, *, subresource: str = ""
    ) -> JsonObject:
        del resource, namespace, name, subresource
        self.shown.append(patch)
        self.job = {**self.job, "status": {**self.job["status"], **patch["status"]}}
        return self.job


class There(AbsentCluster):
    """A worker cluster, and what was written in it."""

    def __init__(self, copy: JsonObject | None = None) -> None:
        self.copy, self.job = copy, None
        self.created: list[str] = []
        self.deleted: list[str] = []
        self.merged: list[JsonObject] = []

    job: JsonObject | None

    async def get(self, resource: Resource, namespace: str, name: str) -> JsonObject:
        del namespace
        found = self.copy if resource.kind == "Workload" else self.job
        if found is None or name != "a":
            raise ObjectMissing(f"no {resource.kind} {name}")
        return found

    async def create(self, resource: Resource, namespace: str, value: JsonObject) -> JsonObject:
        del namespace
        if (self.copy if resource.kind == "Workload" else self.job) is not None:
            raise ObjectConflict("it is there already")
        self.created.append(resource.kind)
        if resource.kind == "Workload":
            self.copy = value
            return value
        self.job = {**value, "metadata": {**value["metadata"], "uid": "made", "resourceVersion": "1"}, "status": {}}
        return self.job

    async def merge(
        self, resource: Resource, namespace: str, name: str, patch: JsonObject, *, subresource: str = ""
    ) -> JsonObject:
        del namespace, name, subresource
        self.merged.append(patch)
        return await self.get(resource, "", "a")

    async def delete(
        self, resource: Resource, namespace: str, name: str, *, uid: str = "", at_once: bool = False
    ) -> None:
        del namespace, name, uid, at_once
        self.deleted.append(resource.kind)
        if resource.kind == "Workload":
            self.copy = None
        else:
            self.job = None

    async def close(self) -> None: ...


class OneWorker:
    """The clusters w1, where the copy stands, and w2, where nothing does; what the manager wants of them is written."""

    def __init__(
        self,
        manager: Manager,
        local: JsonObject,
        *,
        conditions: dict[str, str] | None = None,
        scale: float = 1000.0,
    ) -> None:
        """With `conditions`, a reason for each type, there is a copy in w1. Its time passes `scale` times faster."""
        self.manager, self.here = manager, Here(local)
        self.w1, self.w2 = There(None if conditions is None else _copy(conditions)), There()
        self.clock, self._facts = ScaledClock(scale), MemoryStream(FACTS)
        self._seen = SeenElsewhere(self._facts, self.clock, lambda _: "")
        self._connections = {"w1": self._connected("w1", self.w1), "w2": self._connected("w2", self.w2)}
        self._writer = RemoteWriter(self.here, self.clock, self._connections, self._seen)

    def _connected(self, name: str, cluster: There) -> ClusterConnection:
        opened = Opened(Seen())
        found = ClusterConnection(name, AbsentCluster(), opened, self.clock, self._seen, lambda _: None, opened)
        found.remote = cluster  # pyright: ignore[reportAttributeAccessIssue] - nothing of it is watched
        return found

    def put(self, there: There, name: str = "w1") -> None:
        """This is one of the clusters from now on."""
        self.w1, self.w2 = (there, self.w2) if name == "w1" else (self.w1, there)
        self._connections[name] = self._connected(name, there)

    def runs(self, job: JsonObject) -> None:
        """This manager's job stands in w1."""
        meta = {**job["metadata"], "labels": {MULTIKUEUE_ORIGIN: "multikueue", PREBUILT_WORKLOAD_NAME: "a"}}
        self.w1.job = {**job, "metadata": meta}

    async def write(self, wanted: RemotePlan | None = None) -> Millis:
        """What is wanted by now is written once, and what is told of it is on the log; how long to wait before it is written again."""
        storing = asyncio.create_task(self._seen.outbox.run())
        wait = await self._writer.write(wanted or self.manager.plan)
        await self._seen.outbox.stored()
        storing.cancel()
        return wait

    def told(self, kind: type[Any]) -> list[Any]:
        """The facts of a kind that were told."""
        found = [decode_sighting(one.data).fact for one in self._facts.entries]
        return [one for one in found if isinstance(one, kind)]


def workload_here(*, asks: str) -> JsonObject:
    """The Workload here, written with these pod sets."""
    value = _copy({})
    return {**value, "metadata": {**value["metadata"], "uid": "here", "labels": {}, "annotations": {POD_SETS: asks}}}


def _copy(conditions: dict[str, str]) -> JsonObject:
    told = [
        {"type": kind, "status": "True", "reason": why, "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        for kind, why in conditions.items()
    ]
    labels = {MULTIKUEUE_ORIGIN: "multikueue"}
    meta = {"name": "a", "namespace": "team", "uid": "copy-w1", "resourceVersion": "9", "labels": labels}
    spec = {"queueName": "lq", "podSets": [{"name": "main", "count": 1}]}
    value = {"apiVersion": WORKLOADS.version, "kind": "Workload", "metadata": meta, "spec": spec}
    return {**value, "status": {"conditions": told}}
