"""Stretches of time in which nothing that operators enter changes: no price, no account, no rate of exchange, no month."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator

from events.event import Millis
from projections.billing.entries.entry import Window
from projections.calendar import month_after, month_of


class TimeCuts:
    """Time is cut where months begin, and at these times."""

    def __init__(self, cuts: Iterable[Millis] = ()) -> None:
        self._cuts = sorted(set(cuts))

    def stretches(self, window: Window, since: Millis, until: Millis) -> Iterator[tuple[Millis, Millis]]:
        """The stretches of the window that a time lies in: where each begins, and how much of it."""
        at, until = max(since, window.since), min(until, window.until)
        while at < until:
            begin = self.begin_of(window, at)
            end = self.end_of(window, begin)
            yield begin, min(end, until) - at
            at = end

    def begin_of(self, window: Window, at: Millis) -> Millis:
        """Where the stretch begins that a time lies in."""
        found = bisect_right(self._cuts, at)
        return max(window.since, month_of(at), self._cuts[found - 1] if found else 0)

    def end_of(self, window: Window, begin: Millis) -> Millis:
        """Where the stretch ends that begins or goes on at a time."""
        found = bisect_right(self._cuts, begin)
        return min(window.until, month_after(begin), *self._cuts[found : found + 1])
