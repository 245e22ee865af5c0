"""How many applications are written at once: as many as the API server takes without becoming slow.

Where the way to it is long, many at once are written in the time of one. Where it is at its limit, each only makes all others
wait, and whoever is admitted then holds room that a more important workload wants before it has run
(docs/decisions/0051-few-writes-at-once.md).
"""

from events.event import Millis

LEAST, MOST = 4, 16
QUICK: Millis = 30
"""A write that takes no longer than this, in milliseconds, is quick on any API server."""
_SLOWER = 3
"""So many times as long as the quickest write of all takes a write where others wait for it."""


class WriteLimit:
    """Learns from how long writes take; begins with few."""

    def __init__(self) -> None:
        self._limit = float(LEAST)
        self._quickest: Millis | None = None

    @property
    def at_once(self) -> int:
        """How many writes may be under way at the moment."""
        return int(self._limit)

    def took(self, duration: Millis) -> None:
        """One write has taken so long: as many quick ones in a row as may be under way allow one more, slow ones one fewer."""
        self._quickest = min(duration, duration if self._quickest is None else self._quickest)
        quick = duration <= max(QUICK, _SLOWER * self._quickest)
        self._limit = min(max(self._limit + (1 if quick else -1) / self.at_once, LEAST), MOST)
