"""The whole time of a log in equal parts, with how many messages each holds: what the time slider is drawn from."""

from collections.abc import Mapping, Sequence

import msgspec

from events.event import Millis
from events.json_object import JsonObject
from events.subjects import CONTROL
from ops.queries.time_travel import span
from services.runtime.log_port import Entry

PARTS = 120


class _Timed(msgspec.Struct, frozen=True):
    """The part of a message that says when it was made; any version can read it."""

    at: Millis


_timed = msgspec.json.Decoder(_Timed)


def time_strip(entries: Mapping[str, Sequence[Entry]]) -> JsonObject:
    """When the log begins and ends, and the messages of each part of that time; a message nobody can read is not counted."""
    began, ended = span(entries)
    parts = [0] * PARTS
    width = max(1, ended - began + 1)
    for name, stored in entries.items():
        for entry in stored if name != CONTROL else ():
            at = _time(entry)
            if began <= at <= ended:
                parts[(at - began) * PARTS // width] += 1
    return {"began": began, "ended": ended, "parts": parts}


def _time(entry: Entry) -> Millis:
    try:
        return _timed.decode(entry.data).at
    except (ValueError, RecursionError):
        return -1
