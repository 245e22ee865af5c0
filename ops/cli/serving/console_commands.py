"""`kuelog console`: its arguments and options."""

from pathlib import Path
from typing import Annotated

import typer

from ops.cli.log_options import Archive, Data, LogSource
from ops.cli.time_options import Scale
from ops.production.listeners.endpoint import LAST_PORT, LOOPBACK
from ops.terminal.console import terminal

terminal_console = terminal()


def console(
    data: Data = None,
    nats: Annotated[
        str,
        typer.Option(
            help="A running bus instead of a folder, e.g. nats://127.0.0.1:4222.",
            envvar="KUELOG_NATS",
        ),
    ] = "",
    archive: Archive = "",
    host: Annotated[
        str,
        typer.Option(
            help="The address to listen on. Elsewhere than on this machine it needs --access and a certificate."
        ),
    ] = LOOPBACK,
    port: Annotated[int, typer.Option(min=0, max=LAST_PORT, help="The port to listen on; a free one when 0.")] = 8083,
    access: Annotated[
        str,
        typer.Option(
            help="Who is let in: token (people show bearer tokens of the cluster) or proxy (a proxy signs them in). Either way the "
            "cluster is asked what each may read. Without it everybody on this machine is."
        ),
    ] = "",
    kubeconfig: Annotated[
        str, typer.Option(help="The cluster that says who may read; inside a pod the service account by default.")
    ] = "",
    context: Annotated[str, typer.Option(help="The context of that kubeconfig.")] = "",
    audience: Annotated[
        str,
        typer.Option(help="With --access token: for whom tokens have to be made, names between commas; any if empty."),
    ] = "",
    proxy_secret: Annotated[
        Path | None,
        typer.Option(help="With --access proxy: a file with what the proxy sends in X-Kuelog-Proxy-Secret."),
    ] = None,
    proxy_ca: Annotated[
        Path | None, typer.Option(help="With --access proxy: the authority of the proxy's client certificate, in PEM.")
    ] = None,
    proxy_names: Annotated[
        str, typer.Option(help="The names that its certificate may bear, between commas; any if empty.")
    ] = "",
    user_header: Annotated[
        str, typer.Option(help="The header in which the proxy names the user.")
    ] = "X-Forwarded-User",
    groups_header: Annotated[
        str, typer.Option(help="The header in which it names groups, between commas.")
    ] = "X-Forwarded-Groups",
    user_prefix: Annotated[
        str, typer.Option(help="What the API server puts before users of the same issuer, e.g. oidc:.")
    ] = "",
    group_prefix: Annotated[str, typer.Option(help="What it puts before their groups.")] = "",
    tls_cert: Annotated[Path | None, typer.Option(help="A certificate in PEM; read again every minute.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Its key in PEM.")] = None,
    own_service: Annotated[
        str,
        typer.Option(
            "--service", help="NAMESPACE/NAME of its Service: it makes a certificate for it, and keeps it in a Secret."
        ),
    ] = "",
    scale: Scale = 1.0,
) -> None:
    """Look at the log in a browser: queues, workloads, the life of each, and cards, now and at any past moment.

    It follows the log by itself and only reads. Without --access nobody but this machine is answered; with it everybody reads what
    Kubernetes lets them list. What a page shows is under /api/v1 as JSON.

    Example: kuelog console --data .kuelog/demo, then open http://127.0.0.1:8083/

    Example: kuelog console --nats nats://127.0.0.1:4222 --access token --kubeconfig ~/.kube/config
    """
    from ops.cli.serving.console import ConsoleOptions, run_console  # noqa: PLC0415 - a command loads what it needs
    from ops.console.identity import TrustedProxy  # noqa: PLC0415

    if (tls_cert is None) != (tls_key is None):
        raise typer.BadParameter("--tls-cert and --tls-key belong together")
    proxy = TrustedProxy(
        secret=proxy_secret,
        certificate=proxy_ca is not None,
        names=_names(proxy_names),
        user_header=user_header,
        groups_header=groups_header,
        user_prefix=user_prefix,
        group_prefix=group_prefix,
    )
    asked = ConsoleOptions(
        address=host,
        port=port,
        scale=scale,
        access=access,
        kubeconfig=kubeconfig,
        context=context,
        audiences=_names(audience),
        proxy=proxy,
        proxy_ca=proxy_ca,
        files=None if tls_cert is None or tls_key is None else (tls_cert, tls_key),
        service=own_service,
    )
    source = LogSource(data=data, nats="" if data is not None else nats, archive=archive)
    raise typer.Exit(run_console(source, asked, terminal_console))


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for name in text.split(",") if name)
