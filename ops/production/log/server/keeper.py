"""Keeps a nats-server that this process has started at work: it is started anew when it has ended, or takes nothing any more.

A server whose disk was full refuses everything until it is started anew, even when there is room again (nats-server 2.15).
What it had acknowledged is on its disk and stays.
"""

import asyncio
import shutil
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress

import structlog

from ops.production.log.server.server import NatsServer, StoreInUse
from services.runtime.log_errors import LogUnavailable

log = structlog.get_logger()

ROOM = 16 << 20
"""Bytes that have to be free before a server is started anew for their sake."""
_LOOK_S = 1.0
_SURE_S = 8.0
"""A bus that is only slow stores what it is sent anew; one whose disk was full says the same again after each try."""
_AGAIN_S, _MOST_S = 30.0, 3600.0


class ServerKeeper:
    """Looks after one server; `disk_full` says whether the bus has reported a full disk the last time it was to store."""

    def __init__(self, server: NatsServer, disk_full: Callable[[], bool], *, room: int = ROOM) -> None:
        self._server, self._disk_full, self._room = server, disk_full, room
        self._full_since, self._rests_until, self._rest = 0.0, 0.0, _AGAIN_S

    async def run(self) -> None:
        """Look every second, until cancelled."""
        while True:
            await asyncio.sleep(_LOOK_S)
            try:
                await self._look()
            except (LogUnavailable, StoreInUse, OSError) as problem:
                log.error("the bus does not start", problem=str(problem))

    async def _look(self) -> None:
        if self._server.ended:
            log.warning("the bus had ended, and is started again", store=str(self._server.store))
            await self._server.start()
            return
        now = asyncio.get_running_loop().time()
        if not self._disk_full():
            self._full_since, self._rests_until, self._rest = 0.0, 0.0, _AGAIN_S
            return
        self._full_since = self._full_since or now
        if (
            now >= max(self._rests_until, self._full_since + _SURE_S)
            and shutil.disk_usage(self._server.store).free >= self._room
        ):
            # If that was not what it lacked, it is tried less and less often.
            self._rests_until, self._rest = now + self._rest, min(2 * self._rest, _MOST_S)
            log.warning(
                "the disk of the bus was full and has room: the bus is started anew", store=str(self._server.store)
            )
            await self._server.stop()
            await self._server.start()


@asynccontextmanager
async def kept(server: NatsServer, disk_full: Callable[[], bool], *, room: int = ROOM) -> AsyncGenerator[None, None]:
    """Keep a server at work while the block lasts."""
    keeping = asyncio.create_task(ServerKeeper(server, disk_full, room=room).run())
    try:
        yield
    finally:
        keeping.cancel()
        with suppress(asyncio.CancelledError):
            await keeping
