"""The log as it was at some time: what was stored by then, and what the decisions of that time rest on."""

from collections.abc import Mapping, Sequence

import msgspec

from events.codec import NotOurs, decode_commit
from events.event import Millis
from events.subjects import CONTROL, FACTS
from events.timestamp import BadTimestamp, parse_timestamp
from ops.production.wiring import DEVICE_PARTITION
from ops.queries.replay import fold_partition
from projections.world import World
from services.runtime.control_log import Control
from services.runtime.log_port import Entry
from services.runtime.partition_errors import MessageNotOurs
from services.runtime.stored_message import Opened, open_message
from services.watcher.quantities import duration

Entries = Mapping[str, Sequence[Entry]]


class BadTime(ValueError):
    """A moment that can't be understood."""

    def __init__(self, text: str) -> None:
        super().__init__(f"{text!r} is no time: write 2026-01-31T12:00:00Z, or +90s for so long after the log began")


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """A world, the time that it is of, and how far each stream was folded for it."""

    world: World
    at: Millis
    began: Millis
    upto: dict[str, int]
    since: dict[tuple[str, str, str], Millis]
    """By card, kind and holder: when a difference that is still open was reported."""


def cards_at(entries: Entries, text: str = "") -> Moment:
    """The accountant's world at a time, or as it is now. Raises `BadTime`."""
    began, ended = span(entries)
    at = moment(text, began) if text else ended
    kept = until(entries, at) if text else entries
    since: dict[tuple[str, str, str], Millis] = {}

    def listen(event: object, place: object) -> None:
        kind = getattr(event, "kind", None)
        if kind is not None and type(event).__name__ == "DriftDetected":
            since[getattr(event, "card", ""), kind, getattr(event, "holder", "")] = getattr(place, "at", 0)

    fold, _ = fold_partition(DEVICE_PARTITION, kept, listener=listen)
    fold.world.advance(at)
    upto = {name: (found[-1].sequence if found else 0) for name, found in sorted(kept.items()) if name != CONTROL}
    return Moment(world=fold.world, at=at, began=began, upto=upto, since=since)


def moment(text: str, began: Millis) -> Millis:
    """A time as people write it. Raises `BadTime`."""
    try:
        return began + duration(text[1:]) if text.startswith("+") else parse_timestamp(text)
    except (ValueError, BadTimestamp) as bad:
        raise BadTime(text) from bad


def span(entries: Entries) -> tuple[Millis, Millis]:
    """The times of the first and the last message; 0 and 0 of an empty log."""
    control = Control(entries.get(CONTROL, ()))
    ends = [one for found in entries.values() if found for one in (found[0], found[-1])]
    times = [time for one in ends if (time := _at(one, control))]
    return (min(times), max(times)) if times else (0, 0)


def until(entries: Entries, at: Millis) -> dict[str, Sequence[Entry]]:
    """What was stored by then. A fact that a decision of that time rests on is kept, whatever its own time is."""
    control = Control(entries.get(CONTROL, ()))
    ends = {name: _end(found, at, control) for name, found in entries.items() if name != CONTROL}
    changed = True
    while changed:
        changed = False
        for name, end in list(ends.items()):
            for stream, sequence in _rests_on(name, entries[name], end).items():
                if ends.get(stream, sequence) < sequence:
                    ends[stream], changed = sequence, True
    return {name: found if name == CONTROL else first(found, ends[name]) for name, found in entries.items()}


def first(found: Sequence[Entry], upto: int) -> Sequence[Entry]:
    """The messages of a stream up to a sequence."""
    return found[: max(upto + 1 - found[0].sequence, 0)] if found else found


def _end(found: Sequence[Entry], at: Millis, control: Control) -> int:
    """The last sequence before the first message that is later."""
    end = 0
    for entry in found:
        time = _at(entry, control)
        if time is not None and time > at:
            break
        end = entry.sequence
    return end


def _rests_on(name: str, found: Sequence[Entry], end: int) -> dict[str, int]:
    """How far the last commit of a stream has folded its inputs: those before it no further."""
    upto: dict[str, int] = {}
    for entry in found if name != FACTS else ():
        if entry.sequence > end:
            break
        try:
            commit = decode_commit(entry.data)
        except NotOurs:
            continue
        upto.update({run.stream: run.upto for run in commit.inputs})
    return upto


def _at(entry: Entry, control: Control) -> Millis | None:
    """The time that counts; None of a message that does not."""
    try:
        found = open_message(entry, control)
    except MessageNotOurs:
        return None
    return found.message.at if isinstance(found, Opened) else None
