"""What was listed of a kind is let go of when whoever watches has seen it: it is by far the most that ever comes at once."""

import asyncio
import gc
import weakref
from collections.abc import AsyncGenerator
from contextlib import aclosing

import msgspec

from events.json_object import JsonObject
from ops.production.kubernetes.client import ApiRequests
from ops.production.kubernetes.reflector import Reflector
from services.runtime.cluster_port import Changed, Listed, Resource

MAPS = Resource(plural="configmaps", kind="ConfigMap")
CHANGE = {"type": "MODIFIED", "object": {"metadata": {"name": "a", "resourceVersion": "8"}}}


class Weak(dict[str, object]):
    """An object that tells whether anybody still has it."""


class OneServer(ApiRequests):
    """Lists one object, then tells of one change, and of nothing more."""

    def __init__(self) -> None:
        self.given: list[weakref.ref[Weak]] = []

    async def once(self, method: str, path: str, data: bytes | None, form: str) -> JsonObject:
        found = Weak(metadata={"name": "a", "resourceVersion": "7"})
        self.given.append(weakref.ref(found))
        return {"metadata": {"resourceVersion": "7"}, "items": [found]}

    async def lines(self, path: str) -> AsyncGenerator[bytes, None]:
        yield msgspec.json.encode(CHANGE)
        await asyncio.Event().wait()


async def test_while_a_kind_is_watched_nobody_holds_what_was_listed_of_it() -> None:
    server = OneServer()
    async with aclosing(Reflector(server).watch(MAPS)) as sights:
        assert isinstance(await anext(sights), Listed)
        assert isinstance(await anext(sights), Changed)
        gc.collect()
        assert [one() for one in server.given] == [None]
