"""The objects of a real cluster as tests read them: kept by kuelog's own Reflector, and brought up to date before they count."""

import asyncio
from collections.abc import Iterable

from msgspec.structs import replace

from events.json_object import JsonObject
from ops.production.crds.definitions import manifests as definitions
from ops.production.kubernetes.client import KubeClient, path_of
from ops.production.kubernetes.reflector import Reflector
from ops.sandbox.embedded_cluster.kinds import BUILT_IN, ApiKind, kinds_of
from services.runtime.cluster_port import Changed, Listed, ObjectMissing, Resource, Vanished

Name = tuple[str, str]
"""Namespace (empty for cluster-wide kinds) and name."""


def resource_at(kind: ApiKind) -> Resource:
    """The place of a kind on the API."""
    return Resource(
        group=kind.group, version=kind.version, plural=kind.plural, kind=kind.kind, namespaced=kind.namespaced
    )


class Cache:
    """The objects of one kind. Versions count up over all kinds, so of two answers it is known which is the later."""

    def __init__(self, resource: Resource) -> None:
        self.resource, self.objects = resource, dict[Name, JsonObject]()
        self.changes = 0
        """How often an object was seen to change."""
        self._at = 0

    def fill(self, objects: Iterable[JsonObject], version: int) -> None:
        """Everything there was at a version."""
        if version > self._at:
            self._at = version
            self.objects = {_name(one): one for one in objects}

    def see(self, value: JsonObject, *, gone: bool = False) -> None:
        """One change."""
        version = int(value["metadata"]["resourceVersion"])
        self.changes += 1
        if version <= self._at:
            return
        self._at = version
        if gone:
            self.objects.pop(_name(value), None)
        else:
            self.objects[_name(value)] = value


class Caches:
    """Some kinds of a cluster, by plural and group, as the embedded store names them."""

    def __init__(self, client: KubeClient) -> None:
        self.news: set[asyncio.Queue[str]] = set()
        """Told the kind of each change."""
        self.losses = 0
        """How many objects were seen to go."""
        self.kinds: dict[str, ApiKind] = {one.key: one for one in BUILT_IN}
        self.followed: dict[str, Cache] = {}
        self._client = client
        self._tasks: list[asyncio.Task[None]] = []
        for one in definitions():
            self.learn(one)

    def learn(self, definition: JsonObject) -> str:
        """Know the kind of a definition in the version that is stored."""
        kind = next(one for one in kinds_of(definition) if one.version == one.storage)
        self.kinds[kind.key] = kind
        return kind.key

    def serve_older(self, group: str, version: str) -> None:
        """The cluster serves the kinds of a group in an older version alone."""
        for key, kind in self.kinds.items():
            if kind.group == group:
                self.kinds[key] = replace(kind, version=version)

    def kind_of(self, value: JsonObject) -> ApiKind:
        """The kind of an object, or of what refers to one."""
        group = value["apiVersion"].rpartition("/")[0]
        return next(one for one in self.kinds.values() if (one.group, one.kind) == (group, value["kind"]))

    def resource_of(self, value: JsonObject) -> Resource:
        """The place of an object's kind in its own version."""
        version = value["apiVersion"].rpartition("/")[2]
        return replace(resource_at(self.kind_of(value)), version=version)

    def of(self, key: str) -> dict[Name, JsonObject]:
        """The objects of a kind that is followed."""
        return self.followed[key].objects

    def resource(self, key: str) -> Resource:
        """The place of a kind."""
        return resource_at(self.kinds[key])

    async def follow(self, *keys: str) -> None:
        """Keep these kinds from now on."""
        for key in keys:
            if key not in self.followed:
                self.followed[key] = cache = Cache(self.resource(key))
                self._tasks.append(asyncio.create_task(self._keep(key, cache)))
        await self.refresh(*keys)

    async def refresh(self, *keys: str) -> None:
        """Read kinds anew, or all of them: what was true of any when this was called is then known of each."""
        await asyncio.gather(*(self._read(self.followed[key]) for key in keys or self.followed))

    async def close(self) -> None:
        """Follow nothing any more."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _read(self, cache: Cache) -> None:
        try:
            told = await self._client.request("GET", path_of(cache.resource))
        except ObjectMissing:
            return
        cache.fill(_whole(told.get("items") or (), cache.resource), int(told["metadata"]["resourceVersion"]))

    async def _keep(self, key: str, cache: Cache) -> None:
        async for sight in Reflector(self._client).watch(cache.resource):
            match sight:
                case Listed():
                    await self._read(cache)
                case Changed():
                    cache.see(sight.object)
                case Vanished():
                    cache.see(sight.object, gone=True)
                    self.losses += 1
            for queue in self.news:
                queue.put_nowait(key)


def _whole(objects: Iterable[JsonObject], resource: Resource) -> Iterable[JsonObject]:
    """Built-in objects in a list do not say what they are."""
    api = f"{resource.group}/{resource.version}" if resource.group else resource.version
    return ({"apiVersion": api, "kind": resource.kind, **one} for one in objects)


def _name(value: JsonObject) -> Name:
    return value["metadata"].get("namespace", ""), value["metadata"]["name"]
