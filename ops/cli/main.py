"""The `kuelog` command itself: what all commands have in common. The commands are named in lazy_commands.py."""

import os
import sys
from typing import Annotated

import typer

from ops.cli.lazy_commands import LazyGroup
from ops.files.whole_output import buffer_output, told_output

LEFT_OUT = {
    "ops.sandbox": "sandbox",
    "jsonschema_rs": "sandbox",
    "duckdb": "archive",
    "fpdf": "report",
    "jinja2": "report",
}
"""What the image and a plain installation leave out, and the extra that brings it."""

app = typer.Typer(
    name="kuelog",
    cls=LazyGroup,
    help="Job admission for Kubernetes whose only truth is an append-only log.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


_LEVELS = ("debug", "info", "warning", "error", "critical")


def _tell_version(asked: bool) -> None:  # noqa: FBT001 - as typer calls it
    if asked:
        from importlib.metadata import version  # noqa: PLC0415 - nothing else asks for it

        typer.echo(f"kuelog {version('kuelog')}")
        raise typer.Exit


@app.callback()
def begin(
    log_level: Annotated[str, typer.Option("--log", help="debug, info, warning or error; also KUELOG_LOG.")] = "",
    asked: Annotated[
        bool, typer.Option("--version", help="Say which version this is.", is_eager=True, callback=_tell_version)
    ] = False,
) -> None:
    """Set up logging for every command."""
    del asked
    named = log_level or os.environ.get("KUELOG_LOG", "warning")
    if named.lower() not in _LEVELS:
        where = "--log" if log_level else "KUELOG_LOG"
        raise typer.BadParameter(f"{where} {named}: write one of {', '.join(_LEVELS)}")
    from ops.production.process.telemetry import configure_logging  # noqa: PLC0415 - help and completion need none

    configure_logging(log_level)


def main() -> None:
    """Run the command line."""
    buffer_output()
    try:
        with told_output():
            app()
    except ModuleNotFoundError as missing:
        wanted = LEFT_OUT.get(".".join((missing.name or "").split(".")[:2]))
        if wanted is None:
            raise
        from ops.terminal.endings import complain  # noqa: PLC0415

        sys.exit(complain(f"this installation is for services: this command needs kuelog[{wanted}]"))


if __name__ == "__main__":
    main()
