"""`kuelog history`: the life of one object, each moment with its place on the log, its cause and its trace."""

import msgspec
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from events.timestamp import format_timestamp
from ops.cli.failures import known_failures
from ops.cli.log_options import LogSource
from ops.cli.log_reading import opened_log
from ops.queries.point import NotOnTheLog, point_at
from ops.queries.stored import in_order
from projections.explanation.about import canonical
from projections.explanation.life import Life, LifeMoment

_NAMED = 20


def run_history(name: str, source: LogSource, *, until: str, everything: bool, output: str, console: Console) -> int:
    """The timeline of one object; an object that the log does not know is a mistake."""
    with known_failures(console) as outcome:
        life = Life(canonical(name))
        with opened_log(source) as entries:
            for stored in in_order(point_at(entries, until).entries):
                life.fold(stored.event, stored.place, cause=stored.cause, trace=stored.entry.trace)
        if not life.lines:
            raise unknown(canonical(name), list(life.known))
        lines = life.lines if everything else [line for line in life.lines if not line.note]
        if output == "json":
            print(msgspec.json.encode(lines).decode())  # noqa: T201 - bytes for programs
        else:
            _show(lines, console)
        outcome.code = 0
    return outcome.code


def unknown(wanted: str, known: list[str]) -> NotOnTheLog:
    """The failure for an object that is not on the log; it names some of those that are."""
    kind, _, name = wanted.partition("/")
    names = sorted(one.partition("/")[2] for one in known if one.startswith(f"{kind}/"))
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return NotOnTheLog(f"the log knows no {kind} {name}; it knows {', '.join(names[:_NAMED]) or 'none'}{more}")


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
