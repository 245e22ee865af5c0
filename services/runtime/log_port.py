"""The port to the log: conditional append, publish, follow and read; the same on NATS JetStream and in memory."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec

from events.event import Millis


class Entry(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One stored message. Sequences of a stream are gapless and begin at 1."""

    stream: str
    sequence: int
    subject: str
    message_id: str
    data: bytes
    trace: str = ""
    """The id of the trace that stored it, where one was kept."""
    stored: Millis = 0
    """The bus's own time at which it was stored; 0 where that is not known."""


class Head(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The end of a stream: its last sequence (0 when empty), and the SHA-256 of the bytes stored there."""

    sequence: int = 0
    message_id: str = ""
    sha256: str = ""
    copied: bool = False
    """Whether it is the end of a copy, each stream of which comes by itself and may be behind what others of it rest on."""


class Message(NamedTuple):
    """A message to be published: subject, bytes, the id by which a repetition is known, and headers of a trace."""

    subject: str
    data: bytes
    message_id: str
    headers: Mapping[str, str] = {}


class Stream(Protocol):
    """One stream of the log: appended to at an expected sequence, read from any, never changed."""

    @property
    def name(self) -> str:
        """The stream's name: FACTS, LOG_0, DEVICES_default, CONTROL."""
        ...

    async def append(
        self, subject: str, data: bytes, *, message_id: str, base: int, headers: Mapping[str, str] | None = None
    ) -> int:
        """Store a message if the stream ends at `base`; its sequence. An acknowledgement that got lost is resolved.

        Raises `LogMovedOn` when somebody wrote first, `TailLost` when it ends before `base`, `LogFull`, `LogUnavailable`.
        """
        ...

    async def publish(self, messages: Sequence[Message]) -> None:
        """Store messages without a condition, in order, each once. Raises `LogFull`, `LogUnavailable`."""
        ...

    def follow(self, after: int, reader: str = "") -> AsyncIterator[list[Entry]]:
        """All that is stored behind `after`, then what comes, for ever, in batches. Raises `LogGap`, `TailLost`.

        With a `reader`, the name of a partition, what is for other partitions alone may be left out: what is missing between two
        messages is no gap then.
        """
        ...

    async def nothing_for(self, after: int, reader: str) -> int:
        """The last of the sequences stored behind `after` up to which nothing is for a partition. Raises `LogUnavailable`."""
        ...

    def read(self, after: int = 0) -> AsyncIterator[list[Entry]]:
        """All that is stored behind `after` up to the end as it is now."""
        ...

    async def last(self) -> Head:
        """Sequence and time of the last message."""
        ...

    async def get(self, sequence: int) -> Entry:
        """One message. Raises `LogGap` when it is not there."""
        ...

    async def now(self) -> Millis:
        """The bus's own time; 0 when it is not known. Raises `LogUnavailable`."""
        ...


class Bus(Protocol):
    """The server that holds the streams."""

    async def stream(self, name: str) -> Stream:
        """The stream of that name, created if it is not there."""
        ...

    async def close(self) -> None:
        """Close the connection to the bus; streams of it can't be used afterwards."""
        ...
