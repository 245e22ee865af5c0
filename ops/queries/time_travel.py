"""The log as it was at some time: what was stored by then, and what the decisions of that time rest on."""

from collections.abc import Mapping, Sequence

import msgspec

from events.event import Millis
from events.subjects import CONTROL
from events.timestamp import BadTimestamp, format_exactly, parse_timestamp
from ops.production.configuration.durations import duration
from ops.production.log.streams import streams_in
from ops.queries.log_times import LogTimes
from ops.queries.replay import fold_up
from projections.world import World
from services.runtime.log_port import Entry

Entries = Mapping[str, Sequence[Entry]]


class BadTime(ValueError):
    """A moment that can't be understood."""

    def __init__(self, text: str) -> None:
        super().__init__(f"{text!r} is no time: write 2026-01-31T12:00:00Z, or +90s for so long after the log began")


class WorldAt(msgspec.Struct, frozen=True, kw_only=True):
    """A world, the time that it is of, and how far each stream was folded for it."""

    world: World
    at: Millis
    began: Millis
    upto: dict[str, int]
    since: dict[tuple[str, str, str], Millis]
    """By card, kind and holder: when a difference that is still open was reported."""


def cards_at(entries: Entries, text: str = "") -> WorldAt:
    """The accountant's world at a time, or as it is now. Raises `BadTime`."""
    began, ended = span(entries)
    at = moment(text, began) if text else ended
    kept = until(entries, at) if text else entries
    since: dict[tuple[str, str, str], Millis] = {}

    def listen(event: object, place: object) -> None:
        kind = getattr(event, "kind", None)
        if kind is not None and type(event).__name__ == "DriftDetected":
            since[getattr(event, "card", ""), kind, getattr(event, "holder", "")] = getattr(place, "at", 0)

    fold = fold_up(streams_in(entries).pool, kept, listener=listen)
    fold.world.advance(at)
    return WorldAt(world=fold.world, at=at, began=began, upto=rests_on(kept), since=since)


def ends_of(entries: Entries) -> dict[str, int]:
    """The last sequence of each stream, by name; 0 of one that is empty."""
    return {name: (found[-1].sequence if found else 0) for name, found in sorted(entries.items())}


def rests_on(entries: Entries) -> dict[str, int]:
    """How far each stream goes that an answer rests on."""
    return {name: last for name, last in ends_of(entries).items() if name != CONTROL}


def as_of(at: Millis, upto: Mapping[str, int]) -> str:
    """What an answer rests on, as text: the time, then each stream with its last sequence."""
    return f"{format_exactly(at)}, " + ", ".join(f"{name} {last}" for name, last in upto.items())


def stamp(found: WorldAt) -> dict[str, object]:
    """The time of an answer and the last sequence of each stream that it rests on, as plain values."""
    return {"at": format_exactly(found.at), "sequences": found.upto}


def moment(text: str, began: Millis) -> Millis:
    """A time as people write it. Raises `BadTime`."""
    try:
        return began + duration(text[1:]) if text.startswith("+") else parse_timestamp(text)
    except (ValueError, BadTimestamp) as bad:
        raise BadTime(text) from bad


def span(entries: Entries) -> tuple[Millis, Millis]:
    """The times of the first and the last message; 0 and 0 of an empty log."""
    return LogTimes(entries).span()


def until(entries: Entries, at: Millis, times: LogTimes | None = None) -> dict[str, Sequence[Entry]]:
    """What was stored by then. A fact that a decision of that time rests on is kept, whatever its own time is."""
    known = times if times is not None else LogTimes(entries)
    ends = reaching(known, {name: known.end(name, at) for name in entries if name != CONTROL})
    return {name: found if name == CONTROL else first(found, ends[name]) for name, found in entries.items()}


def reaching(known: LogTimes, upto: Mapping[str, int]) -> dict[str, int]:
    """These last sequences of streams, each raised to all that the others rest on."""
    ends = dict(upto)
    changed = True
    while changed:
        changed = False
        for name, end in list(ends.items()):
            for stream, sequence in known.rests_on(name, end).items():
                if ends.get(stream, sequence) < sequence:
                    ends[stream], changed = sequence, True
    return ends


def first(found: Sequence[Entry], upto: int) -> Sequence[Entry]:
    """The messages of a stream up to a sequence."""
    return found[: max(upto + 1 - found[0].sequence, 0)] if found else found
