"""Whether a process lives and is ready, over HTTP: what probes ask.

Live: the event loop turns, so it answers at all. Ready: everything that was on the log when it began is folded, every kind
has been listed where it watches any, nothing has halted it, and what comes to the log is folded within half a minute.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web

from events.event import Millis
from events.subjects import CONTROL, FACTS
from ops.production.fold_positions import fold_positions, folded_to
from ops.production.listeners.bearer import trusted
from ops.production.listeners.endpoint import Endpoint
from ops.production.listeners.listening import listening
from ops.production.log.jetstream.capacity import WARN_PERCENT
from ops.production.served import MULTIKUEUE
from ops.production.wiring import Running
from services.runtime.log_errors import LogGap, LogUnavailable, UnsafeStream
from services.runtime.partition.host import PartitionHost

LAGGING: Millis = 30_000
"""Whoever lags by more is not ready; `KuelogFoldLagging` tells of it as well."""


class Health:
    """Asks the services of this process how they stand."""

    def __init__(self, running: Running) -> None:
        self._running = running
        self._ends: dict[tuple[str, str], int] = {}
        """By partition and stream, where each stream ended when this partition was first asked about it, until it is folded."""

    async def why_not(self) -> list[str]:
        """What keeps the process from being ready; empty when nothing does."""
        running = self._running
        away = await self._away()
        found = [*away, *(one for one in running.problems() if one not in away)]
        if running.is_cut_off:
            found.append(
                "the Kubernetes API can't be reached from here: look at the network of this pod, and at the API server"
            )
        watcher = running.watcher
        if "watcher" in running.services and (watcher is None or not watcher.listed.is_set()):
            found.append("not every kind has been listed yet")
        found.extend(
            f"{CONTROL} sequence {sequence}: {why}. Partitions go on; have it skipped with `kuelog log quarantine {CONTROL} {sequence}`"
            for sequence, why in sorted(running.control.unread.items())
        )
        if set(running.services) - {"watcher"} and not running.hosts:
            found.append("the services have not begun yet")
        found.extend(f"{one.describe()}: it is full" for one in await running.filled() if one.full)
        if watcher is not None and watcher.halts.reason:
            found.append(f"watcher: {watcher.halts.reason}")
        for partition, host in sorted(running.hosts.items()):
            if host.halted:
                found.append(f"{partition}: {host.halted}")
            found.extend(
                f"{partition}: {who} fails, the others go on, and it is tried again when anything changes: {why}. Upgrade"
                for who, why in sorted(host.halts.failing.items())
            )
            if not away:
                found.extend(await self._behind(partition, host))
        return found or await self._lagging()

    async def worth_knowing(self) -> list[str]:
        """What keeps nobody from being ready yet: how full the log is, and what the archivist could not do, who was not handed checkpoints, which worker clusters are away."""
        found = [one.describe() for one in await self._running.filled() if one.percent >= WARN_PERCENT and not one.full]
        archivist, handing_out = self._running.archivist, self._running.handing_out
        found.extend(handing_out.worth_knowing)
        found.extend(self._running.ports.sites.worth_knowing)
        world = self._running.world_of_queues() if MULTIKUEUE in self._running.services else None
        clusters = world.multikueue_clusters if world is not None else {}
        found.extend(
            f"MultiKueueCluster {name} is not connected; its condition Active says why"
            for name, one in sorted(clusters.items())
            if not one.active
        )
        return [*found, *([archivist.problem] if archivist is not None and archivist.problem else [])]

    async def _away(self) -> list[str]:
        """Why the bus does not answer now; it is asked anew each time, because a bus that is frozen says nothing."""
        try:
            async with asyncio.timeout(_ANSWER_S):
                await self._running.ports.bus.stream(FACTS)
        except TimeoutError:
            return [f"the bus has not answered within {_ANSWER_S:.0f} s"]
        except (LogUnavailable, UnsafeStream) as problem:
            return [str(problem)]
        return []

    async def _behind(self, partition: str, host: PartitionHost) -> list[str]:
        found: list[str] = []
        for stream in (host.own, *host.inputs):
            key = (partition, stream.name)
            if key not in self._ends:
                try:
                    async with asyncio.timeout(_ANSWER_S):
                        self._ends[key] = (await stream.last()).sequence
                except (LogUnavailable, LogGap, TimeoutError) as problem:
                    found.append(str(problem) or f"{stream.name} has not answered within {_ANSWER_S:.0f} s")
                    continue
            try:
                async with asyncio.timeout(_ANSWER_S):
                    folded = await folded_to(host, stream.name)
            except (LogUnavailable, TimeoutError) as problem:
                found.append(str(problem) or f"{stream.name} has not answered within {_ANSWER_S:.0f} s")
                continue
            if folded < self._ends[key]:
                found.append(f"{partition}: {stream.name} is folded to {folded} of {self._ends[key]}")
            else:
                self._ends[key] = 0
        return found

    async def _lagging(self) -> list[str]:
        """The streams of which something is not folded that was stored long ago: decisions would rest on an old view."""
        return [
            f"{one.partition}: {one.stream} is folded to {one.folded} of {one.last}, and what comes next was stored {one.age // 1000} s ago"
            for one in (await fold_positions(self._running)).positions
            if one.age is not None and one.age > LAGGING
        ]


async def _nothing() -> list[str]:
    return []


def health_app(
    why_not: Callable[[], Awaitable[list[str]]],
    token: Path | None,
    worth_knowing: Callable[[], Awaitable[list[str]]] = _nothing,
) -> web.Application:
    """Probes: `/livez` always answers ok; `/readyz` answers everybody, such as the kubelet, whether the process is ready.

    The reasons, and what becomes one if nobody acts, name streams and what is on them: only callers from this machine and
    those with the token get them.
    """

    async def live(request: web.Request) -> web.Response:
        del request
        return web.Response(text="ok\n")

    async def ready(request: web.Request) -> web.Response:
        problems = await why_not()
        if not trusted(request, token):
            return web.Response(status=503 if problems else 200, text="not ready\n" if problems else "ok\n")
        lines = [*(problems or ["ok"]), *await worth_knowing()]
        return web.Response(status=503 if problems else 200, text="\n".join(lines) + "\n")

    app = web.Application()
    app.router.add_get("/livez", live)
    app.router.add_get("/readyz", ready)
    return app


@asynccontextmanager
async def health_served(running: Running, at: Endpoint) -> AsyncGenerator[None, None]:
    """Answer probes; none of it when the port is 0. Raises `PortTaken`."""
    if not at.port:
        yield
        return
    health = Health(running)
    app = health_app(health.why_not, at.token, health.worth_knowing)
    async with listening(app, at.port, what="probes", host=at.address):
        yield


_ANSWER_S = 2.0
