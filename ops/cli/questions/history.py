"""`kuelog history`: the life of one object, each moment with its place on the log, its cause and its trace."""

from collections.abc import Sequence

from rich.console import Console

from events.timestamp import format_timestamp
from ops.cli.failures import known_failures
from ops.cli.log_options import LogSource
from ops.cli.log_reading import opened_log, opened_workers
from ops.queries.point import point_at
from ops.queries.worker_logs import life_across
from ops.terminal.form import AnswerForm, print_answer
from ops.terminal.table import FittingTable, TableColumn
from projections.explanation.about import canonical
from projections.explanation.life import LifeMoment


def run_history(
    name: str,
    source: LogSource,
    *,
    until: str,
    everything: bool,
    output: AnswerForm,
    console: Console,
    workers: Sequence[str] = (),
) -> int:
    """The timeline of one object; an object that the log does not know is a mistake."""
    with known_failures() as outcome:
        with opened_log(source) as entries, opened_workers(workers) as elsewhere:
            lines = life_across(canonical(name), point_at(entries, until), elsewhere, everything=everything)
        if output is not AnswerForm.TEXT:
            print_answer(lines, output)
        else:
            _show(lines, console)
        outcome.code = 0
    return outcome.code


def _show(lines: list[LifeMoment], console: Console) -> None:
    traced = any(line.trace for line in lines)
    table = FittingTable((*_COLUMNS, _TRACE) if traced else _COLUMNS)
    for line in lines:
        what = f"{line.what} {line.object.partition('/')[2]}".rstrip()
        row = (format_timestamp(line.at), f"{line.partition} {line.sequence}", what, line.detail, line.cause)
        table.add(*row, *((line.trace,) if traced else ()))
    console.print(table)


_COLUMNS = (
    TableColumn("at", whole=True),
    TableColumn("log", 1, whole=True),
    TableColumn("what"),
    TableColumn("detail"),
    TableColumn("cause", 2),
)
_TRACE = TableColumn("trace", 3, whole=True)
