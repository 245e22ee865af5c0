"""`kuelog bench scale`: servers, partitions and processes of a real bus, a row for each combination."""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec
import psutil
import structlog
from rich.console import Console

from ops.cli.failures import known_failures
from ops.production.process.event_loop import run
from ops.sandbox.bench.scale import ScaleFigures, ScaleSetting, measure
from ops.sandbox.failures import SANDBOX_FAILURES
from ops.terminal.form import AnswerForm, print_answer
from ops.terminal.table import FittingTable, TableColumn, number


def run_bench_scale(settings: Sequence[ScaleSetting], *, output: AnswerForm, console: Console) -> int:
    """Measure one after the other, each on a bus of its own, and print."""
    with known_failures(SANDBOX_FAILURES) as outcome:
        structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
        load = psutil.getloadavg()[0]
        found: list[ScaleFigures] = []
        for one in settings:
            with tempfile.TemporaryDirectory() as folder:
                found.append(run(measure(one, Path(folder))))
        if output is not AnswerForm.TEXT:
            rows = [{**msgspec.to_builtins(one), "decisions_per_s": round(one.per_s, 1)} for one in found]
            print_answer({"load_before": load, "rows": rows}, output)
        else:
            _show(found, load, console)
        outcome.code = 0
    return outcome.code


def _show(found: Sequence[ScaleFigures], load: float, console: Console) -> None:
    first = found[0].setting
    pace = f"{first.rate} a second" if first.rate else "all at once"
    table = FittingTable(_COLUMNS, f"{first.jobs:,} jobs in {first.trees} trees, {pace}")
    for one in found:
        appends = sum(each.appends for each in one.processes)
        conflicts = sum(each.conflicts for each in one.processes)
        table.add(
            str(one.setting.servers),
            str(one.setting.partitions),
            str(one.setting.processes),
            f"{one.per_s:,.0f}",
            f"{one.per_s / found[0].per_s:.2f}",
            f"{sum(each.cpu_s for each in one.processes):.1f}",
            f"{one.busiest_s:.1f}",
            f"{one.latency_p50:,}",
            f"{one.latency_p99:,}",
            f"{conflicts:,} of {appends:,}",
            f"{max(each.peak_mib for each in one.processes):,.0f}",
            f"{one.bytes_of_a_job:,}",
        )
    console.print(table)
    console.print(
        f"load of the machine before: {load:.2f}; latency in ms, from a job's fact to its admission; busiest: CPU-s of one process",
        style="dim",
    )


_COLUMNS = (
    number("servers"),
    number("partitions"),
    number("processes"),
    number("decisions/s"),
    number("to the first"),
    number("CPU-s"),
    number("busiest"),
    number("p50"),
    number("p99"),
    TableColumn("conflicts"),
    number("MiB each"),
    number("bytes a job"),
)
