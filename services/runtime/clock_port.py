"""The port to time: the time now, and waiting for a time or an event."""

import asyncio
from typing import Protocol

from events.event import Millis


class Clock(Protocol):
    """A clock in milliseconds since 1970; in a sandbox it may run faster than the wall clock."""

    def now(self) -> Millis:
        """The time now, in milliseconds since 1970."""
        ...

    async def sleep(self, duration: Millis) -> None:
        """Return after this many milliseconds of this clock."""
        ...

    async def wait(self, event: asyncio.Event, until: Millis | None) -> None:
        """Return when the event is set or the time has come; wait for the event alone when there is no time."""
        ...
