"""`kuelog log …`: arguments and options."""

from pathlib import Path
from typing import Annotated

import typer

from ops.cli.log.life import roll
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
    sequence: Annotated[int, typer.Argument(help="The sequence of the message that can't be read.")],
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
