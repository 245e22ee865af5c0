"""The stored messages of a log one event at a time, in the order of their time, each with what was stored about it."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from events.catalogue import AnyEvent
from events.codec import decode_sighting
from events.commit import Sighting
from events.event import Millis
from events.subjects import CONTROL, FACTS
from projections.place import Place
from projections.versions import FoldedFacts
from services.control_log import Control
from services.log_port import Entry
from services.stored_message import Passed, open_message


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


def opened(entry: Entry, control: Control) -> list[Stored]:
    """The events of one message; none when it does not count. Raises `MessageNotOurs`."""
    found = open_message(entry, control)
    if isinstance(found, Passed):
        return []
    message = found.message
    events = (message.fact,) if isinstance(message, Sighting) else message.events
    return [
        Stored(entry=entry, index=index, at=message.at, author=message.author, cause=message.cause, event=event)
        for index, event in enumerate(events)
    ]


def in_order(entries: Mapping[str, Sequence[Entry]]) -> Iterator[Stored]:
    """Every fact and decision in the order of its time; a commit comes after the inputs that it rests on."""
    known = Control(entries.get(CONTROL, ()))
    told: list[Stored] = []
    facts = FoldedFacts()
    for name, found in entries.items():
        if name == CONTROL:
            continue
        for entry in found:
            stored = opened(entry, known)
            if name != FACTS or not stored or facts.folds(decode_sighting(entry.data)):
                told.extend(stored)
    told.sort(key=_order)
    return iter(told)


def _order(one: Stored) -> tuple[Millis, int, str, int, int]:
    # Facts of the same millisecond as a decision came before it: they are what it was made on.
    return one.at, one.entry.stream != FACTS, one.entry.stream, one.entry.sequence, one.index
