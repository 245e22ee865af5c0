"""Where metrics are fetched: `/metrics` on a port of one's own choice, in the text form of Prometheus."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from ops.card_metrics import CardMetrics
from projections.world import World

Source = Callable[[], World | None]


class PortTaken(Exception):
    """The port for metrics can't be listened on."""

    def __init__(self, port: int, problem: str) -> None:
        super().__init__(f"metrics can't be served on port {port}: {problem}")


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
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, None, port).start()
        except OSError as problem:
            raise PortTaken(port, str(problem)) from problem
        yield
    finally:
        await runner.cleanup()
