"""What a bare API server lacks, played through its API: Job controller, scheduler, kubelets and the garbage collector.

They are those of the embedded cluster. Each round they look at a copy of what the caches hold, and what they have changed in
it is asked of the API server; so whatever they do that a real one refuses shows.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from events.json_object import JsonObject
from events.json_path import difference
from ops.production.kubernetes.client import KubeClient, path_of
from ops.production.process.clock import ScaledClock
from ops.sandbox.embedded_cluster.controllers.controller import Controller
from ops.sandbox.embedded_cluster.controllers.job import JobController
from ops.sandbox.embedded_cluster.nodes.kubelet import Kubelet
from ops.sandbox.embedded_cluster.nodes.pod_garbage import PodGarbage
from ops.sandbox.embedded_cluster.nodes.scheduler import Scheduler
from ops.sandbox.embedded_cluster.resources import Resources
from ops.sandbox.embedded_cluster.store import Name, Store
from services.runtime.cluster_port import ClusterUnavailable, ObjectConflict, ObjectMissing, Resource
from tests.stage.caches import Caches

JOBS = Resource(group="batch", plural="jobs", kind="Job")
PODS = Resource(plural="pods", kind="Pod")
PLAYED = {"jobs.batch": JOBS, "pods": PODS}
_MIRRORED = ("nodes", *PLAYED)
_OWNED = ("pods", "jobs.batch", "workloads.kueue.x-k8s.io")
_UNSAID = ("uid", "resourceVersion", "creationTimestamp", "generation")


class Players:
    """Whoever is missing, on one cluster."""

    def __init__(
        self,
        client: KubeClient,
        caches: Caches,
        clock: ScaledClock,
        spaces: Sequence[str],
        *,
        jobs: bool,
        scheduler: bool,
        garbage: bool,
    ) -> None:
        self._client, self._caches, self._clock, self._garbage = client, caches, clock, garbage
        self._losses = 0
        self._store = Store()
        resources = Resources(self._store, clock.now)
        for space in spaces:
            self._store.put("namespaces", ("", space), {"metadata": {"name": space}})
        kinds: list[type[Controller]] = [Kubelet]
        if scheduler:
            kinds.insert(0, Scheduler)
        if jobs:
            kinds += [JobController, PodGarbage]
        self._controllers = [kind(resources, clock) for kind in kinds]

    async def run(self) -> None:
        """Play until cancelled."""
        news: asyncio.Queue[str] = asyncio.Queue()
        self._caches.news.add(news)
        try:
            while True:
                try:
                    if self._garbage and self._losses < self._caches.losses:
                        self._losses = self._caches.losses
                        await self._collect()
                    if await self._round():
                        await self._caches.refresh(*PLAYED)
                    else:
                        await self._wait(news)
                except ClusterUnavailable:
                    await asyncio.sleep(0.1)  # Somebody has killed the API server.
        finally:
            self._caches.news.discard(news)

    async def _wait(self, news: "asyncio.Queue[str]") -> None:
        """Return when it may be that something is to be done."""
        due = [found for one in self._controllers if (found := one.due()) is not None]
        left = (min(due) - self._clock.now()) / 1000 / self._clock.scale if due else None
        try:
            async with asyncio.timeout(None if left is None else max(left, 0)):
                while await news.get() not in _MIRRORED and self._losses == self._caches.losses:
                    continue
        except TimeoutError:
            return

    async def _round(self) -> bool:
        """Look at everything once; whether anything was asked of the API server."""
        before = {key: dict(self._caches.of(key)) for key in _MIRRORED}
        self._store.objects |= {key: dict(objects) for key, objects in before.items()}
        for controller in self._controllers:
            controller.look_at_all()
        asked = False
        for key, resource in PLAYED.items():
            for name in {**before[key], **self._store.of(key)}:
                old, new = before[key].get(name), self._store.get(key, name)
                if new is not old:
                    await self._ask(resource, name, old, new)
                    asked = True
        return asked

    async def _ask(self, resource: Resource, name: Name, old: JsonObject | None, new: JsonObject | None) -> None:
        namespace, called = name
        path = path_of(resource, namespace, called)
        try:
            if old is None:
                assert new is not None
                await self._client.create(resource, namespace, _unsaid(new))
            elif new is None:
                await self._client.request("DELETE", path, {"gracePeriodSeconds": 0})
            elif new["metadata"].get("deletionTimestamp") and not old["metadata"].get("deletionTimestamp"):
                await self._client.delete(resource, namespace, called)
            else:
                await self._change(resource, name, old, new)
        except (ObjectConflict, ObjectMissing):
            return  # Somebody was faster: the next round sees what is true.

    async def _change(self, resource: Resource, name: Name, old: JsonObject, new: JsonObject) -> None:
        namespace, called = name
        version = {"resourceVersion": old["metadata"]["resourceVersion"]}
        notes = difference(old["metadata"].get("annotations") or {}, new["metadata"].get("annotations") or {})
        if notes:
            patch = {"metadata": {**version, "annotations": notes}}
            version = {}
            await self._client.merge(resource, namespace, called, patch)
        if new["spec"].get("nodeName") != old["spec"].get("nodeName"):
            target = {"apiVersion": "v1", "kind": "Node", "name": new["spec"]["nodeName"]}
            binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": called}, "target": target}
            version = {}
            await self._client.request("POST", path_of(resource, namespace, called, "binding"), binding)
        shown = difference(old.get("status") or {}, new.get("status") or {})
        if shown:
            patch = {"metadata": version, "status": shown}
            await self._client.merge(resource, namespace, called, patch, subresource="status")

    async def _collect(self) -> None:
        """Delete what is owned by nobody who is still there."""
        there = {one["metadata"]["uid"] for key in self._caches.followed for one in self._caches.of(key).values()}
        for key in _OWNED:
            for (namespace, called), value in list(self._caches.of(key).items()):
                owners = value["metadata"].get("ownerReferences") or []
                if not owners or any(one["uid"] in there for one in owners) or await self._is_owned(namespace, owners):
                    continue
                with suppress(ObjectMissing):
                    await self._client.delete(self._caches.resource(key), namespace, called)

    async def _is_owned(self, namespace: str, owners: list[JsonObject]) -> bool:
        """Whether any of the owners is there, by their own word: what the caches hold may be older than what is owned."""
        for one in owners:
            try:
                found = await self._client.get(self._caches.resource_of(one), namespace, one["name"])
            except ObjectMissing:
                continue
            if found["metadata"]["uid"] == one["uid"]:
                return True
        return False


def _unsaid(value: JsonObject) -> JsonObject:
    """A new object without what the API server says of it."""
    meta = {name: one for name, one in value["metadata"].items() if name not in _UNSAID}
    return {name: one for name, one in {**value, "metadata": meta}.items() if name != "status"}
