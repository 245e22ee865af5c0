"""What lies between processes and the world in a simulated history: the bus and the API server as faults let them through."""

import asyncio
import random
from collections.abc import AsyncIterator, Mapping, Sequence

from ops.cluster.clock import ScaledClock
from ops.cluster.failures import ApiFailure, conflict
from ops.log.memory import MemoryBus, MemoryStream
from ops.simulate.faults import Kind
from services.cluster_port import ClusterUnavailable
from services.log_errors import LogUnavailable
from services.log_port import Entry, Head, Message, Stream

_DEADLINE_S = 5.0
"""So long the client of the bus waits for an answer."""
_WRITES = frozenset({"POST", "PATCH", "DELETE"})


class Weather:
    """The faults that are about to strike, and those that last."""

    def __init__(self, loop: asyncio.AbstractEventLoop, seed: int) -> None:
        self.loop = loop
        self.chance = random.Random(f"{seed}/weather")  # noqa: S311 - a world, not a secret
        self.calm = False
        """Everything passes at once from now on."""
        self._armed: dict[tuple[str, Kind], tuple[int, float]] = {}
        self._lasting: dict[tuple[str, Kind], tuple[float, float]] = {}

    def arm(self, process: str, kind: Kind, times: int, seconds: float = 0.0) -> None:
        """Have the next so many calls of a process struck; an empty name stands for anybody."""
        self._armed[process, kind] = (times, seconds)

    def last(self, process: str, kind: Kind, seconds: float, strength: float = 0.0) -> None:
        """Have a fault last for so long."""
        self._lasting[process, kind] = (self.loop.time() + seconds, strength)

    def clear(self) -> None:
        """Nothing goes wrong any more."""
        self.calm = True
        self._armed.clear()
        self._lasting.clear()

    def strikes(self, process: str, kind: Kind) -> float | None:
        """Whether this call is struck, and how long that takes in seconds."""
        for whose in (process, ""):
            left, seconds = self._armed.get((whose, kind), (0, 0.0))
            if left:
                self._armed[whose, kind] = (left - 1, seconds)
                return seconds
        return None

    def lasts(self, process: str, kind: Kind) -> float | None:
        """Whether it is so now, and how much."""
        for whose in (process, ""):
            until, strength = self._lasting.get((whose, kind), (0.0, 0.0))
            if self.loop.time() < until:
                return strength
        return None

    async def latency(self) -> None:
        """The time of a way that takes some."""
        await asyncio.sleep(self.chance.choice(_LATENCIES))


_LATENCIES = (0.0, 0.0, 0.0, 0.001, 0.002, 0.01)


class ProcessClock(ScaledClock):
    """The clock of one process, which may go wrong by so many milliseconds."""

    def __init__(self, start: int, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(1.0, start, loop.time)
        self.wrong_by = 0

    def now(self) -> int:
        """The time, as this process has it."""
        return super().now() + self.wrong_by


class Connection:
    """A process's connection to the bus."""

    def __init__(self, bus: MemoryBus, process: str, weather: Weather) -> None:
        self._bus, self._process, self._weather = bus, process, weather

    async def stream(self, name: str) -> Stream:
        """The stream of that name, as this process reaches it."""
        await passed(self._weather, self._process, name)
        return ConnectedStream(self._bus.memory(name), self._process, self._weather)

    async def close(self) -> None:
        """Nothing to let go of."""


async def passed(weather: Weather, process: str, stream: str) -> None:
    """The way to the bus. Raises `LogUnavailable`."""
    await weather.latency()
    if weather.lasts(process, Kind.BUS_DOWN) is not None:
        raise LogUnavailable(stream=stream, problem="the bus is down")


class ConnectedStream:
    """One stream as a process reaches it."""

    def __init__(self, stream: MemoryStream, process: str, weather: Weather) -> None:
        self._stream, self._process, self._weather = stream, process, weather

    @property
    def name(self) -> str:
        """The stream's name."""
        return self._stream.name

    async def append(
        self, subject: str, data: bytes, *, message_id: str, base: int, headers: Mapping[str, str] | None = None
    ) -> int:
        """Store a message on a condition, if it gets there."""
        await self._there()
        sequence = await self._stream.append(subject, data, message_id=message_id, base=base, headers=headers)
        await self._back()
        return sequence

    async def publish(self, messages: Sequence[Message]) -> None:
        """Store messages, if they get there; the bus may take only the first of them."""
        await self._there()
        for message in messages:
            await self._stream.publish([message])
            late = self._weather.strikes(self._process, Kind.MESSAGE_DOUBLED)
            if late is not None:
                self._weather.loop.call_later(late, self._repeat, message)
        if self._weather.strikes(self._process, Kind.ACK_LOST) is not None:
            await asyncio.sleep(_DEADLINE_S)
            raise LogUnavailable(stream=self.name, problem="no acknowledgement")
        await self._back()

    def _repeat(self, message: Message) -> None:
        self._repeating = asyncio.ensure_future(self._stream.repeat(message))

    async def follow(self, after: int) -> AsyncIterator[list[Entry]]:
        """All behind `after`, then what comes, as late as it gets here."""
        async for batch in self._stream.follow(after):
            late = self._weather.lasts(self._process, Kind.DELIVERY_LATE)
            if late is not None:
                await asyncio.sleep(late)
            yield batch
            if self._weather.strikes(self._process, Kind.DELIVERY_DOUBLED) is not None:
                yield batch

    async def read(self, after: int = 0) -> AsyncIterator[list[Entry]]:
        """All behind `after`, as it is now."""
        await passed(self._weather, self._process, self.name)
        async for batch in self._stream.read(after):
            yield batch

    async def last(self) -> Head:
        """The end."""
        await passed(self._weather, self._process, self.name)
        return await self._stream.last()

    async def get(self, sequence: int) -> Entry:
        """One message."""
        await passed(self._weather, self._process, self.name)
        return await self._stream.get(sequence)

    async def now(self) -> int:
        """The bus's own time."""
        await passed(self._weather, self._process, self.name)
        return await self._stream.now()

    async def _there(self) -> None:
        await passed(self._weather, self._process, self.name)
        late = self._weather.strikes(self._process, Kind.MESSAGE_LATE)
        if late is not None:
            await asyncio.sleep(late)
        if self._weather.strikes(self._process, Kind.MESSAGE_LOST) is not None:
            raise LogUnavailable(stream=self.name, problem="the message did not arrive")

    async def _back(self) -> None:
        """The way of the answer; one that got lost is resolved by a look, unless that fails too."""
        if self._weather.strikes(self._process, Kind.ACK_UNRESOLVED) is not None:
            await asyncio.sleep(_DEADLINE_S)
            raise LogUnavailable(stream=self.name, problem="no answer at all")
        if self._weather.strikes(self._process, Kind.ACK_LOST) is not None:
            await asyncio.sleep(_DEADLINE_S)
        await self._weather.latency()


class ApiGate:
    """A process's way to the API server."""

    def __init__(self, process: str, weather: Weather) -> None:
        self._process, self._weather = process, weather

    async def before(self, method: str, path: str) -> None:
        """A request is on its way."""
        await self._weather.latency()
        slow = self._weather.lasts(self._process, Kind.API_SLOW)
        if slow is not None:
            await asyncio.sleep(slow)
        if self._weather.strikes(self._process, Kind.API_BUSY) is not None:
            raise ApiFailure(429, "TooManyRequests", "too many requests", retry_after=1)
        if self._weather.strikes(self._process, Kind.API_BROKEN) is not None:
            raise ApiFailure(self._weather.chance.choice((500, 502, 503, 504)), "InternalError", "not now")
        if method == "PATCH" and self._weather.strikes(self._process, Kind.API_CONFLICT) is not None:
            raise conflict(path.split("/")[-1], path)

    async def after(self, method: str, path: str) -> None:
        """The answer is on its way."""
        del path
        await self._weather.latency()
        if method in _WRITES and self._weather.strikes(self._process, Kind.API_CUT) is not None:
            raise ClusterUnavailable("the connection was cut", 0.2)

    async def line(self, path: str) -> None:
        """A line of a watch is on its way."""
        del path
        late = self._weather.lasts(self._process, Kind.LATE_WATCHER)
        if late is not None:
            await asyncio.sleep(late)
