"""The commands about cards: `kuelog devices`, its subcommands, and `kuelog drift`."""

from pathlib import Path
from typing import Annotated

import typer

from ops.cli.log_options import Archive, Bus, Data, LogSource
from ops.cli.object_names import names_of
from ops.terminal.console import terminal
from ops.terminal.form import AnswerForm, Output

At = Annotated[
    str,
    typer.Option(
        "--at",
        help="As of a time: 2026-01-31T12:00:00Z, +90s after the log began, or a sequence (17, DEVICES_default/3).",
    ),
]

devices_app = typer.Typer(invoke_without_command=True)
console = terminal()


@devices_app.callback()
def devices(
    context: typer.Context,
    data: Data = None,
    nats: Bus = "",
    archive: Archive = "",
    at: At = "",
    node: Annotated[str, typer.Option(help="Only the cards of this node.", autocompletion=names_of("node"))] = "",
    model: Annotated[str, typer.Option(help="Only models whose name holds this.")] = "",
    output: Output = AnswerForm.TEXT,
) -> None:
    """Every card with its slices; what is free in sum and in one piece; what flavors offer beside their quota.

    Example: kuelog devices --data .kuelog/demo --at +20s

    Example: kuelog devices --archive s3://bucket/kuelog --at 2026-01-31T12:00:00Z
    """
    if context.invoked_subcommand is not None:
        return
    from ops.cli.devices.cards import run_devices  # noqa: PLC0415

    source = LogSource(data=data, nats=nats, archive=archive)
    raise typer.Exit(run_devices(source, at=at, node=node, model=model, output=output, console=console))


@devices_app.command()
def fit(
    file: Annotated[Path, typer.Option("-f", "--file", help="A Pod, a Job or anything with a pod template.")],
    data: Data = None,
    nats: Bus = "",
    archive: Archive = "",
    at: At = "",
    flavor: Annotated[str, typer.Option(help="Only this flavor; all that the log knows otherwise.")] = "",
    output: Output = AnswerForm.TEXT,
) -> None:
    """Would it fit, where, and if not, why, card by card, and who could make room. Nothing is changed by asking.

    Example: kuelog devices fit -f pod.yaml --flavor gpu-v100-32gb --at +20s
    """
    from ops.cli.devices.fit import run_fit  # noqa: PLC0415

    source = LogSource(data=data, nats=nats, archive=archive)
    raise typer.Exit(run_fit(file, source, at=at, flavor=flavor, output=output, console=console))


@devices_app.command()
def metrics(data: Data = None, nats: Bus = "", archive: Archive = "", at: At = "") -> None:
    """What Prometheus scrapes about the cards: HAMi's metrics and our own, in text. Services serve it by --metrics.

    Example: kuelog devices metrics --nats nats://127.0.0.1:4222
    """
    from ops.cli.devices.cards import run_metrics  # noqa: PLC0415

    source = LogSource(data=data, nats=nats, archive=archive)
    raise typer.Exit(run_metrics(source, at=at, console=console))


def drift(
    data: Data = None,
    nats: Bus = "",
    archive: Archive = "",
    at: At = "",
    notes: Annotated[bool, typer.Option("--notes", help="Also what may be so for a moment in a healthy run.")] = False,
    output: Output = AnswerForm.TEXT,
) -> None:
    """Where the log, HAMi's annotations and the pods that exist disagree about cards; exit code 1 if they do.

    Example: kuelog drift --data .kuelog/demo --at +20s
    """
    from ops.cli.devices.drift import run_drift  # noqa: PLC0415

    source = LogSource(data=data, nats=nats, archive=archive)
    raise typer.Exit(run_drift(source, at=at, notes=notes, output=output, console=console))
