"""`kuelog visibility`: Kueue's visibility API as a service of its own."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

if TYPE_CHECKING:
    from ops.visibility_server import Tls

console = Console(soft_wrap=False)


def visibility(
    nats: Annotated[str, typer.Option(help="The bus.")] = "nats://127.0.0.1:4222",
    host: Annotated[str, typer.Option(help="The address to listen on; all of them when empty.")] = "",
    port: Annotated[int, typer.Option(help="The port to listen on.")] = 8082,
    tls_cert: Annotated[Path | None, typer.Option(help="A certificate in PEM; plain HTTP without one.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Its key in PEM.")] = None,
    client_ca: Annotated[
        Path | None, typer.Option(help="Answer only who has a certificate of this authority: the front proxy's.")
    ] = None,
    scale: Annotated[float, typer.Option(help="How fast time runs; as the embedded cluster's.")] = 1.0,
) -> None:
    """Serve visibility.kueue.x-k8s.io: who waits for a queue at which position. Needs the bus only.

    Example: kuelog visibility --tls-cert tls.crt --tls-key tls.key --client-ca front-proxy-ca.crt
    """
    from ops.cli.failures import known_failures  # noqa: PLC0415 - a command loads what it needs
    from ops.visibility_server import Tls  # noqa: PLC0415

    if (tls_cert is None) != (tls_key is None) or (client_ca is not None and tls_cert is None):
        raise typer.BadParameter("--tls-cert and --tls-key belong together, and --client-ca needs both")
    tls = None if tls_cert is None or tls_key is None else Tls(certificate=tls_cert, key=tls_key, client_ca=client_ca)
    with known_failures(console) as outcome:
        asyncio.run(_serve(nats, host, port, tls, scale))
        outcome.code = 0
    raise typer.Exit(outcome.code)


async def _serve(nats: str, host: str, port: int, tls: "Tls | None", scale: float) -> None:
    from ops.cli.serve import until_stopped  # noqa: PLC0415
    from ops.log.jetstream import connect  # noqa: PLC0415
    from ops.visibility import Visibility  # noqa: PLC0415
    from ops.visibility_server import Followed, follower, serving  # noqa: PLC0415

    async with AsyncExitStack() as stack:
        bus = await connect(nats)
        stack.push_async_callback(bus.close)
        running = follower(bus, scale)
        found = await stack.enter_async_context(serving(Visibility(Followed(running).world), host, port, tls))
        console.print(f"visibility API on port {found}, bus {nats} (Ctrl-C stops)", highlight=False)
        await until_stopped(running)
