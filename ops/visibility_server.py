"""Runs the visibility API by itself: it follows the log, and needs no way to the cluster."""

import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from ops.cluster.clock import ScaledClock
from ops.listening import listening
from ops.visibility import Visibility
from ops.wiring import LANE, Ports, Running
from projections.world import World
from services.log_port import Bus

NAME = "visibility"
_WHAT = "the visibility API"
_NO_CLUSTER: Any = None


class VisibilityUnserved(Exception):
    """The certificate of the visibility API can't be used."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"{_WHAT} can't be served: {problem}")


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
    """Serve on a port, or on a free one when it is 0; gives the port. Raises `VisibilityUnserved`, `PortTaken`."""
    try:
        context = _context(tls)
    except OSError as problem:  # among them every `ssl.SSLError`
        raise VisibilityUnserved(str(problem)) from problem
    async with listening(visibility.app(), port, what=_WHAT, host=host or None, tls=context, grace_s=1) as found:
        yield found


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
