"""Where metrics are fetched: `/metrics` on a port of one's own choice, in the text form of Prometheus."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from ops.bearer import trusted
from ops.card_metrics import CardMetrics
from ops.endpoint import Endpoint
from ops.listening import listening
from ops.log.filling import Filled, FillingMetrics
from projections.world import World

Source = Callable[[], World | None]
Filling = Callable[[], Awaitable[list[Filled]]]


def exposition(world: Source, filled: Sequence[Filled] = ()) -> bytes:
    """All metrics of a world, and of the log behind it, as text."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(CardMetrics(world))
    registry.register(FillingMetrics(filled))
    return generate_latest(registry)


async def _nothing() -> list[Filled]:
    return []


def metrics_app(world: Source, token: Path | None, filled: Filling = _nothing) -> web.Application:
    """The metrics of a world, under `/metrics`; with a token for those who come from elsewhere, when there is one."""

    async def metrics(request: web.Request) -> web.Response:
        if token is not None and not trusted(request, token):
            return web.Response(status=401, text="a bearer token is needed\n", headers={"WWW-Authenticate": "Bearer"})
        return web.Response(body=exposition(world, await filled()), headers={"Content-Type": CONTENT_TYPE_LATEST})

    app = web.Application()
    app.router.add_get("/metrics", metrics)
    return app


@asynccontextmanager
async def served(world: Source, at: Endpoint, filled: Filling = _nothing) -> AsyncGenerator[None, None]:
    """Serve the metrics of a world that lives in this process; none of it when the port is 0. Raises `PortTaken`.

    A world is folded and read on one event loop, so a scrape never sees half an event.
    """
    if not at.port:
        yield
        return
    async with listening(metrics_app(world, at.token, filled), at.port, what="metrics", host=at.address):
        yield
