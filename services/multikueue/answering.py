"""What is asked of one worker cluster: while it answers nothing it is asked one thing at a time, and nobody else waits for it.

Rule: docs/rules/multikueue.md#connection
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from events.json_object import JsonObject
from services.runtime.cluster_port import (
    AccessRefused,
    ClusterUnavailable,
    ObjectConflict,
    ObjectInvalid,
    ObjectMissing,
    Resource,
    Writer,
)

T = TypeVar("T")
SILENT_S = 5.0
"""How long a request was waited for that ended without an answer, for its cluster to count as silent."""


class Answering:
    """Whether a worker cluster answers; over all connections to it, for one that is opened again may answer no more than the last."""

    def __init__(self) -> None:
        self.silent = False
        self.in_vain = 0
        """How many connections in a row were given up because a read on them was not answered."""
        self._waiting = 0

    def check(self) -> None:
        """Raises `ClusterUnavailable` while it answers nothing and somebody waits for an answer already."""
        if self.silent and self._waiting:
            raise ClusterUnavailable("it does not answer, and is asked one thing at a time")

    async def answer(self, request: Callable[[], Awaitable[T]], unread: Callable[[], None] | None = None) -> T:
        """The answer to a request; `unread` is called where none came to one that no webhook can hold up. Raises what it raises."""
        self.check()
        begun = asyncio.get_running_loop().time()
        self._waiting += 1
        try:
            found = await request()
        except (asyncio.CancelledError, TimeoutError):
            # Who waits for several answers gives up after some of them: this one need not have been late.
            if asyncio.get_running_loop().time() - begun >= SILENT_S:
                self.silent = True
                if unread is not None:
                    unread()
            raise
        except (AccessRefused, ObjectConflict, ObjectInvalid, ObjectMissing):
            self.silent, self.in_vain = False, 0
            raise
        finally:
            self._waiting -= 1
        self.silent, self.in_vain = False, 0
        return found


class AnsweringCluster(Writer):
    """A worker cluster as its writers ask it."""

    def __init__(self, cluster: Writer, answering: Answering, unread: Callable[[], None]) -> None:
        self._cluster, self._answering, self._unread = cluster, answering, unread

    async def get(self, resource: Resource, namespace: str, name: str) -> JsonObject:
        """One object as it is now."""
        return await self._answering.answer(lambda: self._cluster.get(resource, namespace, name), self._unread)

    async def create(self, resource: Resource, namespace: str, value: JsonObject) -> JsonObject:
        """A new object, which a webhook there may hold up."""
        return await self._answering.answer(lambda: self._cluster.create(resource, namespace, value))

    async def merge(
        self, resource: Resource, namespace: str, name: str, patch: JsonObject, *, subresource: str = ""
    ) -> JsonObject:
        """A merge patch, which a webhook there may hold up."""
        return await self._answering.answer(
            lambda: self._cluster.merge(resource, namespace, name, patch, subresource=subresource)
        )

    async def apply(
        self, resource: Resource, namespace: str, value: JsonObject, *, manager: str, subresource: str = ""
    ) -> JsonObject:
        """A server-side apply with force."""
        return await self._answering.answer(
            lambda: self._cluster.apply(resource, namespace, value, manager=manager, subresource=subresource)
        )

    async def delete(
        self, resource: Resource, namespace: str, name: str, *, uid: str = "", at_once: bool = False
    ) -> None:
        """Take an object away, which a webhook there may hold up."""
        return await self._answering.answer(
            lambda: self._cluster.delete(resource, namespace, name, uid=uid, at_once=at_once)
        )
