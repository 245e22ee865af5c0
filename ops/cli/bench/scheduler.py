"""`kuelog bench scheduler`: one load, its figures as a table or as JSON."""

from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ops.cli.failures import known_failures
from ops.sandbox.bench.load import read_load
from ops.sandbox.bench.scheduler import SchedulerFigures, SchedulerRun
from ops.sandbox.failures import SANDBOX_FAILURES
from ops.terminal.console import terminal
from ops.terminal.form import AnswerForm, print_answer
from ops.terminal.table import figures_table


def run_bench_scheduler(
    path: Path, *, seed: int, at_once: bool, until: float, output: AnswerForm, console: Console
) -> int:
    """Play the load and print what was measured; 1 when workloads are left that never ran."""
    with known_failures(SANDBOX_FAILURES) as outcome:
        run = SchedulerRun(read_load(path), seed=seed, at_once=at_once)
        figures = _played(run, until, terminal(stderr=True))
        if output is not AnswerForm.TEXT:
            print_answer(figures, output)
        else:
            _show(path, figures, console)
        outcome.code = 0 if until or figures.finished == figures.workloads else 1
    return outcome.code


def _played(run: SchedulerRun, until: float, console: Console) -> SchedulerFigures:
    columns = (TextColumn("finished"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=run.size)
        return run.run(until, lambda finished: progress.update(task, completed=finished))


def _show(path: Path, figures: SchedulerFigures, console: Console) -> None:
    waits = ", ".join(f"{kind} {wait:.1f} s" for kind, wait in figures.time_to_admission_s.items())
    rows = (
        ("workloads finished", f"{figures.finished:,} of {figures.workloads:,}"),
        ("admissions", f"{figures.admissions:,}"),
        ("evictions", f"{figures.evictions:,} ({figures.evictions_per_finished:.3f} per finished workload)"),
        ("deciding and folding took", f"{figures.cpu_s:.2f} s of CPU for {figures.decisions:,} decisions"),
        ("admissions", f"{figures.admissions_per_s:,.0f} /s"),
        (
            "turn p50 / p99 / max",
            f"{figures.turn_p50_ms:.1f} / {figures.turn_p99_ms:.1f} / {figures.turn_max_ms:.1f} ms",
        ),
        ("average time to the first admission", waits),
        ("virtual time, and the least that the load allows", f"{figures.virtual_s:.1f} s, {figures.least_s:.1f} s"),
        ("average use of the queues", f"{figures.average_use:.1%}"),
        ("… by work that was not thrown away", f"{figures.useful_use:.1%} (at most {figures.most_use:.1%})"),
        ("peak memory", f"{figures.peak_memory_mib:.0f} MiB"),
        ("load of the machine before / after", f"{figures.load_before:.2f} / {figures.load_after:.2f}"),
    )
    console.print(figures_table(f"kuelog bench scheduler {path.name}", rows))
