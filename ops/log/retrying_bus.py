"""The bus as services use it: what they ask waits until the bus answers, and what it lacked last is told.

Services read and ask at any moment; a bus that is slow, restarts or comes later than they do must not end them. Storing is
not repeated here: whoever stores knows what to do when it fails.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

import structlog

from events.event import Millis
from services.runtime.clock_port import Clock
from services.runtime.log_errors import DiskFull, LogUnavailable
from services.runtime.log_port import Bus, Entry, Head, Message, Stream

log = structlog.get_logger()

T = TypeVar("T")
_RETRY_MS = 500


class RetryingBus:
    """A bus whose streams wait for it."""

    def __init__(self, bus: Bus, clock: Clock) -> None:
        self._bus, self._clock = bus, clock
        self.problems: dict[str, str] = {}
        """By stream and what was asked of it: why the bus did not do it the last time; nothing where it did."""
        self._full: set[str] = set()

    @property
    def disk_full(self) -> bool:
        """Whether the bus has told of a full disk the last time that anything was to be stored in a stream."""
        return bool(self._full)

    async def stream(self, name: str) -> Stream:
        """The stream of that name, as soon as the bus has it. Raises `UnsafeStream`."""
        return RetryingStream(await self.until_answered(name, "open", lambda: self._bus.stream(name)), self)

    async def close(self) -> None:
        """Let go of the bus."""
        await self._bus.close()

    async def until_answered(self, stream: str, what: str, ask: Callable[[], Awaitable[T]]) -> T:
        """What `ask` gives, asked again for as long as the bus is away."""
        while True:
            try:
                return await self.noted(stream, what, ask)
            except LogUnavailable:
                await self._clock.sleep(_RETRY_MS)

    async def noted(self, stream: str, what: str, ask: Callable[[], Awaitable[T]]) -> T:
        """What `ask` gives, with a note of what was in its way. Raises `LogUnavailable`."""
        key = f"{stream} {what}"
        try:
            found = await ask()
        except LogUnavailable as problem:
            (self._full.add if isinstance(problem, DiskFull) else self._full.discard)(key)
            if self.problems.get(key) != str(problem):
                self.problems[key] = str(problem)
                log.warning("log unavailable", stream=stream, asked=what, problem=str(problem))
            raise
        self._full.discard(key)
        if self.problems.pop(key, ""):
            log.warning("log available again", stream=stream, asked=what)
        return found


class RetryingStream:
    """One stream of a patient bus."""

    def __init__(self, stream: Stream, bus: RetryingBus) -> None:
        self._stream, self._bus = stream, bus

    @property
    def name(self) -> str:
        """The stream's name."""
        return self._stream.name

    async def append(
        self, subject: str, data: bytes, *, message_id: str, base: int, headers: Mapping[str, str] | None = None
    ) -> int:
        """Store on a condition, as the stream does."""
        return await self._bus.noted(
            self.name,
            "store",
            lambda: self._stream.append(subject, data, message_id=message_id, base=base, headers=headers),
        )

    async def publish(self, messages: Sequence[Message]) -> None:
        """Store, as the stream does."""
        await self._bus.noted(self.name, "store", lambda: self._stream.publish(messages))

    def follow(self, after: int) -> AsyncIterator[list[Entry]]:
        """All behind `after`, then what comes; it survives by itself that the bus is away."""
        return self._stream.follow(after)

    async def read(self, after: int = 0) -> AsyncIterator[list[Entry]]:
        """All behind `after` up to the end as it is now, however long that takes."""
        end = (await self.last()).sequence
        if end <= after:
            return
        async for batch in self._stream.follow(after):
            yield [entry for entry in batch if entry.sequence <= end]
            if batch[-1].sequence >= end:
                return

    async def last(self) -> Head:
        """The end of the stream, as soon as the bus says it."""
        return await self._bus.until_answered(self.name, "read", self._stream.last)

    async def now(self) -> Millis:
        """The bus's own time, as soon as it says it."""
        return await self._bus.until_answered(self.name, "read", self._stream.now)

    async def get(self, sequence: int) -> Entry:
        """One message, as soon as the bus gives it. Raises `LogGap`."""
        return await self._bus.until_answered(self.name, "read", lambda: self._stream.get(sequence))
