"""`kuelog bill --worker …`: one bill over the log of a manager and those of its worker clusters."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from ops.cli.billing.bill import BillOptions, check_form, warn
from ops.cli.billing.form import BillForm, printed
from ops.cli.failures import known_failures
from ops.cli.log_reading import opened_log, opened_workers
from ops.production.process.memory_tuning import tune_memory
from ops.queries.billing import flat, tables
from ops.queries.billing.answer import groups_of
from ops.queries.billing.closed_months import check_closed
from ops.queries.billing.problems import BillRefused, put
from ops.queries.billing.several_clusters import (
    MANAGER,
    ClusterBill,
    bills_of_clusters,
    clusters_answer,
    focus_of_clusters,
    in_one,
    period_of_all,
)
from ops.terminal.form import AnswerForm, form_of


def run_bill_of_clusters(
    asked: BillOptions,
    workers: Sequence[str],
    group_by: Sequence[str],
    *,
    output: BillForm,
    out: Path | None,
    console: Console,
) -> int:
    """Print or write it; 1 when something in it has no price, or the books of a cluster do not agree."""
    with known_failures() as outcome:
        groups = groups_of(group_by)
        check_form(output, out, grouped=bool(group_by))
        tune_memory()
        with opened_log(asked.source) as entries, opened_workers(workers) as elsewhere:
            if MANAGER in elsewhere:
                raise BillRefused(f"--worker {MANAGER}=… can't be told from the log that is asked: rename the cluster")
            logs = {MANAGER: entries, **elsewhere}
            window = period_of_all(logs, asked.since, asked.until)
            bills = bills_of_clusters(logs, window, groups, asked.billed_to)
        for one in bills:
            check_closed(one.ledger, window)
        _write(bills, output=output, out=out, console=console)
        wrong = sum(warn(one.ledger, one.bill, one.read, window, cluster=one.cluster) for one in bills)
        outcome.code = 1 if wrong else 0
    return outcome.code


def _write(bills: Sequence[ClusterBill], *, output: BillForm, out: Path | None, console: Console) -> None:
    whole = in_one(bills)
    match output:
        case BillForm.CSV:
            printed(flat.write_csv(out, flat.columns(whole), flat.lines(whole)))
        case BillForm.JSON | BillForm.YAML:
            text = form_of(clusters_answer(bills), AnswerForm(output))
            if out is None:
                printed(text)
            else:
                put(out, text.encode())
        case BillForm.PARQUET if out is not None:
            flat.write_flat_parquet(out, whole)
        case BillForm.FOCUS:
            names, rows = focus_of_clusters(bills)
            printed(flat.write_focus(out, names, rows))
        case _:
            tables.show_head(whole, console)
            tables.show_lines(whole, console)
            for one in bills:
                console.print(f"\n[bold]{one.cluster}[/bold]", highlight=False)
                tables.show_besides(one.ledger, console)
                ends = ", ".join(f"{name} {last}" for name, last in one.read.upto.items())
                console.print(f"as of {ends}", style="dim")
