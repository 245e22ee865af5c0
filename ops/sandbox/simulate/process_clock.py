"""The clock of a simulated process, which a fault can set wrong."""

import asyncio

from ops.production.process.clock import ScaledClock


class ProcessClock(ScaledClock):
    """The clock of one process, which may go wrong by so many milliseconds."""

    def __init__(self, start: int, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(1.0, start, loop.time)
        self.wrong_by = 0

    def now(self) -> int:
        """The time, as this process has it."""
        return super().now() + self.wrong_by
