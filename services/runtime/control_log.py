"""The CONTROL stream: which partitions there are, which messages of the log are skipped, and how fast its clocks run.

Every reader of the log reads it before it decodes anything else, so that an unreadable message can't block the record that
skips it.
"""

from collections.abc import Iterable

from events.authors import why_not_commit
from events.codec import NotOurs, decode_commit
from events.control import ClockScaled, ForkedFrom, LogPartitioned, Quarantined
from events.event import Millis
from events.subjects import CONTROL, decisions_stream
from projections.log_position import LogPosition
from projections.partitions.lineage import lineage
from services.runtime.log_port import Entry, Stream

AHEAD: Millis = 10_000
"""A message's time may be this many milliseconds ahead of the bus's; a later time is cut to that."""


class Control:
    """The state folded from the CONTROL stream; an unreadable message in it does not block those behind it."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self.skipped: dict[tuple[str, int], str] = {}
        """The reason by stream and sequence."""
        self.partitions = 1
        """How many partitions of trees there are."""
        self.forks: dict[str, ForkedFrom] = {}
        """By partition, where its history begins, of those that begin as forks of others."""
        self.position = 0
        """The last sequence that was taken in."""
        self._clocks: list[ClockScaled] = []
        self._unread: dict[int, str] = {}
        self.take(entries)

    def take(self, entries: Iterable[Entry]) -> None:
        """Take in messages of the stream of control, in order; those that were taken in before are dropped."""
        for entry in entries:
            if entry.sequence > self.position:
                self.position = entry.sequence
                self._take_one(entry)

    def skips(self, entry: Entry) -> bool:
        """Whether an operator had this message skipped."""
        return (entry.stream, entry.sequence) in self.skipped

    @property
    def unread(self) -> dict[int, str]:
        """By sequence, the problem of each message of the stream that does not count and was not skipped by an operator."""
        return {sequence: why for sequence, why in self._unread.items() if (CONTROL, sequence) not in self.skipped}

    def lineage(self, partition: str) -> tuple[str, ...]:
        """The partitions in which its history is, the first one first and itself last."""
        return lineage(self.forks, partition)

    def number(self, stream: str, sequence: int) -> int:
        """The number of what stands at a sequence: numbers grow over all of a lineage, sequences begin with each partition anew."""
        fork = self.forks.get(stream)
        return sequence if fork is None else fork.above + sequence

    def place(self, entry: Entry, at: Millis) -> LogPosition:
        """Where a message stands, by its number."""
        return LogPosition(partition=entry.stream, sequence=self.number(entry.stream, entry.sequence), at=at)

    def sequence_of(self, stream: str, number: int) -> int:
        """The sequence on a stream of what has this number; not above 0 where it was decided before the stream began."""
        fork = self.forks.get(stream)
        return number if fork is None else number - fork.above

    def latest(self, stored: Millis) -> Millis | None:
        """The latest time that counts for a message stored at `stored`; None when that is unknown (0)."""
        if not stored:
            return None
        if not self._clocks:
            return stored + AHEAD
        ahead = [
            (stored - one.since) * one.rate // _ONE - (stored - one.since)
            for one in self._clocks
            if one.rate > _ONE and stored > one.since
        ]
        return stored + max(ahead, default=0) + AHEAD

    def scaled(self, rate: int, since: Millis) -> bool:
        """Whether it is on record that clocks run at least at this rate (in thousandths) since then."""
        return any(one.rate >= rate and one.since <= since for one in self._clocks)

    def _take_one(self, entry: Entry) -> None:
        try:
            commit = decode_commit(entry.data)
        except NotOurs as problem:
            self._unread[entry.sequence] = str(problem)
            return
        why = why_not_commit(commit, CONTROL, entry.subject)
        if why:
            self._unread[entry.sequence] = f"it does not count: {why}"
            return
        for event in commit.events:
            match event:
                case Quarantined():
                    self.skipped[event.stream, event.sequence] = event.reason
                case ClockScaled():
                    self._clocks.append(event)
                case LogPartitioned():
                    self.partitions = max(self.partitions, event.partitions)
                    for fork in event.forks:
                        if fork.origin < fork.partition:
                            self.forks.setdefault(decisions_stream(str(fork.partition)), fork)
                case _:
                    pass


_ONE = 1000


async def read_control(stream: Stream, known: Control) -> None:
    """Read CONTROL from where `known` has come to, as far as it reaches now."""
    async for batch in stream.read(known.position):
        known.take(batch)
