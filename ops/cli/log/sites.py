"""`kuelog sites`: logs of sites that are copied at a hub. Arguments and options."""

from pathlib import Path
from typing import Annotated

import typer

from ops.cli.log_options import Copies, site_addresses
from ops.production.listeners.endpoint import LAST_PORT
from ops.terminal.console import terminal
from ops.terminal.form import AnswerForm, Output

console = terminal()
sites_app = typer.Typer(
    help="Logs of sites that are copied at a hub: set up, and how they stand.", no_args_is_help=True
)


@sites_app.command()
def serve(
    site: Annotated[
        list[str], typer.Argument(metavar="SITE...", help="What the sites are called, as their MultiKueueClusters are.")
    ],
    data: Annotated[Path, typer.Option(help="Where the copies and the passwords are kept.")] = Path(".kuelog/hub"),
    address: Annotated[
        str, typer.Option(help="Where leaf connections of sites are taken; readers are on this machine.")
    ] = "127.0.0.1",
    host: Annotated[
        str, typer.Option(help="Under which name or address sites reach this machine; else that of --address.")
    ] = "",
    port: Annotated[int, typer.Option(min=1, max=LAST_PORT, help="The port for leaf connections.")] = 7422,
    nats: Annotated[int, typer.Option(min=1, max=LAST_PORT, help="The port for readers.")] = 4222,
) -> None:
    """Serve a bus that keeps a copy of each site's log, until Ctrl-C or SIGTERM: a hub on this machine.

    In a cluster the bus of kuelog itself is the hub: `kuelog deploy bus-values --site NAME`.

    Example: kuelog sites serve east west, then at the site: kuelog up --hub .kuelog/hub/east.leaf
    """
    from ops.cli.log.sites_served import run_hub  # noqa: PLC0415 - a command loads what it needs

    raise typer.Exit(run_hub(data, site, address=address, host=host or address, port=port, nats=nats, console=console))


@sites_app.command()
def copy(
    site: Annotated[str, typer.Argument(help="The site.")],
    nats: Annotated[
        str,
        typer.Option(
            help="The hub, as who may create copies: nats://copier-NAME:PASSWORD@HOST:PORT.",
            envvar="KUELOG_NATS",
        ),
    ] = "nats://127.0.0.1:4222",
    replicas: Annotated[int, typer.Option(min=1, max=5, help="On how many servers each copy is held.")] = 1,
) -> None:
    """Have the hub copy every stream of a site from its beginning on. Again after the site's log was divided; else nothing changes.

    Example: kuelog sites copy east --nats nats://copier-east:PASSWORD@nats:4222 --replicas 3
    """
    from ops.cli.log.sites_served import run_copy  # noqa: PLC0415

    raise typer.Exit(run_copy(site, nats, replicas, console=console))


@sites_app.command()
def show(site: Copies = None, output: Output = AnswerForm.TEXT) -> None:
    """Which sites are connected, and how far their copies have come; exit code 1 where one is not connected or lags.

    Example: kuelog sites show --site east=nats://reader-east:PASSWORD@nats:4222
    """
    from ops.cli.log.sites_served import run_show  # noqa: PLC0415

    if not site:
        raise typer.BadParameter("name at least one site with --site NAME=ADDRESS, or in KUELOG_SITE")
    raise typer.Exit(run_show(site_addresses(site), output, console=console))
