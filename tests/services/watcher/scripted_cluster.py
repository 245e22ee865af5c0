"""A cluster as several watchers see it, each through a gate of its own that can be closed: then it is late."""

import asyncio
from collections.abc import AsyncIterator
from itertools import count

from events.json_object import JsonObject
from events.settings import SettingsObserved
from events.subjects import FACTS
from ops.production.log.memory import MemoryStream
from ops.production.process.clock import ScaledClock
from services.runtime.cluster_port import Changed, Listed, Resource, Sight, Vanished
from services.runtime.log_port import Entry, Message
from services.watcher.shell import Watcher


class Objects:
    """What is in the cluster, and what has happened to it."""

    def __init__(self, version: int = 100) -> None:
        self.version = version
        self.there: dict[tuple[str, str, str], JsonObject] = {}
        self.history: list[tuple[str, Sight]] = []
        self.restored = 0
        """How often the store was restored: then all watches break, and everything is listed."""
        self.news = asyncio.Condition()

    async def put(self, kind: str, value: JsonObject) -> JsonObject:
        """Create or change an object."""
        self.version += 1
        stored = {**value, "metadata": {**value["metadata"], "resourceVersion": str(self.version)}}
        self.there[_key(kind, value)] = stored
        await self._happened(kind, Changed(stored))
        return stored

    async def remove(self, kind: str, value: JsonObject) -> None:
        """Delete an object."""
        self.version += 1
        last = self.there.pop(_key(kind, value))
        meta = {**last["metadata"], "resourceVersion": str(self.version)}
        await self._happened(kind, Vanished({**last, "metadata": meta}))

    async def restore(self, version: int, there: dict[tuple[str, str, str], JsonObject]) -> None:
        """Go back to what was stored once."""
        self.version, self.there = version, dict(there)
        self.history.clear()
        self.restored += 1
        async with self.news:
            self.news.notify_all()

    def listed(self, kind: str) -> Listed:
        """All objects of a kind."""
        return Listed([one for key, one in sorted(self.there.items()) if key[0] == kind], str(self.version))

    async def _happened(self, kind: str, sight: Sight) -> None:
        self.history.append((kind, sight))
        async with self.news:
            self.news.notify_all()


class Gate:
    """One watcher's way to the cluster and to the log: closed, it sees nothing of what happens, until it is opened."""

    def __init__(self, objects: Objects) -> None:
        self.objects = objects
        self.cluster, self.log = asyncio.Event(), asyncio.Event()
        self.cluster.set()
        self.log.set()
        self.upto: dict[str, tuple[int, int]] = {}

    def close(self) -> None:
        """Nothing comes through from now on."""
        self.cluster.clear()
        self.log.clear()

    async def watch(self, resource: Resource) -> AsyncIterator[Sight]:
        """As a reflector does."""
        objects = self.objects
        while True:
            await self.cluster.wait()
            restored, position = objects.restored, len(objects.history)
            yield objects.listed(resource.kind)
            while restored == objects.restored:
                async with objects.news:
                    while restored == objects.restored and position == len(objects.history):
                        self.upto[resource.kind] = restored, position
                        await objects.news.wait()
                await self.cluster.wait()
                while restored == objects.restored and position < len(objects.history):
                    kind, sight = objects.history[position]
                    position += 1
                    if kind == resource.kind:
                        yield sight

    def caught_up(self) -> bool:
        """Whether all that has happened was seen."""
        now = self.objects.restored, len(self.objects.history)
        return bool(self.upto) and all(position == now for position in self.upto.values())


class GatedStream(MemoryStream):
    """The stream of facts behind a gate. No message is taken for a repetition: more time has passed than that is known."""

    def __init__(self, inner: MemoryStream, gate: Gate) -> None:
        super().__init__(FACTS)
        self._inner, self._gate = inner, gate
        self.entries = inner.entries
        self.heard = 0

    async def publish(self, messages: "list[Message] | tuple[Message, ...]") -> None:  # type: ignore[override]
        """Store all of them."""
        await self._inner.publish([one._replace(message_id=f"{next(_NUMBERS)}") for one in messages])

    async def follow(self, after: int, reader: str = "") -> AsyncIterator[list[Entry]]:
        """What comes, when the gate lets it."""
        self.heard = after
        async for batch in self._inner.follow(after, reader):
            await self._gate.log.wait()
            yield batch
            self.heard = batch[-1].sequence


class OneOfSeveral:
    """A watcher behind its gate."""

    def __init__(self, objects: Objects, stream: MemoryStream, settings: SettingsObserved | None = None) -> None:
        self.gate = Gate(objects)
        self.stream = GatedStream(stream, self.gate)
        self.watcher = Watcher(self.gate, self.stream, ScaledClock(500), settings=settings)
        self.task = asyncio.create_task(self.watcher.run())

    async def end(self) -> None:
        """It is killed."""
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)

    @property
    def at_rest(self) -> bool:
        """Whether it has told of all that it can see, and has heard all that was told."""
        told = self.stream.heard == len(self.stream.entries)
        return self.watcher.listed.is_set() and self.gate.caught_up() and told


async def rest(*watchers: OneOfSeveral) -> None:
    """Until all of them have nothing more to tell."""
    calm = 0
    while calm < _CALM:
        before = len(watchers[0].stream.entries)
        await asyncio.sleep(0.002)
        for one in watchers:
            if one.task.done():
                one.task.result()
        still = len(watchers[0].stream.entries) == before and all(one.at_rest for one in watchers)
        calm = calm + 1 if still else 0


_CALM = 5
_NUMBERS = count()
"""Of messages: also two that are published at once are told apart."""


def _key(kind: str, value: JsonObject) -> tuple[str, str, str]:
    return kind, value["metadata"].get("namespace", ""), value["metadata"]["name"]
