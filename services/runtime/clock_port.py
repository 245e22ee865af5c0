"""What services need of time: to ask it, and to wait until it or something else comes."""

import asyncio
from typing import Protocol

from events.event import Millis


class Clock(Protocol):
    """Scenario time: milliseconds since 1970; may run faster than the wall's."""

    def now(self) -> Millis:
        """The time now."""
        ...

    async def sleep(self, duration: Millis) -> None:
        """Let so much of this clock's time pass."""
        ...

    async def wait(self, event: asyncio.Event, until: Millis | None) -> None:
        """Return when the event is set or the time has come; wait for the event alone when there is no time."""
        ...
