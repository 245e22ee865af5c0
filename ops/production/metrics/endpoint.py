"""Where metrics are fetched: `/metrics` on a port of one's own choice, in the text form of Prometheus."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.registry import Collector

from ops.production.listeners.bearer import trusted
from ops.production.listeners.endpoint import Endpoint
from ops.production.listeners.listening import listening
from ops.production.log.capacity import CapacityMetrics, StreamFill
from ops.production.metrics.alarms import AlarmMetrics
from ops.production.metrics.cards import CardMetrics
from ops.production.wiring import Running
from projections.world import World

Source = Callable[[], World | None]
Filling = Callable[[], Awaitable[list[StreamFill]]]


def exposition(world: Source, filled: Sequence[StreamFill] = (), alarms: Collector | None = None) -> bytes:
    """All metrics of a world, and of the log behind it, as text."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(CardMetrics(world))
    registry.register(CapacityMetrics(filled))
    if alarms is not None:
        registry.register(alarms)
    return generate_latest(registry)


async def _nothing() -> list[StreamFill]:
    return []


def metrics_app(
    world: Source, token: Path | None, filled: Filling = _nothing, alarms: Collector | None = None
) -> web.Application:
    """The metrics of a world, under `/metrics`; with a token for those who come from elsewhere, when there is one."""

    async def metrics(request: web.Request) -> web.Response:
        if token is not None and not trusted(request, token):
            return web.Response(status=401, text="a bearer token is needed\n", headers={"WWW-Authenticate": "Bearer"})
        return web.Response(
            body=exposition(world, await filled(), alarms), headers={"Content-Type": CONTENT_TYPE_LATEST}
        )

    app = web.Application()
    app.router.add_get("/metrics", metrics)
    return app


@asynccontextmanager
async def served(running: Running, at: Endpoint) -> AsyncGenerator[None, None]:
    """Serve the metrics of the services in this process; none of it when the port is 0. Raises `PortTaken`.

    A world is folded and read on one event loop, so a scrape never sees half an event.
    """
    if not at.port:
        yield
        return
    app = metrics_app(running.world_of_cards, at.token, running.filled, AlarmMetrics(running))
    async with listening(app, at.port, what="metrics", host=at.address):
        yield
