"""Serving an HTTP application on a port for as long as somebody wants it served."""

import asyncio
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from ops.production.listeners.listener_limits import ConnectionLimiter


class PortTaken(Exception):
    """The port that something should be served on can't be listened on."""

    def __init__(self, what: str, port: int, problem: str) -> None:
        super().__init__(f"{what} can't be served on port {port}: {problem}")


_TURNS_UNTIL_HANDED_OVER = 4
"""A connection is accepted in one turn of the event loop, a task makes its transport in the next, which then begins; one to spare."""


async def open_listener(
    runner: web.AppRunner,
    port: int,
    *,
    host: str | None = None,
    tls: ssl.SSLContext | None = None,
    handshake_s: float | None = None,
    crowd: ConnectionLimiter | None = None,
) -> asyncio.Server:
    """Listen for an application that is set up, on a free port when it is 0. Raises `OSError`."""
    server = runner.server
    assert server is not None, "a runner that is set up has a server"

    def accepted() -> asyncio.Protocol:
        if crowd is not None:
            crowd.make_room(server)
        return server()

    loop = asyncio.get_running_loop()
    return await loop.create_server(accepted, host, port, ssl=tls, ssl_handshake_timeout=handshake_s)


async def close_listener(runner: web.AppRunner, listener: asyncio.Server) -> None:
    """End serving, with every connection: also those that were accepted in this moment.

    Before Python 3.12 a connection whose transport is made when the server is closed already is lost open: nobody hangs up on it.
    """
    loop = asyncio.get_running_loop()
    for one in listener.sockets:
        loop.remove_reader(one.fileno())
    for _ in range(_TURNS_UNTIL_HANDED_OVER):
        await asyncio.sleep(0)
    listener.close()
    await runner.cleanup()


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
    while_awaited: bool = False,
) -> AsyncGenerator[int, None]:
    """Serve while the block lasts, on a free port when it is 0; gives the port. Raises `PortTaken`.

    `what` is how a message calls it; requests under way have `grace_s` seconds to end behind the block. `crowd` bounds what
    strangers may take. With `while_awaited` a request is given up when its connection is closed.
    """
    bounds: dict[str, Any] = {}
    handshake_s = None
    if crowd is not None:
        # What is packed may be a thousand times as long.
        bounds = {"keepalive_timeout": crowd.limits.idle_s, "lingering_time": 1.0, "auto_decompress": False}
        handshake_s = crowd.limits.handshake_s if tls is not None else None
    bounds["handler_cancellation"] = while_awaited
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=grace_s, **bounds)
    await runner.setup()
    try:
        listener = await open_listener(runner, port, host=host, tls=tls, handshake_s=handshake_s, crowd=crowd)
    except OSError as problem:
        await runner.cleanup()
        raise PortTaken(what, port, str(problem)) from problem
    try:
        yield int(listener.sockets[0].getsockname()[1])
    finally:
        await close_listener(runner, listener)
