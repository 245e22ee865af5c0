"""`kuelog console`: its arguments and options."""

from typing import Annotated

import typer

from ops.cli.log_options import Archive, Bus, Data, LogSource
from ops.production.listeners.endpoint import LOOPBACK
from ops.terminal.console import terminal

terminal_console = terminal()


def console(
    data: Data = None,
    nats: Bus = "",
    archive: Archive = "",
    host: Annotated[
        str, typer.Option(help="The address to listen on: one of this machine's own, as 127.0.0.1.")
    ] = LOOPBACK,
    port: Annotated[int, typer.Option(help="The port to listen on; a free one when 0.")] = 8083,
    scale: Annotated[float, typer.Option(help="How fast time runs; as the embedded cluster's.")] = 1.0,
) -> None:
    """Look at the log in a browser: queues, workloads, the life of each, and cards, now and at any past moment.

    It follows the log by itself and only reads; nobody but this machine is answered. What a page shows is under /api/v1 as JSON.

    Example: kuelog console --data .kuelog/demo, then open http://127.0.0.1:8083/

    Example: kuelog console --nats nats://127.0.0.1:4222
    """
    from ops.cli.console import run_console  # noqa: PLC0415 - a command loads what it needs

    source = LogSource(data=data, nats=nats, archive=archive)
    raise typer.Exit(run_console(source, address=host, port=port, scale=scale, console=terminal_console))
