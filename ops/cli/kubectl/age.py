"""How long something takes or is ago, in the words of kubectl: exact while it is short, rough when it is long."""

from events.event import Millis
from events.timestamp import parse_timestamp

_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86_400, 31_536_000


def human(seconds: int) -> str:
    """A duration: 119s, 2m5s, 45m, 3h20m, 30h, 3d4h, 40d, 2y10d."""
    if seconds < 2 * _MINUTE:
        return f"{max(seconds, 0)}s"
    for until, big, small, units in (
        (10 * _MINUTE, _MINUTE, 1, "ms"),
        (3 * _HOUR, _MINUTE, 0, "m"),
        (8 * _HOUR, _HOUR, _MINUTE, "hm"),
        (2 * _DAY, _HOUR, 0, "h"),
        (8 * _DAY, _DAY, _HOUR, "dh"),
        (2 * _YEAR, _DAY, 0, "d"),
        (8 * _YEAR, _YEAR, _DAY, "yd"),
    ):
        if seconds < until:
            rest = seconds % big // small if small else 0
            return f"{seconds // big}{units[0]}" + (f"{rest}{units[1]}" if rest else "")
    return f"{seconds // _YEAR}y"


def since(text: str | None, now: Millis) -> str:
    """How long ago a timestamp is."""
    return human((now - parse_timestamp(text)) // 1000) if text else "<unknown>"
