"""Serving an HTTP application on a port for as long as somebody wants it served."""

import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from aiohttp import web


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
) -> AsyncGenerator[int, None]:
    """Serve while the block lasts, on a free port when it is 0; gives the port. Raises `PortTaken`.

    `what` is how a message calls it; requests under way have `grace_s` seconds to end behind the block.
    """
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
