"""`kuelog bench waiting`: what very many waiting workloads take, as a table or as JSON."""

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ops.sandbox.bench.waiting import WaitingFigures, WaitingLoad, WaitingRun
from ops.terminal.console import terminal
from ops.terminal.form import AnswerForm, print_answer
from ops.terminal.table import figures_table


def run_bench_waiting(load: WaitingLoad, *, output: AnswerForm, console: Console) -> int:
    """Let them wait and print what was measured."""
    figures = _played(load, terminal(stderr=True))
    if output is not AnswerForm.TEXT:
        print_answer(figures, output)
    else:
        _show(figures, console)
    return 0


def _played(load: WaitingLoad, console: Console) -> WaitingFigures:
    columns = (TextColumn("waiting"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=load.workloads)
        return WaitingRun(load).run(lambda came: progress.update(task, completed=came))


def _show(figures: WaitingFigures, console: Console) -> None:
    held = "the partition of admission" if figures.load.alone else "both partitions and the watcher's view"
    rows = (
        ("workloads that wait, queues", f"{figures.waiting:,}, {figures.load.queues:,}"),
        ("held in this process", held),
        ("CPU until all waited", f"{figures.laid_s:.1f} s for {figures.decisions:,} decisions"),
        ("memory without workloads / with them", f"{figures.empty_mib:,.0f} / {figures.held_mib:,.0f} MiB"),
        ("… of one workload", f"{figures.bytes_of_one:,} bytes"),
        ("peak memory", f"{figures.peak_mib:,.0f} MiB"),
        (
            "a new job decided on, CPU p50 / p99 / max",
            f"{figures.decision_p50_ms:.1f} / {figures.decision_p99_ms:.1f} / {figures.decision_max_ms:.1f} ms",
        ),
        ("load of the machine before / after", f"{figures.load_before:.2f} / {figures.load_after:.2f}"),
    )
    console.print(figures_table("kuelog bench waiting", rows))
