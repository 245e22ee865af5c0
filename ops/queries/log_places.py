"""How far a log goes, who wrote what of it and when last, and what in it does not count."""

from collections.abc import Mapping, Sequence

import msgspec

from events.event import Millis
from events.json_object import JsonObject
from events.subjects import CONTROL, FACTS
from ops.production.log.streams import DEVICE_PARTITION, PARTITION
from ops.queries.log_times import LogTimes
from ops.queries.shown import Showing
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


def log_answer(entries: Mapping[str, Sequence[Entry]], world: World) -> JsonObject:
    """The streams with their ends, the authors, the inputs of each partition, what does not count, and what is set aside."""
    control = Control(entries.get(CONTROL, ()))
    authors: dict[tuple[str, str], AuthorPlace] = {}
    marked: list[Marked] = []
    for name, stored in sorted(entries.items()):
        showing = Showing(control)
        for entry in stored:
            for one in showing.shown(entry):
                key = name, one.author
                place = authors.setdefault(key, AuthorPlace(author=one.author, stream=name))
                place.events, place.sequence, place.at = place.events + 1, entry.sequence, one.at
                if one.mark and one.index == 0:
                    marked.append(Marked(stream=name, sequence=entry.sequence, mark=one.mark))
    ends = {name: (stored[-1].sequence if stored else 0) for name, stored in sorted(entries.items())}
    times = LogTimes({PARTITION: (), DEVICE_PARTITION: (), **entries})
    return msgspec.to_builtins(
        {
            "streams": [{"stream": name, "last": last} for name, last in ends.items()],
            "authors": list(authors.values()),
            "inputs": [one for name in (PARTITION, DEVICE_PARTITION) for one in _inputs(name, times, ends)],
            "marked": marked,
            "set_aside": list(world.aside.values()),
        }
    )


def _inputs(partition: str, times: LogTimes, ends: Mapping[str, int]) -> list[FoldedInput]:
    folded = times.rests_on(partition, ends.get(partition, 0))
    others = (FACTS, DEVICE_PARTITION if partition == PARTITION else PARTITION)
    return [
        FoldedInput(partition=partition, stream=name, folded=folded.get(name, 0), last=ends.get(name, 0))
        for name in others
    ]
