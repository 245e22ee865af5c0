"""`kuelog audit query`: SQL over a log or an archive."""

import msgspec
from rich.console import Console

from ops.cli.audit.auditing import AuditSource, found_of
from ops.cli.failures import known_failures
from ops.queries.audit.query import Rows, query_archive, query_log
from ops.terminal.console import terminal
from ops.terminal.form import AnswerForm, print_answer
from ops.terminal.table import FittingTable, TableColumn


def run_query(source: AuditSource, sql: str, *, unchecked: bool, output: AnswerForm, console: Console) -> int:
    """Print the answer to a query, and on standard error what was not checked."""
    with known_failures() as outcome:
        if source.archive_alone:
            answer = query_archive(source.archive, sql, unchecked=unchecked)
        else:
            with found_of(source) as found:
                answer = query_log(found.entries, sql)
        if output is not AnswerForm.TEXT:
            plain = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
            print_answer(msgspec.to_builtins(plain, enc_hook=str), output)
        else:
            _show_rows(answer, console)
        if unchecked:
            warning = f"not checked: whether the files of {source.archive} are those that were archived"
            terminal(stderr=True).print(warning, style="yellow", highlight=False)
        outcome.code = 0
    return outcome.code


def _show_rows(answer: Rows, console: Console) -> None:
    table = FittingTable([TableColumn(name) for name in answer.columns])
    for row in answer.rows:
        table.add(*("" if value is None else str(value) for value in row))
    console.print(table)
