"""`kuelog audit query`: SQL over a log or an archive."""

import msgspec
from rich.console import Console
from rich.table import Table

from ops.cli.audit import Source, found_of
from ops.cli.failures import known_failures
from ops.cli.terminal import terminal
from ops.queries.audit.query import Rows, query_archive, query_log


def run_query(source: Source, sql: str, *, unchecked: bool, output: str, console: Console) -> int:
    """Print the answer to a query, and on standard error what was not checked."""
    with known_failures(console) as outcome:
        if source.archive_alone:
            answer = query_archive(source.archive, sql, unchecked=unchecked)
        else:
            with found_of(source) as found:
                answer = query_log(found.entries, sql)
        if output == "json":
            plain = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
            print(msgspec.json.encode(plain, enc_hook=str).decode())  # noqa: T201 - bytes for programs
        else:
            _show_rows(answer, console)
        if unchecked:
            warning = f"not checked: whether the files of {source.archive} are those that were archived"
            terminal(stderr=True).print(warning, style="yellow", highlight=False)
        outcome.code = 0
    return outcome.code


def _show_rows(answer: Rows, console: Console) -> None:
    table = Table()
    for name in answer.columns:
        table.add_column(name, overflow="fold")
    for row in answer.rows:
        table.add_row(*("" if value is None else str(value) for value in row))
    console.print(table)
