"""`kuelog demo`, `lint`, `up` and `run`: arguments and options."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ops.cli.log_options import Copies, HandOut, Timestamp, site_addresses
from ops.cli.object_names import scenarios, services
from ops.cli.time_options import FASTEST, SLOWEST, Scale
from ops.production.listeners.endpoint import LAST_PORT, LOOPBACK, Endpoint
from ops.terminal.console import terminal
from ops.terminal.form import AnswerForm, Output

if TYPE_CHECKING:
    from ops.production.log.sites import Joining

console = terminal()

Data = Annotated[Path, typer.Option(help="The folder that a run keeps its log and cluster in.")]
MetricsAddress = Annotated[str, typer.Option(help="Where metrics are served.")]
MetricsToken = Annotated[
    Path | None,
    typer.Option(help="A file with the bearer token that requests for metrics from other machines have to show."),
]
EXAMPLES = Path("examples/ai-platform")


def demo(
    scenario: Annotated[
        Path,
        typer.Argument(help="A folder with manifests, and perhaps a scenario.yaml.", autocompletion=scenarios),
    ] = EXAMPLES,
    data: Data = Path(".kuelog/demo"),
    loose: Annotated[
        bool | None,
        typer.Option(
            help="Give a sensible meaning to manifests that Kueue refuses; so by default without a scenario.yaml."
        ),
    ] = None,
) -> None:
    """Start a whole platform, play a scenario to its end, and prove the run from its log.

    Example: kuelog demo examples/ai-platform
    """
    from ops.cli.serving.demo import run_demo  # noqa: PLC0415 - a command loads what it needs

    as_meant = not (scenario / "scenario.yaml").exists() if loose is None else loose
    raise typer.Exit(run_demo(scenario, data, loose=as_meant, console=console))


def lint(
    files: Annotated[list[Path], typer.Argument(help="Manifest files or folders.")],
    loose: Annotated[bool, typer.Option(help="Only warn about what can be given a sensible meaning.")] = False,
    output: Output = AnswerForm.TEXT,
) -> None:
    """Name each mistake in manifests: file, line, what is wrong, what happens because of it, what to write instead.

    Example: kuelog lint examples/ai-platform
    """
    from ops.cli.lint import run_lint  # noqa: PLC0415

    raise typer.Exit(run_lint(files, loose=loose, output=output, console=console))


def up(
    data: Annotated[Path, typer.Option(help="Where the embedded bus and cluster keep their state.")] = Path(
        ".kuelog/up"
    ),
    kubeconfig: Annotated[str, typer.Option(help="A real cluster instead of the embedded one.")] = "",
    context: Annotated[str, typer.Option(help="The context of that kubeconfig.")] = "",
    nats: Annotated[str, typer.Option(help="A running bus instead of an embedded one.")] = "",
    scale: Annotated[
        float, typer.Option(min=SLOWEST, max=FASTEST, help="How fast the embedded cluster's time runs.")
    ] = 1.0,
    port: Annotated[int, typer.Option(min=0, max=LAST_PORT, help="The port of the embedded Kubernetes API.")] = 0,
    metrics: Annotated[
        int, typer.Option(min=0, max=LAST_PORT, help="A port for Prometheus to fetch /metrics from; none when 0.")
    ] = 0,
    metrics_address: MetricsAddress = LOOPBACK,
    metrics_token: MetricsToken = None,
    pages: Annotated[
        int,
        typer.Option(
            "--console", min=0, max=LAST_PORT, help="A port for the console, for browsers on this machine; none when 0."
        ),
    ] = 0,
    config: Annotated[Path | None, typer.Option(help="A Configuration file in Kueue's format.")] = None,
    nodes: Annotated[
        Path | None,
        typer.Option(help="Node pools that the embedded cluster begins with, as under nodes: of a scenario.yaml."),
    ] = None,
    no_nodes: Annotated[bool, typer.Option("--no-nodes", help="Begin without a node.")] = False,
    roll_bytes: Annotated[
        int, typer.Option(min=0, help="Roll streams that hold so much; a quarter of their limit when 0.")
    ] = 0,
    roll_days: Annotated[
        int, typer.Option(min=0, help="Roll streams whose first message is so old; at any age when 0.")
    ] = 0,
    hand_out: HandOut = None,
    timestamp: Timestamp = "",
    partitions: Annotated[
        int,
        typer.Option(
            min=0,
            help="Divide a log that is still empty into so many partitions of trees; docs/scale.md says when that pays.",
        ),
    ] = 0,
    hub: Annotated[
        str,
        typer.Option(
            metavar="PLACE",
            envvar="KUELOG_HUB",
            help="Join a hub that keeps a copy of this log: nats-leaf://site-NAME:PASSWORD@HOST:PORT, or a file that holds that; docs/sites.md.",
        ),
    ] = "",
) -> None:
    """Run everything from this machine: bus, services and, unless one is named, a cluster. Ctrl-C stops all of it.

    The embedded cluster begins with the nodes and cards of the demo and keeps what it has when it is started again.

    Example: kuelog up, then in another shell: kubectl --kubeconfig .kuelog/up/kubeconfig get clusterqueues
    """
    from ops.production.archive.archivist import RollLimits  # noqa: PLC0415

    _refuse_nodes(kubeconfig, nodes, none=no_nodes)
    if hand_out and not kubeconfig:
        raise typer.BadParameter("--hand-out is for a real cluster; here `kuelog audit checkpoint --to` hands them out")
    joining = _joining(hub, nats)
    rolled = RollLimits(bytes=roll_bytes, days=roll_days, copied=joining is not None)
    served = Endpoint(port=metrics, address=metrics_address, token=metrics_token)
    if kubeconfig:
        from ops.cli.serving.serve import run_up_on_cluster  # noqa: PLC0415

        code = run_up_on_cluster(
            data,
            kubeconfig=kubeconfig,
            context=context,
            nats=nats,
            metrics=served,
            pages=pages,
            config=config,
            rolled=rolled,
            hand_out=hand_out or (),
            timestamp=timestamp,
            partitions=partitions,
            joining=joining,
            console=console,
        )
    else:
        from ops.cli.serving.up_embedded import run_up_embedded  # noqa: PLC0415

        code = run_up_embedded(
            data,
            scale=scale,
            port=port,
            metrics=served,
            pages=pages,
            config=config,
            rolled=rolled,
            nodes=nodes,
            no_nodes=no_nodes,
            partitions=partitions,
            joining=joining,
            console=console,
        )
    raise typer.Exit(code)


def _joining(hub: str, nats: str) -> "Joining | None":
    """The hub that is to be joined, if any. Raises `typer.BadParameter`."""
    from ops.files.reading import Unreadable, bytes_of  # noqa: PLC0415
    from ops.production.log.sites import SiteRefused, joining_of  # noqa: PLC0415

    if not hub:
        return None
    if nats:
        raise typer.BadParameter(
            "--hub is for the bus that is started here; servers of yours join by their configuration"
        )
    try:
        return joining_of(hub if "://" in hub else bytes_of(Path(hub)).decode().strip())
    except (SiteRefused, Unreadable, UnicodeDecodeError) as problem:
        raise typer.BadParameter(f"--hub: {problem}") from problem


def _refuse_nodes(kubeconfig: str, nodes: Path | None, *, none: bool) -> None:
    """Say which options about nodes do not go together."""
    if kubeconfig and (nodes is not None or none):
        word = "--no-nodes" if none else "--nodes"
        raise typer.BadParameter(
            f"{word} is for the embedded cluster; the cluster of --kubeconfig has nodes of its own"
        )
    if nodes is not None and none:
        raise typer.BadParameter("say --nodes FILE or --no-nodes, not both")


def run(
    service: Annotated[
        str,
        typer.Argument(
            help="watcher, queue-manager, admitter, preemptor, accountant, applier, multikueue, webhook, or verifier, which decides again what they decided.",
            autocompletion=services,
        ),
    ],
    nats: Annotated[str, typer.Option(help="The bus.", envvar="KUELOG_NATS")] = "nats://127.0.0.1:4222",
    kubeconfig: Annotated[str, typer.Option(help="The cluster; inside a pod the service account by default.")] = "",
    context: Annotated[str, typer.Option(help="The context of that kubeconfig.")] = "",
    witness: Annotated[str, typer.Option(help="The folder of the head witness; none when empty.")] = "",
    hand_out: HandOut = None,
    timestamp: Timestamp = "",
    site: Copies = None,
    partition: Annotated[
        list[str] | None,
        typer.Option(
            help="A partition of a divided log that is served here, e.g. LOG_3; repeatable, all of them without it."
        ),
    ] = None,
    scale: Scale = 1.0,
    metrics: Annotated[
        int, typer.Option(min=0, max=LAST_PORT, help="A port for Prometheus to fetch /metrics from; none when 0.")
    ] = 0,
    metrics_address: MetricsAddress = LOOPBACK,
    metrics_token: MetricsToken = None,
    config: Annotated[Path | None, typer.Option(help="A Configuration file in Kueue's format.")] = None,
    health: Annotated[
        int, typer.Option(min=0, max=LAST_PORT, help="A port for probes: /livez and /readyz; none when 0.")
    ] = 0,
    health_address: Annotated[
        str,
        typer.Option(
            help="The address on which probes are answered; callers from other machines get only whether it is ready, not why."
        ),
    ] = LOOPBACK,
    health_token: Annotated[
        Path | None,
        typer.Option(help="A file with a bearer token; callers that show it get the reasons from any machine."),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=LAST_PORT, help="webhook: where HTTPS is served.")] = 9443,
    cert_dir: Annotated[Path | None, typer.Option(help="webhook: tls.crt and tls.key of cert-manager.")] = None,
    own_service: Annotated[
        str, typer.Option("--service", help="webhook: NAMESPACE/NAME under which the API server reaches it.")
    ] = "kuelog-system/kuelog-webhook",
    crash: Annotated[str, typer.Option(hidden=True)] = "",
) -> None:
    """Run one service against a common bus and a common cluster. Several replicas of any service are safe.

    Example: kuelog run admitter --nats nats://127.0.0.1:4222
    """
    if service == "webhook":
        if health:
            raise typer.BadParameter("--health has no meaning for the webhook: it answers /livez and /readyz at --port")
        from ops.cli.serving.webhook_commands import run_webhook  # noqa: PLC0415

        raise typer.Exit(
            run_webhook(
                kubeconfig=kubeconfig,
                context=context,
                port=port,
                cert_dir=cert_dir,
                service=own_service,
                config=config,
                metrics=Endpoint(port=metrics, address=metrics_address, token=metrics_token),
                console=console,
            )
        )
    from ops.cli.serving.serve import run_service  # noqa: PLC0415

    raise typer.Exit(
        run_service(
            service,
            nats=nats,
            kubeconfig=kubeconfig,
            context=context,
            witness=witness,
            hand_out=hand_out or (),
            timestamp=timestamp,
            sites=site_addresses(site or ()),
            partitions=partition or (),
            scale=scale,
            crash=crash,
            metrics=Endpoint(port=metrics, address=metrics_address, token=metrics_token),
            health=Endpoint(port=health, address=health_address, token=health_token),
            config=config,
            console=console,
        )
    )
