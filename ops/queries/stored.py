"""The stored messages of a log one event at a time, in the order of their time, each with what was stored about it."""

from collections.abc import Iterator, Mapping, Sequence
from heapq import merge

import msgspec

from events.catalogue import AnyEvent
from events.commit import Sighting
from events.event import Millis
from events.subjects import CONTROL
from ops.queries.time_order import NEVER, earliest_of, order_of, released
from projections.log_position import LogPosition
from projections.object_versions import FoldedFacts
from services.runtime.control_log import Control
from services.runtime.log_port import Entry
from services.runtime.partition.stored_message import Passed, open_message


class Stored(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One event, and the message that holds it."""

    entry: Entry
    number: int
    """What its commit is known by (`Control.number`)."""
    index: int
    at: Millis
    author: str
    cause: str
    event: AnyEvent

    @property
    def place(self) -> LogPosition:
        """Where it stands."""
        return LogPosition(partition=self.entry.stream, sequence=self.number, at=self.at)


class _Timed(msgspec.Struct, frozen=True):
    """The part of a message that says when it was made; any version can read it."""

    at: Millis


_timed = msgspec.json.Decoder(_Timed)


def opened(entry: Entry, control: Control, facts: FoldedFacts | None = None) -> list[Stored]:
    """The events of one message; none when it does not count, nor when it is one of these facts and does not fold.

    Raises `MessageNotOurs`.
    """
    found = open_message(entry, control)
    if isinstance(found, Passed):
        return []
    message = found.message
    if facts is not None and isinstance(message, Sighting) and not facts.folds(message):
        return []
    events = (message.fact,) if isinstance(message, Sighting) else message.events
    number = control.number(entry.stream, entry.sequence)
    return [
        Stored(
            entry=entry,
            number=number,
            index=index,
            at=message.at,
            author=message.author,
            cause=message.cause,
            event=event,
        )
        for index, event in enumerate(events)
    ]


def in_order(entries: Mapping[str, Sequence[Entry]]) -> Iterator[Stored]:
    """Every fact and decision in the order of its time; a commit comes after the inputs that it rests on.

    Streams are gone through twice, side by side: no more of them is held than times run against the order of the log.
    """
    known = Control(entries.get(CONTROL, ()))
    return merge(*(_sorted(found, known) for name, found in entries.items() if name != CONTROL), key=order_of)


def _sorted(found: Sequence[Entry], control: Control) -> Iterator[Stored]:
    """The events of one stream in the order of their time."""
    earliest, facts = earliest_of(_time_of(entry, control) for entry in found), FoldedFacts()
    return released((opened(entry, control, facts) for entry in found), earliest, order_of)


def _time_of(entry: Entry, control: Control) -> Millis:
    try:
        at = _timed.decode(entry.data).at
    except (ValueError, RecursionError):
        return NEVER  # Whoever opens it says what it is.
    latest = control.latest(entry.stored)
    return at if latest is None else min(at, latest)
