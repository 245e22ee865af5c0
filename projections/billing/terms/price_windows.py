"""Which windows of a price list are open at a moment, and when that changes: by recorded clocks of time zones, exactly."""

from bisect import bisect_right

from events.billing import PriceWindow
from events.event import Millis
from projections.calendar import DAY

_WEEK = 7
_THURSDAY = 3
"""1970 began on a Thursday; 0 is Monday."""


def open_windows(windows: tuple[PriceWindow, ...], at: Millis) -> tuple[str, ...]:
    """The names of those that are open, in the order of the list."""
    return tuple(one.name for one in windows if _is_open(one, at))


def next_change(windows: tuple[PriceWindow, ...], since: Millis, until: Millis) -> Millis:
    """When other windows are open than at `since`; `until` where that is not before it."""
    now, at = open_windows(windows, since), since
    while windows:
        at = min(_next_edge(one, at) for one in windows)
        if at >= until or open_windows(windows, at) != now:
            break
    return min(at, until) if windows else until


def _offset(window: PriceWindow, at: Millis) -> tuple[Millis, Millis]:
    """How far its clocks are ahead, and until when."""
    place = max(bisect_right(window.offsets, at, key=lambda one: one.at), 1)
    until = window.offsets[place].at if place < len(window.offsets) else 2**62
    return window.offsets[place - 1].ahead, until


def _is_open(window: PriceWindow, at: Millis) -> bool:
    day, hour = divmod(at + _offset(window, at)[0], DAY)
    today, yesterday = (day + _THURSDAY) % _WEEK in window.days, (day - 1 + _THURSDAY) % _WEEK in window.days
    if window.begin < window.end:
        return today and window.begin <= hour < window.end
    return (today and hour >= window.begin) or (yesterday and hour < window.end)


def _next_edge(window: PriceWindow, at: Millis) -> Millis:
    """The next moment at which its clocks show its begin or its end, or are put forward or back."""
    ahead, until = _offset(window, at)
    day = (at + ahead) // DAY * DAY - ahead
    edges = (day + later + hour for later in (0, DAY) for hour in (window.begin, window.end))
    return min(until, *(edge for edge in edges if edge > at))
