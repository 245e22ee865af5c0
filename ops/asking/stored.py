"""The stored messages of a log one event at a time, in the order of their time, each with what was stored about it."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from events.catalogue import AnyEvent
from events.codec import NotOurs, decode_commit, decode_sighting
from events.event import Millis
from events.subjects import CONTROL, FACTS
from ops.replay import quarantined
from projections.place import Place
from services.lane_errors import MessageNotOurs
from services.log_port import Entry


class Stored(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One event, and the message that holds it."""

    entry: Entry
    index: int
    at: Millis
    author: str
    cause: str
    event: AnyEvent

    @property
    def place(self) -> Place:
        """Where it stands."""
        return Place(lane=self.entry.stream, sequence=self.entry.sequence, at=self.at)


def opened(entry: Entry) -> list[Stored]:
    """The events of one message. Raises `MessageNotOurs`."""
    try:
        if entry.stream == FACTS:
            one = decode_sighting(entry.data)
            return [Stored(entry=entry, index=0, at=one.at, author=one.author, cause=one.cause, event=one.fact)]
        commit = decode_commit(entry.data)
    except NotOurs as problem:
        raise MessageNotOurs(stream=entry.stream, sequence=entry.sequence, problem=str(problem)) from problem
    return [
        Stored(entry=entry, index=index, at=commit.at, author=commit.author, cause=commit.cause, event=event)
        for index, event in enumerate(commit.events)
    ]


def in_order(entries: Mapping[str, Sequence[Entry]], *, control: bool = False) -> Iterator[Stored]:
    """Every event of the log in the order of its time; a commit comes after the inputs that it rests on."""
    skipped = quarantined(entries.get(CONTROL, ()))
    told: list[Stored] = []
    for name, found in entries.items():
        if name == CONTROL and not control:
            continue
        for entry in found:
            if (name, entry.sequence) not in skipped:
                told.extend(opened(entry))
    told.sort(key=_order)
    return iter(told)


def _order(one: Stored) -> tuple[Millis, int, str, int, int]:
    # Facts of the same millisecond as a decision came before it: they are what it was made on.
    return one.at, one.entry.stream != FACTS, one.entry.stream, one.entry.sequence, one.index
