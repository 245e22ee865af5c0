"""`kuelog bench day`: a simulated day written as a log, replayed, and forked with a change."""

import resource
import time

import msgspec
import psutil
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from events.codec import decode_commit
from events.subjects import FACTS
from ops.cli.failures import known_failures
from ops.production.log.streams import SOLE
from ops.queries.replay import fold_partition
from ops.queries.whatif.change import ForkChanges
from ops.queries.whatif.compare import AS_IT_WAS, CHANGED, compared
from ops.queries.whatif.fork import Fork
from ops.sandbox.bench.day import large_day, played
from ops.sandbox.failures import SANDBOX_FAILURES
from ops.terminal.console import terminal
from ops.terminal.form import AnswerForm, print_answer
from ops.terminal.table import figures_table

CHANGE = "clusterqueue/queue-0:spec.cohortName="
"""The change of the fork: a queue leaves its cohort, so that it neither borrows nor lends any more."""


class DayFigures(msgspec.Struct, kw_only=True):
    """What was measured. Times in seconds."""

    workloads: int
    facts: int = 0
    commits: int = 0
    events: int = 0
    replay_s: float = 0
    events_per_s: float = 0
    verify_s: float = 0
    verified: int = 0
    differences: int = 0
    whatif_s: float = 0
    moved: int = 0
    """How many workloads are admitted earlier or later because of the change."""
    peak_memory_mib: float = 0
    load_before: float = 0
    load_after: float = 0


def run_bench_day(
    workloads: int, *, seed: int, verify: bool, whatif: bool, output: AnswerForm, console: Console
) -> int:
    """Make the day, measure, print; 1 when the replay decides anything differently."""
    with known_failures(SANDBOX_FAILURES) as outcome:
        figures = DayFigures(workloads=workloads, load_before=psutil.getloadavg()[0])
        shown = terminal(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=shown, transient=True, disable=not shown.is_terminal) as progress:
            _measure(figures, seed, verify=verify, whatif=whatif, progress=progress)
        figures.peak_memory_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        figures.load_after = psutil.getloadavg()[0]
        if output is not AnswerForm.TEXT:
            print_answer(figures, output)
        else:
            _show(figures, console)
        outcome.code = 1 if figures.differences else 0
    return outcome.code


def _measure(figures: DayFigures, seed: int, *, verify: bool, whatif: bool, progress: Progress) -> None:
    task = progress.add_task("a day is written", total=None)
    entries, _ = played(
        large_day(figures.workloads, seed),
        cards=False,
        step=1000,
        on_progress=lambda done, total: progress.update(task, completed=done, total=total),
    )
    figures.facts, figures.commits = len(entries[FACTS]), len(entries[SOLE.sole])
    begun = time.perf_counter()
    fold_partition(SOLE.sole, entries)
    figures.replay_s = time.perf_counter() - begun
    decided = sum(len(decode_commit(entry.data).events) for entry in entries[SOLE.sole])
    figures.events = figures.facts + decided
    figures.events_per_s = figures.events / figures.replay_s
    if verify:
        begun = time.perf_counter()
        _, result = fold_partition(SOLE.sole, entries, verify=True)
        figures.verify_s = time.perf_counter() - begun
        figures.verified, figures.differences = result.verified, len(result.differences)
    if not whatif:
        return
    begun = time.perf_counter()
    fork = Fork(entries, "", ForkChanges([CHANGE]))
    tasks = {name: progress.add_task(name, total=None) for name in (AS_IT_WAS, CHANGED)}
    found = compared(fork, lambda name, done, total: progress.update(tasks[name], completed=done, total=total))
    figures.moved = found.gain + found.lose
    figures.whatif_s = time.perf_counter() - begun


def _show(figures: DayFigures, console: Console) -> None:
    rows = [
        ("workloads in 24 hours", f"{figures.workloads:,}"),
        ("facts, commits, events", f"{figures.facts:,}, {figures.commits:,}, {figures.events:,}"),
        ("replayed in", f"{figures.replay_s:.1f} s ({figures.events_per_s:,.0f} events/s)"),
    ]
    if figures.verified:
        text = f"{figures.verified:,} commits in {figures.verify_s:.1f} s, {figures.differences} come out otherwise"
        rows.append(("decided again", text))
    if figures.whatif_s:
        rows.append(("forked, and played with and without a change", f"{figures.whatif_s:.1f} s"))
        rows.append(("workloads that get in at another time", f"{figures.moved:,}"))
    rows.append(("peak memory", f"{figures.peak_memory_mib:.0f} MiB"))
    rows.append(("load of the machine before / after", f"{figures.load_before:.2f} / {figures.load_after:.2f}"))
    console.print(figures_table("kuelog bench day", rows))
