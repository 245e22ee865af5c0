"""How far a log goes, who wrote what of it and when last, and what in it does not count."""

from collections.abc import Mapping, Sequence

import msgspec

from events.event import Millis
from events.json_object import JsonObject
from events.subjects import FACTS
from ops.production.log.streams import LogStreams, streams_in
from ops.queries.log_times import LogTimes
from ops.queries.shown import Showing
from ops.queries.time_travel import ends_of
from projections.world import World
from services.runtime.control_log import Control
from services.runtime.log_port import Entry


class AuthorPlace(msgspec.Struct, kw_only=True):
    """What one author has written on one stream."""

    author: str
    stream: str
    events: int = 0
    sequence: int = 0
    """Of its last message."""
    at: Millis = 0
    """The time of its last message."""


class Marked(msgspec.Struct, frozen=True, kw_only=True):
    """A message that does not count as it stands, and why."""

    stream: str
    sequence: int
    mark: str


class FoldedInput(msgspec.Struct, frozen=True, kw_only=True):
    """How far the decisions of a partition have folded one of its inputs."""

    partition: str
    stream: str
    folded: int
    last: int
    """The last sequence of the input."""


class LogPlaces:
    """What each author has written and what does not count, as far as the log was read: each message is read once."""

    def __init__(self, control: Control) -> None:
        self._control = control
        self._streams: dict[str, _StreamPlaces] = {}

    def read_on(self, entries: Mapping[str, Sequence[Entry]]) -> None:
        """Read what has come since the last time. Raises what reading a stream raises; what was read then stays so."""
        for name, stored in entries.items():
            known = self._streams.get(name)
            if known is None:
                known = self._streams[name] = _StreamPlaces(name, Showing(self._control))
            known.read_on(stored)

    def authors(self) -> list[AuthorPlace]:
        """By stream, in the order of their first words."""
        return [one for _, known in sorted(self._streams.items()) for one in known.authors.values()]

    def marked(self) -> list[Marked]:
        """What does not count as it stands."""
        return [one for _, known in sorted(self._streams.items()) for one in known.marked]


class _StreamPlaces:
    def __init__(self, name: str, showing: Showing) -> None:
        self.name, self.showing, self.read = name, showing, 0
        self.authors: dict[str, AuthorPlace] = {}
        self.marked: list[Marked] = []

    def read_on(self, stored: Sequence[Entry]) -> None:
        for entry in stored[self.read :]:
            for one in self.showing.shown(entry):
                place = self.authors.setdefault(one.author, AuthorPlace(author=one.author, stream=self.name))
                place.events, place.sequence, place.at = place.events + 1, entry.sequence, one.at
                if one.mark and one.index == 0:
                    self.marked.append(Marked(stream=self.name, sequence=entry.sequence, mark=one.mark))
            self.read += 1


def log_answer(
    entries: Mapping[str, Sequence[Entry]], world: World, places: LogPlaces, times: LogTimes | None = None
) -> JsonObject:
    """The streams with their ends, the authors, the inputs of each partition, what does not count, and what is set aside."""
    places.read_on(entries)
    ends = ends_of(entries)
    there = streams_in(entries)
    times = times or LogTimes({**dict.fromkeys(there.partitions, ()), **entries})
    return msgspec.to_builtins(
        {
            "streams": [{"stream": name, "last": last} for name, last in ends.items()],
            "authors": places.authors(),
            "inputs": [one for name in there.partitions for one in _inputs(there, name, times, ends)],
            "marked": places.marked(),
            "set_aside": list(world.aside.values()),
        }
    )


def _inputs(there: LogStreams, partition: str, times: LogTimes, ends: Mapping[str, int]) -> list[FoldedInput]:
    folded = times.rests_on(partition, ends.get(partition, 0))
    return [
        FoldedInput(partition=partition, stream=name, folded=folded.get(name, 0), last=ends.get(name, 0))
        for name in sorted(there.inputs(partition), key=lambda one: one != FACTS)
    ]
