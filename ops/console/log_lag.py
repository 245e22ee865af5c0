"""How far what the console shows is behind the log: looked up every few seconds, and told with every answer about now."""

import asyncio

import msgspec

from ops.production.fold_positions import fold_positions
from ops.production.wiring import Running
from services.runtime.log_errors import LogGap, LogRegressed

_EVERY_S = 2.0
_MS = 1000


class Behind(msgspec.Struct, frozen=True, kw_only=True):
    """What is on the log and not folded yet."""

    messages: int
    seconds: int
    """How long ago the oldest of it was stored, by the clock of the bus."""


class LogLag:
    """Compares how far a process has folded the log with how far that goes."""

    def __init__(self, running: Running) -> None:
        self._running = running
        self.behind: Behind | None = None
        """None while everything is folded, and while it is not known."""

    async def run(self) -> None:
        """Look again and again, for ever."""
        while True:
            await self.look()
            await asyncio.sleep(_EVERY_S)

    async def look(self) -> None:
        """Ask the bus how far the log goes now."""
        try:
            found = (await fold_positions(self._running)).positions
        except (LogGap, LogRegressed):
            found = ()  # The fold halts for that, and every answer says so.
        late = [one for one in found if one.last is not None and one.age is not None]
        # A stream that several partitions fold is behind by what the slowest has left.
        left: dict[str, int] = {}
        for one in late:
            left[one.stream] = max(left.get(one.stream, 0), (one.last or 0) - one.folded)
        oldest = max((one.age or 0 for one in late), default=0)
        self.behind = Behind(messages=sum(left.values()), seconds=oldest // _MS) if late else None
