"""Durations as Go writes them."""

import re
from decimal import Decimal

from events.event import Millis

_PART = re.compile(r"(\d+\.?\d*|\.\d+)(h|ms|m|s|us|\N{MICRO SIGN}s|\N{GREEK SMALL LETTER MU}s|ns)", re.ASCII)
_LONGEST = 30
_MICRO = Decimal("0.001")
_UNITS = {
    "h": 3_600_000,
    "m": 60_000,
    "s": 1000,
    "ms": 1,
    "us": _MICRO,
    "\N{MICRO SIGN}s": _MICRO,
    "\N{GREEK SMALL LETTER MU}s": _MICRO,
    "ns": _MICRO / 1000,
}


def duration(text: str) -> Millis:
    """Go's durations: `90s`, `1h30m`, `500ms`; what is shorter than a millisecond is one. Raises `ValueError`."""
    parts = text[1:] if text[:1] in ("+", "-") else text
    found = _PART.findall(parts)
    if parts != "0" and (not found or "".join(number + unit for number, unit in found) != parts):
        raise ValueError(f"{text!r} is not a duration such as 90s, 5m or 1h30m")
    if len(text) > _LONGEST:
        raise ValueError(f"{text[:_LONGEST]}... is too long for a duration such as 90s, 5m or 1h30m")
    total = sum((Decimal(number) * _UNITS[unit] for number, unit in found), Decimal())
    if total and text.startswith("-"):
        raise ValueError(f"{text!r} is negative: write a duration of at least 0")
    return max(int(total), 1) if total else 0
