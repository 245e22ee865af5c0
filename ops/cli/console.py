"""Serving the console until SIGINT or SIGTERM: over a running bus, or over the log in a folder."""

import asyncio

from rich.console import Console

from ops.cli.failures import known_failures
from ops.cli.log_options import LogSource
from ops.cli.log_reading import archive_of, bus_of
from ops.cli.serve import stop_signal
from ops.console.guard import check_address
from ops.console.server import console_served
from ops.production.process.event_loop import run


def run_console(source: LogSource, *, address: str, port: int, scale: float, console: Console) -> int:
    """Serve it; 0 when it was stopped."""
    with known_failures() as outcome:
        check_address(address)
        run(_serve(source, address, port, scale, console))
        outcome.code = 0
    return outcome.code


async def _serve(source: LogSource, address: str, port: int, scale: float, console: Console) -> None:
    stop = stop_signal()
    async with bus_of(source) as bus:
        archive = await archive_of(source, bus)
        async with console_served(bus, port=port, address=address, archive=archive, scale=scale) as served:
            name = f"[{address}]" if ":" in address else address
            console.print(f"console on http://{name}:{served.port}/ (Ctrl-C stops)", highlight=False, markup=False)
            stopping = asyncio.create_task(stop.wait())
            await asyncio.wait({stopping, served.following}, return_when=asyncio.FIRST_COMPLETED)
            stopping.cancel()
            if served.following.done():
                served.following.result()
    console.print("stopped")
