"""The bus as one simulated process reaches it: what faults let through, and when."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence

from ops.production.log.memory import MemoryBus, MemoryStream
from ops.sandbox.simulate.active_faults import ActiveFaults
from ops.sandbox.simulate.fault_plan import FaultKind
from services.runtime.log_errors import LogUnavailable
from services.runtime.log_port import Entry, Head, Message, Stream

_DEADLINE_S = 5.0
"""How long the client of the bus waits for an answer."""


class SimulatedConnection:
    """A process's connection to the bus."""

    def __init__(self, bus: MemoryBus, process: str, faults: ActiveFaults) -> None:
        self._bus, self._process, self._faults = bus, process, faults

    async def stream(self, name: str) -> Stream:
        """The stream of that name, as this process reaches it."""
        await passed(self._faults, name)
        return ConnectedStream(self._bus.memory(name), self._process, self._faults)

    async def close(self) -> None:
        """Nothing to close."""


async def passed(faults: ActiveFaults, stream: str) -> None:
    """The way to the bus. Raises `LogUnavailable`."""
    await faults.latency()
    if faults.bus_is_down:
        raise LogUnavailable(stream=stream, problem="the bus is down")


class ConnectedStream:
    """One stream as a process reaches it."""

    def __init__(self, stream: MemoryStream, process: str, faults: ActiveFaults) -> None:
        self._stream, self._process, self._faults = stream, process, faults

    @property
    def name(self) -> str:
        """The stream's name."""
        return self._stream.name

    async def append(
        self, subject: str, data: bytes, *, message_id: str, base: int, headers: Mapping[str, str] | None = None
    ) -> int:
        """Store a message on a condition, if it gets there."""
        cuts = await self._there()
        sequence = await self._stream.append(subject, data, message_id=message_id, base=base, headers=headers)
        await self._back(cuts)
        return sequence

    async def publish(self, messages: Sequence[Message]) -> None:
        """Store messages, if they get there; the bus may take only the first of them."""
        cuts = await self._there()
        for message in messages:
            self._hold(cuts)
            await self._stream.publish([message])
            late = self._faults.strikes(self._process, FaultKind.MESSAGE_DOUBLED)
            if late is not None:
                self._faults.held_up(late)
                self._faults.loop.call_later(late, self._repeat, message, cuts)
        if self._faults.strikes(self._process, FaultKind.ACK_LOST) is not None:
            await asyncio.sleep(_DEADLINE_S)
            raise LogUnavailable(stream=self.name, problem="no acknowledgement")
        await self._back(cuts)

    def _repeat(self, message: Message, cuts: int) -> None:
        if cuts == self._faults.cuts:
            self._repeating = asyncio.ensure_future(self._stream.repeat(message))

    async def follow(self, after: int, reader: str = "") -> AsyncIterator[list[Entry]]:
        """All behind `after`, then what comes, as late as it gets here."""
        async for batch in self._stream.follow(after, reader):
            await self._faults.hold_up(self._faults.lasts(self._process, FaultKind.DELIVERY_LATE))
            yield batch
            if self._faults.strikes(self._process, FaultKind.DELIVERY_DOUBLED) is not None:
                yield batch

    async def nothing_for(self, after: int, reader: str) -> int:
        """Up to where nothing behind `after` is for a partition."""
        await passed(self._faults, self.name)
        return await self._stream.nothing_for(after, reader)

    async def read(self, after: int = 0) -> AsyncIterator[list[Entry]]:
        """All behind `after`, as it is now."""
        await passed(self._faults, self.name)
        async for batch in self._stream.read(after):
            yield batch

    async def last(self) -> Head:
        """The end."""
        await passed(self._faults, self.name)
        return await self._stream.last()

    async def get(self, sequence: int) -> Entry:
        """One message."""
        await passed(self._faults, self.name)
        return await self._stream.get(sequence)

    async def now(self) -> int:
        """The bus's own time."""
        await passed(self._faults, self.name)
        return await self._stream.now()

    async def _there(self) -> int:
        """How often the bus had ended when the message was sent."""
        cuts = self._faults.cuts
        await passed(self._faults, self.name)
        if self._faults.lasts(self.name, FaultKind.STREAM_ROLL) is not None:
            raise LogUnavailable(stream=self.name, problem="it is being rolled")
        await self._faults.hold_up(self._faults.strikes(self._process, FaultKind.MESSAGE_LATE))
        if self._faults.strikes(self._process, FaultKind.MESSAGE_LOST) is not None:
            raise LogUnavailable(stream=self.name, problem="the message did not arrive")
        self._hold(cuts)
        return cuts

    def _hold(self, cuts: int) -> None:
        """What is on the way when the bus ends is lost with the connection."""
        if cuts != self._faults.cuts:
            raise LogUnavailable(stream=self.name, problem="the connection was lost")

    async def _back(self, cuts: int) -> None:
        """The way of the answer; one that got lost is resolved by a look, unless that fails too."""
        if self._faults.strikes(self._process, FaultKind.ACK_UNRESOLVED) is not None:
            await asyncio.sleep(_DEADLINE_S)
            raise LogUnavailable(stream=self.name, problem="no answer at all")
        if self._faults.strikes(self._process, FaultKind.ACK_LOST) is not None:
            await asyncio.sleep(_DEADLINE_S)
        await self._faults.latency()
        self._hold(cuts)
