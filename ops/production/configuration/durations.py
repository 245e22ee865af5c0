"""Durations as Go writes them."""

import re
from decimal import Decimal

from events.event import Millis

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(h|ms|m|s)")
_LONGEST = 30
_UNITS = {"h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1}


def duration(text: str) -> Millis:
    """Go's durations: `90s`, `1h30m`, `500ms`. Raises `ValueError`."""
    found = _DURATION.findall(text)
    if text != "0" and (not found or "".join(number + unit for number, unit in found) != text):
        raise ValueError(f"{text!r} is not a duration such as 90s, 5m or 1h30m")
    if len(text) > _LONGEST:
        raise ValueError(f"{text[:_LONGEST]}... is too long for a duration such as 90s, 5m or 1h30m")
    return int(sum(Decimal(number) * _UNITS[unit] for number, unit in found))
