"""The last messages of a stream that this process knows, so that a bus that has lost them can be given them again."""

from collections.abc import Iterable, Sequence

from services.runtime.log_port import Entry, Message

MOST = 1000
"""So many of them are kept: a bus that loses more has lost more than what it had not yet brought to its disk."""
MOST_BYTES = 8 << 20


class KeptTail:
    """What was read of a stream or stored in it last, and what was stored and has not been read yet."""

    def __init__(self) -> None:
        self.end = 0
        """The last sequence that is known to have stood there."""
        self._entries: dict[int, Entry] = {}
        self._unread: dict[str, Message] = {}
        self._bytes = 0

    def of(self, sequence: int) -> Entry | None:
        """The message of that sequence, if it is still kept."""
        return self._entries.get(sequence)

    @property
    def unread(self) -> list[Message]:
        """What was stored from here without a condition, and has not come back yet."""
        return list(self._unread.values())

    def note(self, entries: Iterable[Entry]) -> None:
        """Keep entries that were read from the stream; what was stored by us and is among them has arrived."""
        for entry in entries:
            self._unread.pop(entry.message_id, None)
            known = self._entries.get(entry.sequence)
            if known is None:
                self._bytes += len(entry.data)
                self.end = max(self.end, entry.sequence)
            if known is None or (not known.stored and known.data == entry.data):
                # Of what was stored from here it is not known when, before it is read.
                self._entries[entry.sequence] = entry
        while len(self._entries) > MOST or self._bytes > MOST_BYTES:
            self._bytes -= len(self._entries.pop(next(iter(self._entries))).data)

    def published(self, messages: Sequence[Message]) -> None:
        """These were taken in, at sequences that are not known yet."""
        self._unread.update({one.message_id: one for one in messages})
        while len(self._unread) > MOST:
            del self._unread[next(iter(self._unread))]
