"""Whether what a replica has folded is too old to decide on.

Rule: docs/rules/log.md#behind
"""

from collections.abc import Callable

from events.event import Millis
from services.runtime.clock_port import Clock
from services.runtime.log_errors import LogUnavailable
from services.runtime.log_port import Stream
from services.runtime.partition.halts import BEHIND, Halts

TOO_OLD: Millis = 30_000
"""Whoever has not folded what was stored so long ago, by the bus's own clock, decides nothing until it has."""
_ASKED_EVERY: Millis = 1000


class LateView:
    """How old the next message is that has arrived and is not folded; the bus's clock is asked only while there is a backlog."""

    def __init__(self, own: Stream, clock: Clock, halts: Halts, give_way: Callable[[], None]) -> None:
        self._own, self._clock, self._halts, self._give_way = own, clock, halts, give_way
        self._asked: Millis | None = None
        self.late = False
        """Whether nothing may be decided on what is folded."""

    async def look(self, stored: Millis | None) -> None:
        """Compare with when the oldest message that waits to be folded was stored; None where none waits.

        Who finds itself late gives way to another replica, once.
        """
        late = await self._is_late(stored)
        if late and not self.late:
            why = f"what comes next was stored more than {TOO_OLD // 1000} s ago: nothing is decided here until it is folded"
            self._halts.halt(BEHIND, why)
            self._give_way()
        elif self.late and not late:
            self._halts.lift(BEHIND)
        self.late = late

    async def _is_late(self, stored: Millis | None) -> bool:
        if not stored:
            self._asked = None
            return False
        now = self._clock.now()
        if self._asked is not None and self._asked <= now < self._asked + _ASKED_EVERY:
            return self.late
        self._asked = now
        try:
            return await self._own.now() - stored > TOO_OLD
        except LogUnavailable:
            return self.late
