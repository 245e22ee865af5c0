"""`kuelog history`: the life of one object, each moment with its place on the log, its cause and its trace."""

import msgspec
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from events.timestamp import format_timestamp
from ops.cli.failures import known_failures
from ops.cli.log_options import LogSource
from ops.cli.log_reading import opened_log
from ops.queries.answers import life_of
from ops.queries.point import point_at
from projections.explanation.about import canonical
from projections.explanation.life import LifeMoment


def run_history(name: str, source: LogSource, *, until: str, everything: bool, output: str, console: Console) -> int:
    """The timeline of one object; an object that the log does not know is a mistake."""
    with known_failures(console) as outcome:
        with opened_log(source) as entries:
            lines = life_of(canonical(name), point_at(entries, until), everything=everything)
        if output == "json":
            print(msgspec.json.encode(lines).decode())  # noqa: T201 - bytes for programs
        else:
            _show(lines, console)
        outcome.code = 0
    return outcome.code


def _show(lines: list[LifeMoment], console: Console) -> None:
    traced = any(line.trace for line in lines)
    table = Table(box=SIMPLE, padding=(0, 1, 0, 0))
    for name in ("at", "log", "what", "detail", "cause", *(("trace",) if traced else ())):
        table.add_column(name, overflow="fold", no_wrap=name in ("at", "log"))
    for line in lines:
        what = f"{line.what} {line.object.partition('/')[2]}".rstrip()
        row = (format_timestamp(line.at), f"{line.partition} {line.sequence}", what, line.detail, line.cause)
        table.add_row(*row, *((line.trace,) if traced else ()))
    console.print(table)
