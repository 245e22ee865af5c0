"""Writes that nobody waits for: statuses of those that wait, statuses of queues, Events.

They go one at a time, and after each there is a rest as many times as long as it took. A server that is at its limit
answers slowly, so they leave it to those that are waited for; a server at rest takes dozens of them in a second.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from events.event import Millis
from services.clock_port import Clock

_REST = 4
_LONGEST: Millis = 1000


class SpareTime:
    """What is left of the API server's time, shared by all that ask for it in the order in which they ask."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self._one = clock, asyncio.Lock()

    @asynccontextmanager
    async def turn(self) -> AsyncGenerator[None, None]:
        """The time for one write."""
        async with self._one:
            began = self._clock.now()
            try:
                yield
            finally:
                await self._clock.sleep(min(_REST * (self._clock.now() - began), _LONGEST))
