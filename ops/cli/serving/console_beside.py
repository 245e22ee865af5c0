"""The console inside a process that runs the services: a projection of its own, over a connection of its own."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

from rich.console import Console

from ops.production.listeners.endpoint import LOOPBACK
from ops.production.log.jetstream.bus import connect


@asynccontextmanager
async def console_beside(nats: str, port: int, console: Console, *, scale: float = 1.0) -> AsyncGenerator[None, None]:
    """Serve it to this machine beside the services that write the log, over a connection of its own; not when the port is 0."""
    if not port:
        yield
        return
    from ops.console.server import Door, console_served  # noqa: PLC0415 - who shows no page needs neither templates nor Parquet

    async with AsyncExitStack() as stack:
        bus = await connect(nats)
        stack.push_async_callback(bus.close)
        served = await stack.enter_async_context(console_served(bus, Door(port=port), scale=scale))
        console.print(f"console on http://{LOOPBACK}:{served.port}/", highlight=False)
        yield
