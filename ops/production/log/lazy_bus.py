"""A bus on JetStream that may come later than the services that use it: it is connected to when it is first asked."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence

from ops.production.log.jetstream.bus import JetStreamBus, connect
from ops.production.log.jetstream.capacity import StreamFill
from services.runtime.lease_port import Leases, Replica
from services.runtime.log_port import Stream
from services.runtime.packed import Packed
from services.runtime.shelf_port import Shelf, ShelfLabel

_PATIENCE_S = 3.0


class LazyBus:
    """Connects as soon as somebody answers at its address."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._bus: JetStreamBus | None = None
        self._connecting = asyncio.Lock()
        self.shelf: Shelf = _LateShelf(self)
        """Where saved worlds are kept for whoever starts anew."""
        self.leases: Leases = _LateLeases(self)
        """Where replicas say who of them tries."""

    async def stream(self, name: str) -> Stream:
        """The stream of that name. Raises `LogUnavailable` while nobody answers, `UnsafeStream`."""
        return await (await self.connected()).stream(name)

    def connections(self) -> int:
        """How often it was connected to."""
        return self._bus.connections() if self._bus is not None else 0

    async def filled(self, names: Sequence[str]) -> list[StreamFill]:
        """How full the streams are that take in now. Raises `LogUnavailable`."""
        return await (await self.connected()).filled(names)

    def unreadable(self) -> list[str]:
        """Which streams can't be read for want of a right, each with what to do."""
        return self._bus.unreadable() if self._bus is not None else []

    async def connected(self) -> JetStreamBus:
        """The bus itself. Raises `LogUnavailable`."""
        async with self._connecting:
            if self._bus is None:
                self._bus = await connect(self._url, patience=_PATIENCE_S)
        return self._bus

    async def close(self) -> None:
        """Let go of the connection, if there is one."""
        if self._bus is not None:
            await self._bus.close()


class _LateShelf:
    """The shelf on a bus that may come later."""

    def __init__(self, bus: LazyBus) -> None:
        self._bus = bus

    async def prepare(self) -> None:
        await (await self._bus.connected()).shelf.prepare()

    async def put(self, key: str, kept: Packed | Iterable[bytes], *, upto: Mapping[str, int], rules: str) -> None:
        await (await self._bus.connected()).shelf.put(key, kept, upto=upto, rules=rules)

    async def labels(self, key: str) -> list[ShelfLabel]:
        return await (await self._bus.connected()).shelf.labels(key)

    async def take(self, label: ShelfLabel) -> bytes | None:
        return await (await self._bus.connected()).shelf.take(label)


class _LateLeases:
    """The leases on a bus that may come later."""

    def __init__(self, bus: LazyBus) -> None:
        self._bus = bus

    async def prepare(self) -> None:
        await (await self._bus.connected()).leases.prepare()

    async def holder(self, name: str) -> str:
        return await (await self._bus.connected()).leases.holder(name)

    async def take(self, name: str, replica: str) -> int:
        return await (await self._bus.connected()).leases.take(name, replica)

    async def renew(self, name: str, replica: str, held: int) -> int:
        return await (await self._bus.connected()).leases.renew(name, replica, held)

    async def give_back(self, name: str, held: int) -> None:
        await (await self._bus.connected()).leases.give_back(name, held)

    async def announce(self, replica: Replica) -> None:
        await (await self._bus.connected()).leases.announce(replica)

    async def leave(self, replica: str) -> None:
        await (await self._bus.connected()).leases.leave(replica)

    async def replicas(self) -> Sequence[Replica]:
        return await (await self._bus.connected()).leases.replicas()
