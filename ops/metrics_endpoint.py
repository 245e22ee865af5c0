"""Where metrics are fetched: `/metrics` on a port of one's own choice, in the text form of Prometheus."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from ops.card_metrics import CardMetrics
from ops.listening import listening
from projections.world import World

Source = Callable[[], World | None]


def exposition(world: Source) -> bytes:
    """All metrics of a world as text."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(CardMetrics(world))
    return generate_latest(registry)


@asynccontextmanager
async def served(world: Source, port: int) -> AsyncGenerator[None, None]:
    """Serve the metrics of a world that lives in this process; none of it when the port is 0. Raises `PortTaken`.

    A world is folded and read on one event loop, so a scrape never sees half an event.
    """
    if not port:
        yield
        return

    async def metrics(request: web.Request) -> web.Response:
        del request
        return web.Response(body=exposition(world), headers={"Content-Type": CONTENT_TYPE_LATEST})

    app = web.Application()
    app.router.add_get("/metrics", metrics)
    async with listening(app, port, what="metrics"):
        yield
