"""Every stored event as `kuelog log show` prints it, also those that do not count, with the reason."""

from collections.abc import Iterator, Mapping, Sequence
from heapq import merge

import msgspec

from events.catalogue import AnyEvent
from events.codec import NotOurs, decode_commit, decode_sighting
from events.commit import Commit, Sighting
from events.event import Millis
from events.subjects import CONTROL, FACTS
from ops.queries.time_order import NEVER, earliest_of, order_of, released
from projections.object_versions import FoldedFacts
from services.runtime.control_log import Control
from services.runtime.log_port import Entry
from services.runtime.partition.errors import MessageNotOurs
from services.runtime.partition.stored_message import Opened, open_message


class ShownEvent(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One event, or a message that nobody can read."""

    entry: Entry
    at: Millis
    index: int = 0
    author: str = ""
    cause: str = ""
    event: AnyEvent | None = None
    mark: str = ""
    """Why it does not count as it stands; empty when it does."""


class Showing:
    """Shows messages in the order of their streams; `control` is what is known of those that are skipped."""

    def __init__(self, control: Control) -> None:
        self._control = control
        self._facts = FoldedFacts()
        self._latest: Millis = 0
        """The time of the last message that counts: it places those that have none of their own."""

    def shown(self, entry: Entry) -> list[ShownEvent]:
        """The events of the next message of a stream."""
        message, mark = self._marked(entry)
        if message is None:
            return [ShownEvent(entry=entry, at=entry.stored or self._latest, mark=mark)]
        counts = not mark or mark.startswith(_COUNTS_STILL)
        # Of what does not count the time does not, either.
        at = message.at if counts else entry.stored or message.at
        self._latest = at if counts else self._latest
        events = (message.fact,) if isinstance(message, Sighting) else message.events
        return [
            ShownEvent(
                entry=entry,
                at=at,
                index=index,
                author=message.author,
                cause=message.cause,
                event=event,
                mark=mark,
            )
            for index, event in enumerate(events)
        ]

    def _marked(self, entry: Entry) -> tuple[Sighting | Commit | None, str]:
        if self._control.skips(entry):
            return _read(entry), f"quarantined: {self._control.skipped[entry.stream, entry.sequence]}"
        try:
            found = open_message(entry, self._control)
        except MessageNotOurs as problem:
            return None, f"unreadable: {problem}"
        if not isinstance(found, Opened):
            return _read(entry), f"amiss: {found.why}"
        if found.hurried:
            return found.message, f"{_COUNTS_STILL}{found.hurried}"
        message = found.message
        if isinstance(message, Sighting) and not self._facts.folds(message):
            return message, "outdated: a later version of its object was reported before"
        return message, ""


def shown_in_order(entries: Mapping[str, Sequence[Entry]]) -> Iterator[ShownEvent]:
    """Everything on the log in the order of its time; a commit comes after the inputs that it rests on.

    Streams are gone through twice, side by side: no more of them is held than times run against the order of the log.
    """
    control = Control(entries.get(CONTROL, ()))
    return merge(*(_of_stream(stored, control) for stored in entries.values()), key=order_of)


def _of_stream(stored: Sequence[Entry], control: Control) -> Iterator[ShownEvent]:
    before, showing = Showing(control), Showing(control)
    earliest = earliest_of(min((one.at for one in before.shown(entry)), default=NEVER) for entry in stored)
    return released((showing.shown(entry) for entry in stored), earliest, order_of)


def _read(entry: Entry) -> Sighting | Commit | None:
    try:
        return decode_sighting(entry.data) if entry.stream == FACTS else decode_commit(entry.data)
    except NotOurs:
        return None


_COUNTS_STILL = "amiss, its time is brought back: "
