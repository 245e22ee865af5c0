"""The queues of a load on a cluster: created before it, taken away behind it, and never anything that was there before."""

from collections.abc import Iterable
from contextlib import suppress

from events.json_object import JsonObject
from ops.production.kubernetes.client import KubeClient
from ops.sandbox.bench.problems import ClusterInUse, KindsMissing
from services.applier.manifests import finalizers_left
from services.runtime.cluster_port import ObjectConflict, ObjectMissing, Resource


class BenchPlatform:
    """Objects that are created together and deleted together, but for a namespace: it could not be used again soon."""

    def __init__(self, client: KubeClient, objects: Iterable[tuple[Resource, JsonObject]]) -> None:
        self._client, self._objects = client, list(objects)
        self._made: list[tuple[Resource, str, str]] = []

    async def create(self) -> None:
        """Create all of them, or none. Raises `ClusterInUse`, `KindsMissing`."""
        try:
            for resource, value in self._objects:
                await self._create(resource, value)
        except (ClusterInUse, KindsMissing):
            await self.remove()
            raise

    async def remove(self) -> None:
        """Delete what was created, and drop our finalizers, because kuelog may have ended before."""
        while self._made:
            place = self._made.pop()
            with suppress(ObjectMissing, ObjectConflict):
                await self._client.delete(*place)
                await self._let_go(*place)

    async def _let_go(self, resource: Resource, namespace: str, name: str) -> None:
        meta = (await self._client.get(resource, namespace, name))["metadata"]
        left = finalizers_left(meta)
        if left is not None:
            patch = {"metadata": {"resourceVersion": meta["resourceVersion"], "finalizers": left}}
            await self._client.merge(resource, namespace, name, patch)

    async def _create(self, resource: Resource, value: JsonObject) -> None:
        meta = value["metadata"]
        place = (resource, str(meta.get("namespace", "")), str(meta["name"]))
        try:
            await self._client.create(resource, place[1], value)
        except ObjectConflict as conflict:
            if resource.kind != "Namespace":
                raise ClusterInUse(resource.kind, meta["name"]) from conflict
        except ObjectMissing as missing:
            raise KindsMissing from missing
        else:
            if resource.kind != "Namespace":
                self._made.append(place)
