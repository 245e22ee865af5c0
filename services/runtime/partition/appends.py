"""How appends to a partition ended, by author, and how long they took: what the log can't tell of itself.

It begins with the process, unlike all that is folded.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from typing import NamedTuple

from events.event import Millis
from projections.counters.histogram import SHORT, empty
from services.runtime.clock_port import Clock
from services.runtime.log_errors import DiskFull, LogFull, LogMovedOn, LogRegressed, LogUnavailable

OK, CONFLICT, FULL, UNAVAILABLE, REGRESSED = "ok", "conflict", "full", "unavailable", "regressed"
BOUNDS = SHORT


class TracedAppend(NamedTuple):
    """An append whose trace is exported."""

    trace: str
    took: Millis
    at: Millis


class Appends:
    """The appends of this process to one partition."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.results: Counter[tuple[str, str]] = Counter()
        """By author and result."""
        self.took = empty(BOUNDS)
        """Of those that the log answered, taken or refused."""
        self.traced: dict[int, TracedAppend] = {}
        """By the number of the bucket, the last of them that was traced."""

    @contextmanager
    def timed(self, author: str, trace: str = "") -> Generator[None]:
        """Note how what is done within ends; one that is cancelled is not noted. `trace` is its id where it is exported."""
        began = self._clock.now()
        try:
            yield
        except LogMovedOn:
            self._note(author, CONFLICT, began, trace)
            raise
        except (LogFull, DiskFull):
            self._note(author, FULL, began, trace)
            raise
        except LogUnavailable:
            self.results[author, UNAVAILABLE] += 1
            raise
        except LogRegressed:
            self._note(author, REGRESSED, began, trace)
            raise
        else:
            self._note(author, OK, began, trace)

    def _note(self, author: str, result: str, began: Millis, trace: str) -> None:
        now = self._clock.now()
        took = max(now - began, 0)
        self.results[author, result] += 1
        self.took = self.took.observed(BOUNDS, took)
        if trace:
            self.traced[bisect_left(BOUNDS, took)] = TracedAppend(trace, took, now)
