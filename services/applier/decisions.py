"""The commits of a partition by their numbers, with those of the partitions in which its history begins, and of its forks.

Rule: docs/rules/log.md#moved
"""

from collections.abc import AsyncIterator, Awaitable, Callable

from events.commit import Commit
from events.hash_chain import bytes_hash
from events.subjects import CONTROL, decisions_stream
from services.runtime.control_log import Control, read_control
from services.runtime.log_errors import LogGap
from services.runtime.log_port import Entry, Stream
from services.runtime.partition.stored_message import Opened, open_message

MOST = 2000
"""So many of the last commits of a partition are looked through."""


class Decisions:
    """What was decided about the workloads of one partition, wherever it is stored."""

    def __init__(self, own: Stream, control: Control, stream: Callable[[str], Awaitable[Stream]]) -> None:
        self._own, self._control, self._stream = own, control, stream

    async def get(self, number: int) -> Entry:
        """The commit of a number. Raises `LogGap`, `LogUnavailable`."""
        for name in reversed(self._control.lineage(self._own.name)):
            sequence = self._control.sequence_of(name, number)
            if sequence > 0:
                return await (await self._at(name)).get(sequence)
        raise LogGap(stream=self._own.name, expected=number, found=0)

    async def later(self, number: int) -> AsyncIterator[Commit]:
        """The last commits behind a number that count, one by one; what was rolled away is left out.

        Raises `LogUnavailable`, and `MessageNotOurs` at one that can't be read and was not skipped on record: it may say anything.
        """
        for name in await self._related():
            stream = await self._at(name)
            last = (await stream.last()).sequence
            for sequence in range(max(self._control.sequence_of(name, number), last - MOST, 0) + 1, last + 1):
                try:
                    opened = open_message(await stream.get(sequence), self._control)
                except LogGap:
                    continue  # Whoever reads so late begins with a saved world.
                if isinstance(opened, Opened) and isinstance(opened.message, Commit):
                    yield opened.message

    async def number_of(self, stream: str, sequence: int, sha256: str) -> int:
        """The number of a commit of this log; 0 where another stands there: another log may have decided here before."""
        if stream not in self._control.lineage(self._own.name):
            return 0
        try:
            entry = await (await self._at(stream)).get(sequence)
        except LogGap:
            return 0
        return self._control.number(stream, sequence) if bytes_hash(entry.data) == sha256 else 0

    async def _at(self, name: str) -> Stream:
        return self._own if name == self._own.name else await self._stream(name)

    async def _related(self) -> list[str]:
        """The lineage, and all forks, also of whom this process has not heard yet: it may read late."""
        found = list(self._control.lineage(self._own.name))
        if self._control.partitions > 1:
            await read_control(await self._stream(CONTROL), self._control)
        for name in (decisions_stream(str(number)) for number in range(self._control.partitions)):
            if self._own.name in self._control.lineage(name)[:-1]:
                found.append(name)
        return found
