"""`kuelog log …`: arguments and options."""

from pathlib import Path
from typing import Annotated

import typer

from ops.cli.log.life import roll
from ops.cli.log_options import Archive, Bus, Data
from ops.cli.object_names import streams
from ops.cli.questions.commands import log_show
from ops.terminal.console import terminal
from ops.terminal.form import AnswerForm, Output

console = terminal()
log_app = typer.Typer(help="Look after the log itself.", no_args_is_help=True)
log_app.command(name="show")(log_show)
log_app.command()(roll)


@log_app.command()
def quarantine(
    stream: Annotated[str, typer.Argument(help="FACTS, LOG_0 or DEVICES_default.", autocompletion=streams)],
    sequence: Annotated[int, typer.Argument(min=1, help="The sequence of the message that can't be read.")],
    reason: Annotated[str, typer.Option(help="Why it may be skipped; it is recorded.")],
    nats: Annotated[str, typer.Option(help="The bus.")] = "nats://127.0.0.1:4222",
) -> None:
    """Have a stored message skipped, on record: a fold that waits for it goes on.

    Example: kuelog log quarantine FACTS 1234 --reason "sent by a stray script"
    """
    from ops.cli.log.care import run_quarantine  # noqa: PLC0415

    raise typer.Exit(run_quarantine(stream, sequence, reason, nats, console=console))


@log_app.command(name="accept-loss")
def accept_loss(
    stream: Annotated[str, typer.Argument(help="The stream that is not what it was.", autocompletion=streams)],
    witness: Annotated[Path, typer.Option(help="The folder of the head witness.")],
) -> None:
    """Accept that a stream has lost its tail: it is witnessed anew from its present end.

    Example: kuelog log accept-loss LOG_0 --witness .kuelog/up/witness
    """
    from ops.cli.log.care import run_accept_loss  # noqa: PLC0415

    raise typer.Exit(run_accept_loss(stream, witness, console=console))


@log_app.command()
def leases(
    nats: Annotated[str, typer.Option(help="The bus.")] = "nats://127.0.0.1:4222",
    output: Output = AnswerForm.TEXT,
) -> None:
    """Which replica holds which lease: it decides, writes or watches, and the others wait.

    Example: kuelog log leases -o json
    """
    from ops.cli.log.care import run_leases  # noqa: PLC0415

    raise typer.Exit(run_leases(nats, output, console=console))


@log_app.command()
def partition(
    partitions: Annotated[
        int | None,
        typer.Argument(
            min=1,
            help="How many partitions of trees the log is to have; the number only grows. Left out, as many as it has and --place names.",
            show_default=False,
        ),
    ] = None,
    data: Data = None,
    nats: Bus = "",
    archive: Archive = "",
    place: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TREE=PARTITION",
            help="Where a tree is to be decided, e.g. cohort/research=LOG_3; one that is in use moves to a partition that is new. Repeatable.",
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be.")] = False,
    output: Output = AnswerForm.TEXT,
) -> None:
    """Divide the log, so that several processes can decide about its trees. docs/scale.md says when that pays.

    Trees that may have been asked for something stay where they are, unless --place moves them with all that they have and while it
    runs; others are placed by their name when they are first asked.

    Example: kuelog log partition 4 --nats nats://127.0.0.1:4222 --dry-run

    Example: kuelog log partition --place cohort/research=LOG_4 --nats nats://127.0.0.1:4222
    """
    from ops.cli.log.partition import run_partition  # noqa: PLC0415
    from ops.cli.log_options import LogSource  # noqa: PLC0415

    source = LogSource(data=data, nats=nats, archive=archive)
    raise typer.Exit(run_partition(partitions, source, place or [], dry_run=dry_run, output=output, console=console))
