"""The time of a scenario: fast while everybody is at rest, and as slow as the wall's while anybody has something to do.

A busy machine then plays the same scenario more slowly, not another one: jobs don't end while somebody is still about to decide
what happens because they run.
"""

import asyncio
import time
from collections.abc import Callable

from ops.production.process.clock import ScaledClock

_TICK_S = 0.002
_SEEN_S = 0.02
"""Of a longer pause between two ticks no more counts: this process could do nothing meanwhile, so nothing happened in it."""


class PlayedClock(ScaledClock):
    """A clock whose time passes as `keep` moves it on; at most `scale` times faster than the wall's."""

    def __init__(self, scale: float, walls: Callable[[], float] = time.monotonic) -> None:
        self._passed, self._walls = 0.0, walls
        self._at_rest: list[Callable[[], bool]] = []
        super().__init__(scale, ticks=lambda: self._passed)

    def heed(self, at_rest: Callable[[], bool]) -> None:
        """It runs fast only while these are at rest as well."""
        self._at_rest.append(at_rest)

    async def keep(self) -> None:
        """Move it on for ever."""
        before = self._walls()
        while True:
            await asyncio.sleep(_TICK_S)
            now = self._walls()
            self.advance(now - before, at_rest=all(rests() for rests in self._at_rest))
            before = now

    def advance(self, walls: float, *, at_rest: bool) -> None:
        """So much time has passed on the wall."""
        self._passed += min(walls, _SEEN_S) * (1 if at_rest else 1 / self.scale)
