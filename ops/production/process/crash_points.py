"""Death on order: a process that kills itself at one of its await points, so that tests can try every one of them.

A point is a call to the outside, before or after it: `append:before:2` is the moment before the second append.
"""

import os
import signal
from collections.abc import AsyncIterator, Callable, Mapping, Sequence

from events.event import Millis
from events.json_object import JsonObject
from services.runtime.cluster_port import Resource, Writer
from services.runtime.log_port import Bus, Entry, Head, Message, Stream

POINTS = tuple(
    f"{call}:{when}"
    for call in ("append", "publish", "get", "create", "merge", "apply", "queue-merge")
    for when in ("before", "after")
)
"""All await points at which a service touches the log or the cluster."""


class CrashPoints:
    """Counts the calls to the outside, and dies at the one that was ordered."""

    def __init__(self, order: str) -> None:
        self._call, self._when, self._left = "", "", 0
        if order:
            call, when, number = order.split(":")
            self._call, self._when, self._left = call, when, int(number)

    def pass_point(self, call: str, when: str) -> None:
        """Have the process killed here if this is the call, and the time of it, that was ordered."""
        if (call, when) != (self._call, self._when):
            return
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def bus(self, bus: Bus) -> Bus:
        """The bus, with death in its calls; itself when none was ordered."""
        return _MortalBus(bus, self.pass_point) if self._call else bus

    def writer(self, writer: Writer) -> Writer:
        """The writer, with death in its calls; itself when none was ordered."""
        return _MortalWriter(writer, self.pass_point) if self._call else writer


PassPoint = Callable[[str, str], None]


class _MortalBus:
    def __init__(self, bus: Bus, point: PassPoint) -> None:
        self._bus, self._point = bus, point

    async def stream(self, name: str) -> Stream:
        return _MortalStream(await self._bus.stream(name), self._point)

    async def close(self) -> None:
        await self._bus.close()


class _MortalStream:
    def __init__(self, stream: Stream, point: PassPoint) -> None:
        self._stream, self._point = stream, point

    @property
    def name(self) -> str:
        return self._stream.name

    async def append(
        self, subject: str, data: bytes, *, message_id: str, base: int, headers: Mapping[str, str] | None = None
    ) -> int:
        self._point("append", "before")
        sequence = await self._stream.append(subject, data, message_id=message_id, base=base, headers=headers)
        self._point("append", "after")
        return sequence

    async def publish(self, messages: Sequence[Message]) -> None:
        self._point("publish", "before")
        await self._stream.publish(messages)
        self._point("publish", "after")

    def follow(self, after: int, reader: str = "") -> AsyncIterator[list[Entry]]:
        return self._stream.follow(after, reader)

    async def nothing_for(self, after: int, reader: str) -> int:
        return await self._stream.nothing_for(after, reader)

    def read(self, after: int = 0) -> AsyncIterator[list[Entry]]:
        return self._stream.read(after)

    async def last(self) -> Head:
        return await self._stream.last()

    async def get(self, sequence: int) -> Entry:
        return await self._stream.get(sequence)

    async def now(self) -> Millis:
        return await self._stream.now()


class _MortalWriter:
    def __init__(self, writer: Writer, point: PassPoint) -> None:
        self._writer, self._point = writer, point

    async def get(self, resource: Resource, namespace: str, name: str) -> JsonObject:
        call = _call("get", resource)
        self._point(call, "before")
        found = await self._writer.get(resource, namespace, name)
        self._point(call, "after")
        return found

    async def create(self, resource: Resource, namespace: str, value: JsonObject) -> JsonObject:
        self._point("create", "before")
        made = await self._writer.create(resource, namespace, value)
        self._point("create", "after")
        return made

    async def merge(
        self, resource: Resource, namespace: str, name: str, patch: JsonObject, *, subresource: str = ""
    ) -> JsonObject:
        call = _call("merge", resource)
        self._point(call, "before")
        merged = await self._writer.merge(resource, namespace, name, patch, subresource=subresource)
        self._point(call, "after")
        return merged

    async def apply(
        self, resource: Resource, namespace: str, value: JsonObject, *, manager: str, subresource: str = ""
    ) -> JsonObject:
        self._point("apply", "before")
        applied = await self._writer.apply(resource, namespace, value, manager=manager, subresource=subresource)
        self._point("apply", "after")
        return applied

    async def delete(
        self, resource: Resource, namespace: str, name: str, *, uid: str = "", at_once: bool = False
    ) -> None:
        await self._writer.delete(resource, namespace, name, uid=uid, at_once=at_once)


def _call(name: str, resource: Resource) -> str:
    """Statuses of queues are written whenever there is time: counted with the rest, no number would mean one moment."""
    return f"queue-{name}" if resource.plural in _QUEUES else name


_QUEUES = frozenset({"clusterqueues", "localqueues", "cohorts"})
