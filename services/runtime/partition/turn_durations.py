"""How long the turns of deciders took, with the time until the log had what they decided: what the log can't tell of itself.

It begins with the process, unlike all that is folded.
"""

from collections.abc import Sequence

from events.catalogue import AnyEvent
from events.event import Millis
from projections.counters.admission_attempt import result_of
from projections.counters.histogram import Bounds, Histogram, empty
from projections.set_aside.records import ADMITTER
from services.runtime.clock_port import Clock

BOUNDS: Bounds = (5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000)
"""Kueue's bounds of how long an attempt took."""
DECIDED, NOTHING = "decided", "nothing"


class Turns:
    """The turns of the deciders of one partition in this process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.took: dict[tuple[str, str], Histogram] = {}
        """By author, and whether anything was decided."""
        self.attempts: dict[str, Histogram] = {}
        """Those of the admitter in which anybody was tried, by what came of it."""

    def begun(self) -> Millis:
        """When a turn begins that begins now."""
        return self._clock.now()

    def ended(self, author: str, began: Millis, events: Sequence[AnyEvent]) -> None:
        """A turn is over, with these decisions."""
        took = self._clock.now() - began
        key = author, DECIDED if events else NOTHING
        self.took[key] = self.took.get(key, empty(BOUNDS)).observed(BOUNDS, took)
        attempt = result_of(events) if author == ADMITTER else ""
        if attempt:
            self.attempts[attempt] = self.attempts.get(attempt, empty(BOUNDS)).observed(BOUNDS, took)
