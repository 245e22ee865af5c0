"""When each message of a log was made, and what its commits rest on: a moment is found without reading the log once more."""

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence

from events.codec import NotOurs, decode_commit
from events.commit import Commit, InputRun
from events.event import Millis
from events.subjects import CONTROL, FACTS
from services.runtime.control_log import Control
from services.runtime.log_port import Entry
from services.runtime.partition.errors import MessageNotOurs
from services.runtime.partition.stored_message import Opened, open_message


class LogTimes:
    """The times of a log, read as far as anybody has asked, and each message once; 8 bytes of each time and input are kept."""

    def __init__(self, entries: Mapping[str, Sequence[Entry]]) -> None:
        self._controls = entries.get(CONTROL, ())
        self._control = Control(self._controls)
        self._streams = {name: _StreamTimes(found) for name, found in entries.items() if name != CONTROL}
        self._span: tuple[Millis, Millis] | None = None

    def follow(self, entries: Mapping[str, Sequence[Entry]]) -> None:
        """Go on with the same log as it was read later: what was known of it stays known."""
        for name, stream in self._streams.items():
            stream.entries = entries[name]
        self._span = None

    def span(self) -> tuple[Millis, Millis]:
        """The times of the first and the last message; 0 and 0 of an empty log."""
        if self._span is None:
            streams = [self._controls, *(stream.entries for stream in self._streams.values())]
            ends = [one for found in streams if found for one in (found[0], found[-1])]
            times = [time for one in ends if (time := _read(one, self._control)[0])]
            self._span = (min(times), max(times)) if times else (0, 0)
        return self._span

    def end(self, name: str, at: Millis) -> int:
        """The last sequence of a stream before its first message that is later than a time; 0 where there is none."""
        stream = self._streams[name]
        stream.read_past(at, self._control)
        count = bisect_right(stream.latest, at)
        return stream.first + count - 1 if count else 0

    def rests_on(self, name: str, sequence: int) -> dict[str, int]:
        """How far the commits of a stream, up to one of them, have folded each of their inputs."""
        if name == FACTS or sequence <= 0:
            return {}
        stream = self._streams[name]
        stream.read_to(sequence, self._control)
        place = sequence - stream.first
        return {} if place < 0 else {run: row[place] for run, row in stream.inputs.items() if row[place]}

    def counts(self, bounds: Sequence[Millis], upto: Mapping[str, int]) -> list[int]:
        """By bound, how many messages up to these sequences were stored no later; all of the log is read for it."""
        found = [0] * len(bounds)
        for name, stream in self._streams.items():
            last = upto.get(name, 0)
            stream.read_to(last, self._control)
            most = max(last + 1 - stream.first, 0)
            for place, bound in enumerate(bounds):
                found[place] += bisect_right(stream.latest, bound, 0, most)
        return found


class _StreamTimes:
    """Of each message of one stream: the latest time up to it, and how far its author and those before had folded."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.entries = entries
        self.first = entries[0].sequence if entries else 1
        self.latest = array("q")
        self.inputs: dict[str, array[int]] = {}

    def read_past(self, at: Millis, control: Control) -> None:
        """Read until a message is later than a time, or to the end."""
        if self.latest and self.latest[-1] > at:
            return
        for entry in self._unread():
            self._note(entry, control)
            if self.latest[-1] > at:
                return

    def read_to(self, sequence: int, control: Control) -> None:
        """Read up to a sequence."""
        if self.first + len(self.latest) > sequence:
            return
        for entry in self._unread():
            self._note(entry, control)
            if entry.sequence >= sequence:
                return

    def _unread(self) -> Iterator[Entry]:
        return iter(self.entries[len(self.latest) :] if self.latest else self.entries)

    def _note(self, entry: Entry, control: Control) -> None:
        at, runs = _read(entry, control)
        before = self.latest[-1] if self.latest else 0
        self.latest.append(before if at is None else max(before, at))
        for run in runs:
            if run.stream not in self.inputs:
                self.inputs[run.stream] = array("q", [0] * (len(self.latest) - 1))
        named = {run.stream: run.upto for run in runs}
        for stream, row in self.inputs.items():
            row.append(named.get(stream, row[-1] if row else 0))


def _read(entry: Entry, control: Control) -> tuple[Millis | None, Sequence[InputRun]]:
    """The time of a message, None of one that does not count; and what it rests on, whether it counts or not."""
    try:
        found = open_message(entry, control)
    except MessageNotOurs:
        return None, ()
    if isinstance(found, Opened):
        return found.message.at, found.message.inputs if isinstance(found.message, Commit) else ()
    return None, _runs(entry) if entry.stream != FACTS else ()


def _runs(entry: Entry) -> Sequence[InputRun]:
    try:
        return decode_commit(entry.data).inputs
    except NotOurs:
        return ()
