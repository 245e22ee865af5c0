"""Whether a process lives and is ready, over HTTP: what probes ask.

Live: the event loop turns, so it answers at all. Ready: everything that was on the log when it began is folded, every kind
has been listed where it watches any, and nothing has halted it.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from aiohttp import web

from ops.listening import listening
from ops.wiring import Running
from services.lane_host import LaneHost
from services.log_errors import LogGap, LogUnavailable


class Health:
    """Asks the services of this process how they stand."""

    def __init__(self, running: Running) -> None:
        self._running = running
        self._ends: dict[tuple[str, str], int] = {}
        """By lane and stream, where each stream ended when this lane was first asked about it, until it is folded."""

    async def why_not(self) -> list[str]:
        """What keeps the process from being ready; empty when nothing does."""
        running, found = self._running, list[str]()
        if running.regressed:
            found.append(running.regressed)
        watcher = running.watcher
        if "watcher" in running.services and (watcher is None or not watcher.listed.is_set()):
            found.append("not every kind has been listed yet")
        if set(running.services) - {"watcher"} and not running.hosts:
            found.append("the services have not begun yet")
        for lane, host in sorted(running.hosts.items()):
            if host.halted:
                found.append(f"{lane}: {host.halted}")
            found.extend(await self._behind(lane, host))
        return found

    async def _behind(self, lane: str, host: LaneHost) -> list[str]:
        found: list[str] = []
        for stream in (host.own, *host.inputs):
            key = (lane, stream.name)
            if key not in self._ends:
                try:
                    self._ends[key] = (await stream.last()).sequence
                except (LogUnavailable, LogGap) as problem:
                    found.append(str(problem))
                    continue
            folded = host.fold.base if stream is host.own else host.fold.position(stream.name)
            if folded < self._ends[key]:
                found.append(f"{lane}: {stream.name} is folded to {folded} of {self._ends[key]}")
            else:
                self._ends[key] = 0
        return found


@asynccontextmanager
async def health_served(running: Running, port: int) -> AsyncGenerator[None, None]:
    """Answer probes; none of it when the port is 0. Raises `PortTaken`."""
    if not port:
        yield
        return
    health = Health(running)

    async def live(request: web.Request) -> web.Response:
        del request
        return web.Response(text="ok\n")

    async def ready(request: web.Request) -> web.Response:
        del request
        problems = await health.why_not()
        return web.Response(status=503 if problems else 200, text="\n".join(problems or ["ok"]) + "\n")

    app = web.Application()
    app.router.add_get("/livez", live)
    app.router.add_get("/readyz", ready)
    async with listening(app, port, what="probes"):
        yield
