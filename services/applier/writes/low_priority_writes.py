"""Writes of low priority: statuses of waiting workloads, finalizers of finished ones, Events.

They go one at a time, and after each there is a rest as many times as long as it took. A server that is at its limit
answers slowly, so they leave it to those that are waited for; a server at rest takes dozens of them in a second. Normal
Events come last of all: they are written only while nothing else is.
"""

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager

from events.event import Millis
from services.runtime.clock_port import Clock

_REST = 4
_LONGEST: Millis = 1000


class LowPriorityWrites:
    """Grants turns for writes of low priority, one at a time and in the order in which they are asked for."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self._one = clock, asyncio.Lock()
        self._asking = 0
        self._calm = asyncio.Event()
        self._calm.set()

    @asynccontextmanager
    async def turn(self, *, last: bool = False) -> AsyncGenerator[None, None]:
        """A turn for one write; with `last` it comes only while no other write is waiting or under way."""
        while last:
            await self._calm.wait()
            async with self._one:
                if self._asking:
                    continue  # Somebody came meanwhile.
                async with self._rested():
                    yield
                return
        with self.first():
            async with self._one, self._rested():
                yield

    @contextmanager
    def first(self) -> Generator[None, None, None]:
        """Mark a write of higher priority as under way: writes with `last` wait for it."""
        self._asking += 1
        self._calm.clear()
        try:
            yield
        finally:
            self._asking -= 1
            if not self._asking:
                self._calm.set()

    @asynccontextmanager
    async def _rested(self) -> AsyncGenerator[None, None]:
        began = self._clock.now()
        try:
            yield
        finally:
            await self._clock.sleep(min(_REST * (self._clock.now() - began), _LONGEST))
