"""Scenario time: begins at a given time and runs a number of times faster than the wall's."""

import asyncio
import time
from collections.abc import Callable

from events.event import Millis


class ScaledClock:
    """Milliseconds since 1970 that pass `scale` times faster than real ones; the only place that knows the time."""

    def __init__(
        self, scale: float = 1.0, start: Millis | None = None, ticks: Callable[[], float] = time.monotonic
    ) -> None:
        self.scale = scale
        self._start = int(time.time() * 1000) if start is None else start
        self._ticks, self._begun = ticks, ticks()

    @property
    def began(self) -> Millis:
        """The time at which it began."""
        return self._start

    def now(self) -> Millis:
        """The time now, in milliseconds since 1970."""
        return self._start + int((self._ticks() - self._begun) * 1000 * self.scale)

    async def sleep(self, duration: Millis) -> None:
        """Let so much of this clock's time pass."""
        await asyncio.sleep(max(duration, 0) / 1000 / self.scale)

    async def wait(self, event: asyncio.Event, until: Millis | None) -> None:
        """Return when the event is set or the time has come."""
        if until is None:
            await event.wait()
            return
        left = max(until - self.now(), 0) / 1000 / self.scale
        try:
            # Not wait_for: before Python 3.12 it can swallow the cancellation that stops a service.
            async with asyncio.timeout(left):
                await event.wait()
        except TimeoutError:
            return
