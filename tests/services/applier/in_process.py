"""The embedded API without HTTP, whose every call comes at another moment than it was made."""

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from events.json_object import JsonObject
from ops.production.kubernetes.client import failure_of
from ops.sandbox.embedded_cluster.changes.apply import apply
from ops.sandbox.embedded_cluster.changes.patches import merge_patch
from ops.sandbox.embedded_cluster.failures import ApiFailure, conflict
from ops.sandbox.embedded_cluster.kinds import ApiKind
from ops.sandbox.embedded_cluster.resources import Resources
from ops.sandbox.embedded_cluster.store import Name, Store
from services.runtime.cluster_port import Resource


class NamedObjects(Resources):
    """Objects whose UID is their name; one that is made anew by that name has another."""

    def __init__(self) -> None:
        self._made: Counter[str] = Counter()
        super().__init__(Store(), lambda: 0)

    def _uid(self, kind: ApiKind, name: Name) -> str:
        del kind
        self._made[name[1]] += 1
        return name[1] + "-anew" * (self._made[name[1]] - 1)


class InProcess:
    """Reads and writes what is stored; calls of several writers mix as the seed wants it."""

    def __init__(self, definitions: Sequence[JsonObject], seed: int) -> None:
        self.resources = NamedObjects()
        crds = self.resources.kind("apiextensions.k8s.io", "v1", "customresourcedefinitions")
        for one in definitions:
            self.resources.create(crds, "", one)
        self.asked: list[str] = []
        self._random = random.Random(seed)

    async def get(self, resource: Resource, namespace: str, name: str) -> JsonObject:
        await self._some_time("get")
        return self._answered(lambda: self.resources.get(self.kind(resource), (namespace, name)))

    async def create(self, resource: Resource, namespace: str, value: JsonObject) -> JsonObject:
        await self._some_time("create")
        return self._answered(lambda: self.resources.create(self.kind(resource), namespace, value))

    async def merge(
        self, resource: Resource, namespace: str, name: str, patch: JsonObject, *, subresource: str = ""
    ) -> JsonObject:
        await self._some_time("merge")

        def merged() -> JsonObject:
            before = self._before(resource, (namespace, name), patch)
            return self.resources.update(
                self.kind(resource), (namespace, name), merge_patch(before, patch), subresource=subresource, manager="m"
            )

        return self._answered(merged)

    async def apply(
        self, resource: Resource, namespace: str, value: JsonObject, *, manager: str, subresource: str = ""
    ) -> JsonObject:
        await self._some_time("apply")

        def applied() -> JsonObject:
            name = (namespace, value["metadata"]["name"])
            kind, before = self.kind(resource), self._before(resource, name, value)
            after = apply(
                before,
                value,
                manager=manager,
                force=True,
                now=self.resources.store.version,
                subresource=subresource,
                rule=kind.merging,
            )
            return self.resources.update(kind, name, after, subresource=subresource)

        return self._answered(applied)

    async def delete(
        self, resource: Resource, namespace: str, name: str, *, uid: str = "", at_once: bool = False
    ) -> None:
        await self._some_time("delete")
        options: JsonObject = {"preconditions": {"uid": uid}} if uid else {}
        if at_once:
            options["gracePeriodSeconds"] = 0
        self._answered(lambda: self.resources.delete(self.kind(resource), (namespace, name), options))

    def kind(self, resource: Resource) -> ApiKind:
        return self.resources.kind(resource.group, resource.version, resource.plural)

    def _before(self, resource: Resource, name: Name, patch: JsonObject) -> JsonObject:
        before = self.resources.get(self.kind(resource), name)
        wanted = patch.get("metadata", {}).get("resourceVersion", before["metadata"]["resourceVersion"])
        if wanted != before["metadata"]["resourceVersion"]:
            raise conflict(resource.plural, name[1])
        return before

    async def _some_time(self, call: str) -> None:
        self.asked.append(call)
        for _ in range(self._random.randrange(6)):
            await asyncio.sleep(0)

    def _answered(self, ask: Any) -> Any:
        try:
            return ask()
        except ApiFailure as refused:
            raise failure_of(refused.code, msgspec.json.encode(refused.body)) from refused
