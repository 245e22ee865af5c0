"""A log cut into the files of an archive: how much goes into one."""

from collections.abc import AsyncIterator, Iterable, Iterator

from services.runtime.log_errors import LogGap
from services.runtime.log_port import Entry, Stream

SEGMENT = 20_000
"""So many messages stand in one file at most."""
SEGMENT_BYTES = 8 << 20
"""A file that holds so much is full: it is read whole, by whoever needs one message of it."""


class _Part:
    """Messages that go into a file, until it is full."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._bytes = 0

    def fills(self, entry: Entry) -> bool:
        """One more message; whether it is the last that goes in."""
        self.entries.append(entry)
        self._bytes += len(entry.data)
        return len(self.entries) >= SEGMENT or self._bytes >= SEGMENT_BYTES


def files_of(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    """Messages, as many at a time as go into a file."""
    part = _Part()
    for entry in entries:
        if part.fills(entry):
            yield part.entries
            part = _Part()
    if part.entries:
        yield part.entries


async def parts_of(stream: Stream, begin: int, end: int) -> AsyncIterator[list[Entry]]:
    """The messages behind one sequence up to another, as many at a time as go into a file. Raises `LogGap`."""
    if begin >= end:
        return
    part, last = _Part(), begin
    async for batch in stream.read(begin):
        for entry in batch:
            if entry.sequence > end:
                break
            last = entry.sequence
            if part.fills(entry) or last == end:
                yield part.entries
                part = _Part()
        if last >= end:
            return
    raise LogGap(stream=stream.name, expected=end, found=last)
