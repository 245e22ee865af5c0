"""Runs the visibility API by itself: it follows the log, and needs no way to the cluster."""

import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import web

from ops.cluster.clock import ScaledClock
from ops.visibility import Visibility
from ops.wiring import LANE, Ports, Running
from projections.world import World
from services.log_port import Bus

NAME = "visibility"
_NO_CLUSTER: Any = None


class VisibilityUnserved(Exception):
    """The visibility API can't be served as it was asked for."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"the visibility API can't be served: {problem}")


class Tls(msgspec.Struct, frozen=True, kw_only=True):
    """Files in PEM. With `client_ca` only those get an answer who prove themselves by a certificate of that authority."""

    certificate: Path
    key: Path
    client_ca: Path | None = None


class Followed:
    """The world of the decisions as services in this process fold it, as soon as it has come up to the log's end."""

    def __init__(self, running: Running) -> None:
        self._running, self._ready = running, False

    def world(self) -> World | None:
        """The world, or None while it is still being folded."""
        host = self._running.hosts.get(LANE)
        if host is None:
            return None
        self._ready = self._ready or host.quiet.is_set()
        return host.fold.world if self._ready else None


@asynccontextmanager
async def serving(visibility: Visibility, host: str, port: int, tls: Tls | None = None) -> AsyncGenerator[int, None]:
    """Serve on a port, or on a free one when it is 0; gives the port. Raises `VisibilityUnserved`."""
    runner = web.AppRunner(visibility.app(), access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, host or None, port, ssl_context=_context(tls)).start()
        except OSError as problem:  # among them what is wrong with certificates
            raise VisibilityUnserved(str(problem)) from problem
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


def follower(bus: Bus, scale: float = 1.0) -> Running:
    """What follows the log of a bus without deciding or writing anything."""
    return Running(Ports(bus=bus, reader=_NO_CLUSTER, writer=_NO_CLUSTER, clock=ScaledClock(scale)), (NAME,))


def _context(tls: Tls | None) -> ssl.SSLContext | None:
    if tls is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tls.certificate, tls.key)
    if tls.client_ca is not None:
        context.load_verify_locations(tls.client_ca)
        context.verify_mode = ssl.CERT_REQUIRED
    return context
