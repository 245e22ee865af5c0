"""Runs the visibility API by itself: it follows the log, and asks the API server at most who may read."""

import asyncio
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import structlog

from events.event import Millis
from ops.production.listeners.certificate import Certificate
from ops.production.listeners.front_proxy import CONFIG_MAP, FrontProxy, FrontProxyUnknown, front_proxy_of
from ops.production.listeners.listening import listening
from ops.production.log.jetstream.bus import JetStreamBus
from ops.production.log.lazy_bus import LazyBus
from ops.production.process.clock import ScaledClock
from ops.production.served import FOLLOWER
from ops.production.visibility.access import AccessByReview
from ops.production.visibility.api import Visibility
from ops.production.wiring import Ports, Running
from projections.world import World
from services.runtime.cluster_port import AccessRefused, ClusterUnavailable, ObjectMissing, Resource, Writer
from services.runtime.log_port import Bus

log = structlog.get_logger()

CONFIG_MAPS = Resource(plural="configmaps", kind="ConfigMap")
_WHAT = "the visibility API"
_NO_CLUSTER: Any = None
_LOOK_S, _AGAIN_S = 60.0, 1.0


class VisibilityUnserved(Exception):
    """The visibility API can't be served as it was asked for."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"{_WHAT} can't be served: {problem}")


class Followed:
    """The world of the decisions as services in this process fold it, once all is folded that was on the log when they began."""

    def __init__(self, running: Running) -> None:
        self._running = running

    def world(self) -> World | None:
        """The world, or None while it is still being folded: also when a partition has begun anew at an older one."""
        hosts = self._running.hosts_of_trees()
        ready = bool(hosts) and all(host.caught_up.is_set() for host in hosts)
        return self._running.world_of_queues() if ready else None

    def now(self) -> Millis:
        """The time by the clock of those services."""
        return self._running.ports.clock.now()


@asynccontextmanager
async def serving(
    visibility: Visibility, host: str, port: int, tls: ssl.SSLContext | None = None
) -> AsyncGenerator[int, None]:
    """Serve on a port, or on a free one when it is 0; gives the port. Raises `PortTaken`."""
    async with listening(visibility.app(), port, what=_WHAT, host=host, tls=tls, grace_s=1) as found:
        yield found


def text_of(path: Path) -> str:
    """The text of a file in PEM. Raises `VisibilityUnserved`."""
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as problem:
        raise VisibilityUnserved(f"{path}: {getattr(problem, 'strerror', '') or 'not a text in PEM'}") from problem


def shown_from(certificate: Path, key: Path) -> Certificate:
    """A certificate from files, for clients on this machine. Raises `VisibilityUnserved`."""
    found = Certificate()
    try:
        found.show(text_of(certificate), text_of(key))
    except ssl.SSLError as problem:
        raise VisibilityUnserved(f"{certificate}, {key}: {problem}") from problem
    return found


def proxy_in(path: Path, names: tuple[str, ...]) -> FrontProxy:
    """The front proxy that a file of authorities says. Raises `VisibilityUnserved`."""
    found = FrontProxy(authorities=text_of(path), names=names)
    try:
        Certificate(asks_clients=True).believe(found.authorities)
    except ssl.SSLError as problem:
        raise VisibilityUnserved(f"{path}: {problem}") from problem
    return found


async def keep_proxy(
    access: AccessByReview, certificate: Certificate, reader: Writer, every: float = _LOOK_S, again: float = _AGAIN_S
) -> None:
    """Believe the front proxy that the cluster's ConfigMap names, and what it names later, for ever."""
    while True:
        pause = again
        try:
            found = await reader.get(CONFIG_MAPS, *CONFIG_MAP)
            proxy = front_proxy_of(found.get("data") or {})
            certificate.believe(proxy.authorities)
            access.proxy, pause = proxy, every
        except (AccessRefused, ClusterUnavailable, FrontProxyUnknown, ObjectMissing, ssl.SSLError) as problem:
            log.warning("front proxy not known", problem=str(problem))
        await asyncio.sleep(pause)


def follower(bus: Bus, scale: float = 1.0) -> Running:
    """What follows the log of a bus without deciding or writing anything. It begins at the newest saved world, as services do."""
    shelf = bus.shelf if isinstance(bus, JetStreamBus | LazyBus) else None
    ports = Ports(bus=bus, reader=_NO_CLUSTER, writer=_NO_CLUSTER, clock=ScaledClock(scale), shelf=shelf)
    return Running(ports, (FOLLOWER,))
