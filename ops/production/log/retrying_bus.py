"""The bus as services use it: requests wait until the bus answers, and why it did not the last time is in `problems`.

Services read and ask at any moment; a bus that is slow, restarts or comes later than they do must not end them. Storing is
not repeated here: whoever stores knows what to do when it fails. A bus that comes back without the last messages of a stream is
given them again before anything new is stored.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeVar

import structlog

from events.event import Millis
from ops.production.log.given_back import GivingBack
from ops.production.log.kept_tail import KeptTail
from ops.production.log.shared_reading import SharedReading
from services.runtime.clock_port import Clock
from services.runtime.log_errors import DiskFull, LogUnavailable, TailLost
from services.runtime.log_port import Bus, Entry, Head, Message, Stream

log = structlog.get_logger()

T = TypeVar("T")
_RETRY_MS = 500
PAUSE_S = 1.5
"""How long nothing is stored after a connect: services that have read what the bus may have lost come first."""

paused_for = asyncio.sleep


class RetryingBus:
    """A bus whose streams wait for it. `connections` says how often it was connected to, where that is known."""

    def __init__(self, bus: Bus, clock: Clock, connections: Callable[[], int] = lambda: 0) -> None:
        self._bus, self._clock, self._connections = bus, clock, connections
        self.problems: dict[str, str] = {}
        """By stream and what was asked of it: why the bus did not do it the last time; nothing where it did."""
        self.given_back: dict[str, int] = {}
        """By stream, how many messages that it had lost were stored in it again from here."""
        self.asked_once: dict[str, Stream] = {}
        """The streams opened so far, whose requests fail at once when the bus is away, and are no problem of the services."""
        self._full: set[str] = set()
        self._tails: dict[str, KeptTail] = {}
        self._giving: dict[str, GivingBack] = {}
        self._readings: dict[str, dict[str, SharedReading]] = {}
        self._seen = 0
        self._pausing = asyncio.Lock()

    @property
    def disk_full(self) -> bool:
        """Whether the bus has reported a full disk the last time that anything was to be stored in a stream."""
        return bool(self._full)

    async def stream(self, name: str) -> Stream:
        """The stream of that name, as soon as the bus has it. Raises `UnsafeStream`."""
        stream = await self.until_answered(name, "open", lambda: self._bus.stream(name))
        self.asked_once[name] = stream
        tail = self._tails.setdefault(name, KeptTail())
        if name not in self._giving:
            self._giving[name] = GivingBack(stream, tail, self._clock, self.problems, self.given_back)
        found = RetryingStream(stream, self, tail, self._giving[name])
        found.shared = self._readings.setdefault(name, found.shared)
        return found

    def known(self, stream: str) -> int:
        """The last sequence of a stream that was read or stored from here; 0 where none was."""
        tail = self._tails.get(stream)
        return 0 if tail is None else tail.end

    async def close(self) -> None:
        """Close the connection to the bus."""
        await self._bus.close()

    async def until_answered(self, stream: str, what: str, ask: Callable[[], Awaitable[T]]) -> T:
        """The result of `ask`, asked again for as long as the bus is away."""
        while True:
            try:
                return await self.noted(stream, what, ask)
            except LogUnavailable:
                await self._clock.sleep(_RETRY_MS)

    async def noted(self, stream: str, what: str, ask: Callable[[], Awaitable[T]]) -> T:
        """The result of `ask`; when it fails the reason is noted. Raises `LogUnavailable`."""
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

    def connections(self) -> int:
        """How often the bus was connected to; more than before means that messages may have been lost with it."""
        return self._connections()

    async def pause(self) -> None:
        """Return when, after the last connect, services that have read what may be lost had time to give it back."""
        async with self._pausing:
            while (now := self._connections()) != self._seen:
                await paused_for(PAUSE_S)
                self._seen = now


class RetryingStream:
    """One stream of a bus whose calls are tried again while it is away."""

    def __init__(self, stream: Stream, bus: RetryingBus, tail: KeptTail, giving: GivingBack) -> None:
        self._stream, self._bus, self._tail, self._giving = stream, bus, tail, giving
        self.shared: dict[str, SharedReading] = {}
        """In which all of this process follow it, by the partition that reads; empty for who reads everything."""

    @property
    def name(self) -> str:
        """The stream's name."""
        return self._stream.name

    async def append(
        self, subject: str, data: bytes, *, message_id: str, base: int, headers: Mapping[str, str] | None = None
    ) -> int:
        """Store on a condition, as the stream does."""
        await self._whole()
        try:
            sequence = await self._append(subject, data, message_id, base, headers)
        except TailLost:
            await self._giving.back()
            sequence = await self._append(subject, data, message_id, base, headers)
        self._tail.note([Entry(stream=self.name, sequence=sequence, subject=subject, message_id=message_id, data=data)])
        return sequence

    async def _append(
        self, subject: str, data: bytes, message_id: str, base: int, headers: Mapping[str, str] | None
    ) -> int:
        return await self._bus.noted(
            self.name,
            "store",
            lambda: self._stream.append(subject, data, message_id=message_id, base=base, headers=headers),
        )

    async def publish(self, messages: Sequence[Message]) -> None:
        """Store, as the stream does."""
        # A reader that has folded what is not there any more raises that; what was seen is published all the same.
        with suppress(TailLost):
            await self._whole()
        await self._bus.noted(self.name, "store", lambda: self._stream.publish(messages))
        self._tail.published(messages)

    async def _whole(self) -> None:
        """Return when, after the last connection, it was seen to that nothing is missing that is known here. Raises `TailLost`."""
        while (now := self._bus.connections()) != self._giving.seen_to:
            await self._bus.pause()
            await self._giving.back()
            if self._bus.connections() == now and await self._giving.unread():
                self._giving.seen_to = now

    def follow(self, after: int, reader: str = "") -> AsyncIterator[list[Entry]]:
        """All behind `after`, then what comes, fetched once for all who follow for the same reader; it survives by itself that the bus is away.

        What the bus has lost of what was read is given back first. Raises `LogGap`, `TailLost`.
        """
        found = self.shared.get(reader)
        if found is None:
            found = self.shared[reader] = SharedReading(partial(self._follow, reader=reader))
        return found.follow(after)

    async def _follow(self, after: int, reader: str = "") -> AsyncGenerator[list[Entry]]:
        position = after
        while True:
            try:
                async for batch in self._stream.follow(position, reader):
                    self._tail.note(batch)
                    position = max(position, batch[-1].sequence)
                    yield batch
            except TailLost:
                await self._giving.back(position)
                await self._unread_again(position)

    async def nothing_for(self, after: int, reader: str) -> int:
        """Up to where nothing behind `after` is for a partition, as soon as the bus says it."""
        return await self._bus.until_answered(self.name, "read", lambda: self._stream.nothing_for(after, reader))

    async def _unread_again(self, position: int) -> None:
        """Store what was not read here behind what others have read: a bus that loses more meanwhile is given as long again."""
        while self._tail.unread:
            now = self._bus.connections()
            await paused_for(PAUSE_S)
            await self._giving.back(position)
            if self._bus.connections() == now and await self._giving.unread():
                return

    async def read(self, after: int = 0) -> AsyncIterator[list[Entry]]:
        """All behind `after` up to the end as it is now, however long that takes."""
        end = (await self.last()).sequence
        if end <= after:
            return
        async for batch in self._follow(after):
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
