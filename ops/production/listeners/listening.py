"""Serving an HTTP application on a port for as long as somebody wants it served."""

import asyncio
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from aiohttp import web

from ops.production.listeners.listener_limits import ConnectionLimiter


class PortTaken(Exception):
    """The port that something should be served on can't be listened on."""

    def __init__(self, what: str, port: int, problem: str) -> None:
        super().__init__(f"{what} can't be served on port {port}: {problem}")


@asynccontextmanager
async def listening(
    app: web.Application,
    port: int,
    *,
    what: str,
    host: str | None = None,
    tls: ssl.SSLContext | None = None,
    grace_s: float = 60,
    crowd: ConnectionLimiter | None = None,
) -> AsyncGenerator[int, None]:
    """Serve while the block lasts, on a free port when it is 0; gives the port. Raises `PortTaken`.

    `what` is how a message calls it; requests under way have `grace_s` seconds to end behind the block. `crowd` bounds what
    strangers may take.
    """
    if crowd is not None:
        async with _crowded(app, port, what, host, tls, grace_s, crowd) as found:
            yield found
        return
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=grace_s)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, host, port, ssl_context=tls).start()
        except OSError as problem:
            raise PortTaken(what, port, str(problem)) from problem
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()


@asynccontextmanager
async def _crowded(
    app: web.Application,
    port: int,
    what: str,
    host: str | None,
    tls: ssl.SSLContext | None,
    grace_s: float,
    crowd: ConnectionLimiter,
) -> AsyncGenerator[int, None]:
    limits = crowd.limits
    runner = web.AppRunner(
        app,
        access_log=None,
        shutdown_timeout=grace_s,
        keepalive_timeout=limits.idle_s,
        lingering_time=1.0,
        # What is packed may be a thousand times as long.
        auto_decompress=False,
    )
    await runner.setup()
    server = runner.server
    assert server is not None, "a runner that is set up has a server"

    def accepted() -> asyncio.Protocol:
        crowd.make_room(server)
        return server()

    try:
        patience = limits.handshake_s if tls is not None else None
        try:
            listener = await asyncio.get_running_loop().create_server(
                accepted, host, port, ssl=tls, ssl_handshake_timeout=patience
            )
        except OSError as problem:
            raise PortTaken(what, port, str(problem)) from problem
        try:
            yield int(listener.sockets[0].getsockname()[1])
        finally:
            listener.close()
    finally:
        await runner.cleanup()
