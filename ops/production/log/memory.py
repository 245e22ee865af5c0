"""The log's twin in memory: the same semantics as JetStream, with faults that tests order by name."""

import asyncio
import hashlib
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from enum import StrEnum

from events.event import Millis
from events.subjects import is_for
from ops.production.log.jetstream.pull import stored_at
from services.runtime.log_errors import LogFull, LogGap, LogMovedOn, LogRolled, LogUnavailable, TailLost
from services.runtime.log_port import Entry, Head, Message, Stream

IDS_KNOWN_FOR: Millis = 120_000
"""The window in which a message that comes again under its id is not stored a second time."""


class AppendFault(StrEnum):
    """What goes wrong with the next append or publish."""

    UNAVAILABLE = "unavailable"
    """The message does not arrive."""
    ACK_LOST = "ack lost"
    """The message is stored, and the bus gives no answer within the deadline."""
    FULL = "full"


class MemoryStream:
    """One stream in memory. It knows a message's id for as long as the bus's configuration says, and then no more."""

    def __init__(self, name: str, now: Callable[[], Millis] = lambda: 0, ids_known_for: Millis = IDS_KNOWN_FOR) -> None:
        self.name, self._now, self._ids_known_for = name, now, ids_known_for
        self.entries: list[Entry] = []
        """All that was ever stored; what was rolled and removed is read from here as from an archive."""
        self.first = 1
        """The first sequence that is still on the bus."""
        self.faults: deque[AppendFault] = deque()
        self._ids: dict[str, int] = {}
        self._lost = 0
        """How often it has lost its tail."""
        self._grown = asyncio.Condition()

    async def append(
        self, subject: str, data: bytes, *, message_id: str, base: int, headers: Mapping[str, str] | None = None
    ) -> int:
        """Store on the condition that the stream ends at `base`."""
        await asyncio.sleep(0)
        fault = self._next_fault()
        if base != len(self.entries):
            if self.entries and self.entries[-1].message_id == message_id:
                return len(self.entries)
            if base > len(self.entries):
                raise TailLost(stream=self.name, read=base, found=len(self.entries))
            raise LogMovedOn(stream=self.name, base=base)
        sequence = await self._store(subject, data, message_id, stored_at(headers, self._now()))
        if fault is AppendFault.ACK_LOST:
            # What the adapter does then: the last message shows whether it was ours.
            await asyncio.sleep(0)
        return sequence

    async def publish(self, messages: Sequence[Message]) -> None:
        """Store each message once."""
        await asyncio.sleep(0)
        for message in messages:
            fault = self._next_fault()
            if not self._knows(message.message_id):
                await self._store(message.subject, message.data, message.message_id)
            if fault is AppendFault.ACK_LOST:
                raise LogUnavailable(stream=self.name, problem="no acknowledgement")

    async def follow(self, after: int, reader: str = "") -> AsyncIterator[list[Entry]]:
        """All behind `after`, then what comes; for a reader only what it has to read."""
        position, lost = after, self._lost
        self._check_end(position)
        while True:
            async with self._grown:
                while len(self.entries) <= position and self._lost == lost:
                    await self._grown.wait()
                if self._lost != lost:
                    # Something else may stand by now where it has lost what was read: whoever reads has to look.
                    raise TailLost(stream=self.name, read=position, found=len(self.entries))
                self._check_first(position + 1)
                batch = self.entries[position:]
            position += len(batch)
            if reader:
                batch = [entry for entry in batch if is_for(entry.subject, reader)]
            if batch:
                yield batch

    async def nothing_for(self, after: int, reader: str) -> int:
        """Up to where nothing behind `after` is for a partition."""
        await asyncio.sleep(0)
        meant = (entry.sequence - 1 for entry in self.entries[after:] if is_for(entry.subject, reader))
        return next(meant, len(self.entries))

    async def read(self, after: int = 0) -> AsyncIterator[list[Entry]]:
        """All behind `after`, as it is now."""
        await asyncio.sleep(0)
        self._check_first(after + 1)
        batch = self.entries[after:]
        if batch:
            yield batch

    async def last(self) -> Head:
        """Sequence, message id and hash of the last message."""
        await asyncio.sleep(0)
        if not self.entries:
            return Head()
        entry = self.entries[-1]
        return Head(sequence=entry.sequence, message_id=entry.message_id, sha256=hashlib.sha256(entry.data).hexdigest())

    async def get(self, sequence: int) -> Entry:
        """One message."""
        await asyncio.sleep(0)
        if not 1 <= sequence <= len(self.entries):
            raise LogGap(stream=self.name, expected=sequence, found=len(self.entries))
        self._check_first(sequence)
        return self.entries[sequence - 1]

    async def repeat(self, message: Message) -> None:
        """Store a message although its id is known: what comes again when the bus has forgotten the first."""
        await self._store(message.subject, message.data, message.message_id)

    async def now(self) -> Millis:
        """The time of whoever made the bus; 0 when it has none."""
        await asyncio.sleep(0)
        return self._now()

    def remove(self, upto: int) -> None:
        """Take away what was rolled: it is not on the bus any more, and its ids are forgotten."""
        self.first = max(self.first, upto + 1)
        self._ids = {message_id: sequence for message_id, sequence in self._ids.items() if sequence > upto}

    def truncate(self, keep: int) -> None:
        """Lose the tail: what one flipped bit does to a stored stream (docs/rules/log.md#lost-tail)."""
        del self.entries[keep:]
        self._ids = {entry.message_id: entry.sequence for entry in self.entries}
        self._lost += 1

    async def lose(self, keep: int) -> None:
        """Lose the tail, and wake its readers, as a bus does that comes back without what it had not synced."""
        self.truncate(keep)
        async with self._grown:
            self._grown.notify_all()

    def until(self, at: Millis) -> "MemoryStream":
        """A stream that holds what was stored here by then, as one does that is restored from a backup."""
        kept = MemoryStream(self.name, self._now, self._ids_known_for)
        kept.entries = [entry for entry in self.entries if entry.stored <= at]
        kept.truncate(len(kept.entries))
        return kept

    def _check_end(self, position: int) -> None:
        """Raises `TailLost` when it ends before what was read."""
        if position > len(self.entries):
            raise TailLost(stream=self.name, read=position, found=len(self.entries))

    def _check_first(self, sequence: int) -> None:
        """Raises `LogRolled` when what is asked for was removed."""
        if sequence < self.first:
            raise LogRolled(stream=self.name, expected=sequence, first=self.first)

    def _knows(self, message_id: str) -> bool:
        sequence = self._ids.get(message_id)
        return sequence is not None and self._now() - self.entries[sequence - 1].stored < self._ids_known_for

    def _next_fault(self) -> AppendFault | None:
        fault = self.faults.popleft() if self.faults else None
        if fault is AppendFault.UNAVAILABLE:
            raise LogUnavailable(stream=self.name, problem="the bus is down")
        if fault is AppendFault.FULL:
            raise LogFull(stream=self.name)
        return fault

    async def _store(self, subject: str, data: bytes, message_id: str, stored: Millis | None = None) -> int:
        sequence = len(self.entries) + 1
        entry = Entry(
            stream=self.name,
            sequence=sequence,
            subject=subject,
            message_id=message_id,
            data=data,
            stored=self._now() if stored is None else stored,
        )
        self.entries.append(entry)
        self._ids[message_id] = sequence
        async with self._grown:
            self._grown.notify_all()
        return sequence


class MemoryBus:
    """A bus whose streams are in memory, for simulations and tests."""

    def __init__(self, now: Callable[[], Millis] = lambda: 0, ids_known_for: Millis = IDS_KNOWN_FOR) -> None:
        self._now, self._ids_known_for = now, ids_known_for
        self.streams: dict[str, MemoryStream] = {}

    async def stream(self, name: str) -> Stream:
        """The stream of that name."""
        await asyncio.sleep(0)
        return self.memory(name)

    def memory(self, name: str) -> MemoryStream:
        """The stream itself, for tests that order faults or look inside."""
        return self.streams.setdefault(name, MemoryStream(name, self._now, self._ids_known_for))

    def until(self, at: Millis) -> "MemoryBus":
        """A bus that holds what was stored on this one by then."""
        kept = MemoryBus(self._now, self._ids_known_for)
        kept.streams = {name: stream.until(at) for name, stream in self.streams.items()}
        return kept

    async def close(self) -> None:
        """Nothing to close."""
        await asyncio.sleep(0)
