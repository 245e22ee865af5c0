"""`kuelog visibility`: Kueue's visibility API as a service of its own."""

from pathlib import Path
from typing import Annotated

import typer

from ops.cli.serving.run_commands import MetricsAddress, MetricsToken
from ops.cli.time_options import Scale
from ops.production.listeners.endpoint import LAST_PORT, LOOPBACK, Endpoint, is_loopback
from ops.terminal.console import terminal

console = terminal()


def visibility(
    nats: Annotated[str, typer.Option(help="The bus.", envvar="KUELOG_NATS")] = "nats://127.0.0.1:4222",
    host: Annotated[
        str,
        typer.Option(help="The address to listen on. Elsewhere than on this machine only the API server is answered."),
    ] = LOOPBACK,
    port: Annotated[int, typer.Option(min=0, max=LAST_PORT, help="The port to listen on.")] = 8082,
    kubeconfig: Annotated[
        str, typer.Option(help="The cluster that says who may read; inside a pod the service account by default.")
    ] = "",
    context: Annotated[str, typer.Option(help="The context of that kubeconfig.")] = "",
    own_service: Annotated[
        str, typer.Option("--service", help="NAMESPACE/NAME under which the API server reaches it.")
    ] = "kuelog-system/kuelog-visibility",
    tls_cert: Annotated[
        Path | None, typer.Option(help="A certificate in PEM; without one it makes its own, or none on this machine.")
    ] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Its key in PEM.")] = None,
    client_ca: Annotated[
        Path | None, typer.Option(help="The front proxy's authority; by default the one that the cluster names.")
    ] = None,
    allowed_names: Annotated[
        str,
        typer.Option(help="With --client-ca: the names that its certificate may bear, between commas; any if empty."),
    ] = "",
    metrics: Annotated[
        int, typer.Option(min=0, max=LAST_PORT, help="A port for Prometheus to fetch /metrics from; none when 0.")
    ] = 0,
    metrics_address: MetricsAddress = LOOPBACK,
    metrics_token: MetricsToken = None,
    external_metrics: Annotated[
        bool,
        typer.Option(
            "--external-metrics",
            envvar="KUELOG_EXTERNAL_METRICS",
            help="Serve its own lag as external.metrics.k8s.io as well, for a HorizontalPodAutoscaler.",
        ),
    ] = False,
    scale: Scale = 1.0,
) -> None:
    """Serve visibility.kueue.x-k8s.io: who waits for a queue at which position.

    On this machine everybody who can reach it is answered. With a cluster, or on any other address, only the API server's
    front proxy is, and the API server is asked who may read what (SubjectAccessReview).

    Example: kuelog visibility, then: curl localhost:8082/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/q/pendingworkloads
    """
    from ops.cli.failures import known_failures  # noqa: PLC0415 - a command loads what it needs
    from ops.cli.serving.serve import until_stopped  # noqa: PLC0415
    from ops.cli.serving.visibility import VisibilityOptions, serve_here, serve_to_api_server  # noqa: PLC0415
    from ops.production.process.event_loop import run  # noqa: PLC0415

    asked = VisibilityOptions(
        nats=nats,
        host=host,
        port=port,
        kubeconfig=kubeconfig,
        context=context,
        service=own_service,
        files=None if tls_cert is None or tls_key is None else (tls_cert, tls_key),
        client_ca=client_ca,
        names=tuple(name for name in allowed_names.split(",") if name),
        scale=scale,
        metrics=Endpoint(port=metrics, address=metrics_address, token=metrics_token),
        lag=external_metrics,
    )
    here = is_loopback(host) and not kubeconfig
    if (tls_cert is None) != (tls_key is None):
        raise typer.BadParameter("--tls-cert and --tls-key belong together")
    if here and (client_ca is not None or allowed_names):
        raise typer.BadParameter("--client-ca needs a cluster that says who may read: name it with --kubeconfig")
    with known_failures() as outcome:
        run(until_stopped(serve_here(asked, console) if here else serve_to_api_server(asked, console)))
        outcome.code = 0
    raise typer.Exit(outcome.code)
