"""`kuelog whatif`: the log forked, changed and run on in virtual time; or when a job would run."""

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from events.event import Millis
from events.quantity import units_per_one
from events.timestamp import format_timestamp
from ops.cli.failures import known_failures
from ops.cli.log_options import LogSource
from ops.cli.log_reading import read_log
from ops.queries.settings_change import BadChange
from ops.queries.whatif.change import ForkChanges, submissions
from ops.queries.whatif.compare import AS_IT_WAS, CHANGED, Comparison, Estimate, Moved, compared, estimate
from ops.queries.whatif.fork import Fork, RunPlan, play_all
from ops.queries.whatif.outcome import Refusal
from ops.terminal.console import sayer, terminal
from ops.terminal.form import AnswerForm, print_answer
from ops.terminal.table import FittingTable, TableColumn, number


class WhatIfOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked: where to fork, what to change, which jobs to submit."""

    at: str = ""
    settings: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    removed: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    submit: bool = False
    hindsight: bool = False


def run_whatif(source: LogSource, asked: WhatIfOptions, *, output: AnswerForm, console: Console) -> int:
    """Play it and print the differences."""
    with known_failures() as outcome:
        if not (asked.settings or asked.files or asked.removed or asked.rules or asked.more):
            raise BadChange("nothing is changed: say --set, -f, --remove, --more or --rules, or --submit -f job.yaml")
        begun = time.monotonic()
        files = () if asked.submit else asked.files
        changes = ForkChanges(asked.settings, files, asked.removed, asked.rules, asked.more)
        fork = Fork(
            read_log(source), asked.at, changes, now=asked.submit, hindsight=asked.hindsight or not asked.submit
        )
        if asked.submit:
            plain = _submitted(fork, asked, console if output is AnswerForm.TEXT else None)
        else:
            plain = _compared(fork, console if output is AnswerForm.TEXT else None)
        if output is not AnswerForm.TEXT:
            print_answer(plain, output)
        else:
            console.print(f"played in {time.monotonic() - begun:.1f} s", style="dim", highlight=False)
        outcome.code = 0
    return outcome.code


def _compared(fork: Fork, console: Console | None) -> dict[str, Any]:
    with _shown((AS_IT_WAS, CHANGED)) as on_progress:
        found = compared(fork, on_progress)
    if console is not None:
        show_comparison(found, fork, console)
    return msgspec.to_builtins(found)


def _submitted(fork: Fork, asked: WhatIfOptions, console: Console | None) -> dict[str, Any]:
    jobs = submissions(asked.files, fork.world, fork.point.at)
    fork.submit(jobs)
    changed = bool(asked.settings or asked.removed or asked.rules or asked.more)
    plans = [
        RunPlan(name="early", changed=changed, quantile=25, recorded=False, submitted=True),
        RunPlan(name="likely", changed=changed, again=fork.alone, submitted=True),
        RunPlan(name="late", changed=changed, quantile=90, again=fork.alone, submitted=True),
        RunPlan(name="without", changed=changed, again=fork.alone),
    ]
    with _shown([plan.name for plan in plans]) as on_progress:
        results = play_all(fork, plans, on_progress)
    runs = {name: results[name] for name in ("early", "likely", "late")}
    found = [estimate(str(getattr(job, "workload", "")), runs, results["without"], results["likely"]) for job in jobs]
    if console is not None:
        for one in found:
            show_estimate(one, fork, console)
    return {"at": fork.point.at, "sequences": fork.point.upto, "estimates": msgspec.to_builtins(found)}


@contextmanager
def _shown(runs: Sequence[str]) -> Generator[Callable[[str, int, int], None]]:
    """How far each run has come, where somebody looks on."""
    shown = terminal(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=shown, transient=True, disable=not shown.is_terminal) as progress:
        tasks = {name: progress.add_task(name, total=None) for name in runs}
        yield lambda name, done, total: progress.update(tasks[name], completed=done, total=total)


def show_comparison(found: Comparison, fork: Fork, console: Console) -> None:
    """The differences as tables."""
    began = format_timestamp(found.began)
    console.print(
        f"forked at {began}: {found.workloads} workloads, {fork.arrivals} of them arrive later; "
        f"{found.gain} get in earlier, {found.lose} later" + (", to the second" if fork.step > 1 else ""),
        highlight=False,
    )
    table = FittingTable(_WAIT_COLUMNS, "From submission to the first admission, as it was → changed")
    for row in found.waits:
        recorded = "" if row.p50_recorded is None else span(row.p50_recorded)
        p50, p95 = _arrow(row.p50_before, row.p50_after), _arrow(row.p95_before, row.p95_after)
        table.add(row.queue, row.kind, str(row.workloads), p50, p95, recorded, str(row.gain), str(row.lose))
    console.print(table)
    use = FittingTable(_USE_COLUMNS, "Used on average")
    for row in found.use:
        use.add(
            row.queue,
            row.flavor,
            row.resource,
            used_on_average(row.resource, row.before),
            used_on_average(row.resource, row.after),
        )
    console.print(use)
    words = (
        f"preemptions {found.preemptions_before} → {found.preemptions_after}; never admitted "
        f"{found.waiting_before} → {found.waiting_after}; all over after {span(found.ended_before - found.began)} → "
        f"{span(found.ended_after - found.began)}"
    )
    console.print(words, highlight=False)
    for victim, preemptor, count in found.preempted_after:
        console.print(f"  {preemptor or 'somebody'} preempts {count} of {victim}", highlight=False)
    for title, rows in (("gain most", found.gainers), ("lose most", found.losers)):
        if rows:
            console.print(f"{title}:", style="bold")
        for one in rows:
            console.print(f"  {describe_move(one)}", highlight=False, soft_wrap=True)


def show_estimate(one: Estimate, fork: Fork, console: Console) -> None:
    """When a job would run."""
    say = sayer(console)
    say(
        f"{one.workload}, if it were submitted at {format_timestamp(fork.point.at)} to {one.queue or 'its queue'}",
        "bold",
    )
    if one.early is None:
        say("  would not get in within all that was played")
        _show_refusal(one.refusal, say)
        return
    likely = "not within what was played" if one.likely is None else f"about {span(one.likely)}"
    late = "perhaps much later" if one.late is None else span(one.late)
    if one.early == one.likely == one.late:
        say(f"  would be admitted after {likely}: a point, since run times make no difference; not a promise")
    else:
        say(f"  would be admitted after {likely}; between {span(one.early)} and {late}: a range, not a promise")
    say(
        f"  on {', '.join(one.flavors) or 'no flavor'}"
        + (f", preempted {one.preempted} times" if one.preempted else "")
    )
    say(f"  at the cost of: {', '.join(one.preempts)} preempted" if one.preempts else "  nobody is preempted for it")
    for cost in one.costs:
        say(f"    {describe_move(cost)}")
    say(
        f"  known: {len(fork.course.runs)} run times; where one is not known, those alike are taken (25, 50, 90 of 100)",
        "dim",
    )


def _show_refusal(found: Refusal | None, say: Callable[..., None]) -> None:
    if found is None:
        return
    say(f"  {found.reason}: {found.message}" if found.message else f"  {found.reason}", "yellow")
    for one in found.waits_for:
        say(f"    it waits for {one}")
    if found.fix:
        say(f"  what would let it in: {found.fix}", "green")


def describe_move(one: Moved) -> str:
    """In words, how much earlier or later a workload is admitted."""
    if one.after is None:
        return f"{one.workload} ({one.queue}) never gets in"
    if one.before is None:
        return f"{one.workload} ({one.queue}) gets in, which it never did"
    return f"{one.workload} ({one.queue}) {span(abs(one.by))} {'later' if one.by > 0 else 'earlier'}"


def span(millis: Millis) -> str:
    """A duration as people say it."""
    seconds, rest = divmod(millis, 1000)
    if seconds < _MINUTE:
        return f"{seconds}.{rest // 100} s"
    minutes, seconds = divmod(seconds, _MINUTE)
    hours, minutes = divmod(minutes, _MINUTE)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {seconds:02d} s"


_MINUTE = 60


def _arrow(before: Millis, after: Millis) -> str:
    return span(before) if before == after else f"{span(before)} → {span(after)}"


def used_on_average(resource: str, thousandths: int) -> str:
    """Thousandths of a resource's own units as people read them: cores, GiB, pieces."""
    if resource in _OF_BYTES:
        return f"{_thousandths(thousandths >> 30)} Gi"
    return _thousandths(thousandths // units_per_one(resource))


_OF_BYTES = frozenset({"memory", "ephemeral-storage"})


def _thousandths(amount: int) -> str:
    return f"{amount // 1000}.{amount % 1000:03d}"


_WAIT_COLUMNS = (
    TableColumn("queue"),
    TableColumn("class", 2),
    number("workloads", 4),
    TableColumn("p50", whole=True),
    TableColumn("p95", 1, whole=True),
    TableColumn("p50 recorded", 5, whole=True),
    number("earlier", 3),
    number("later", 3),
)
_USE_COLUMNS = (
    TableColumn("queue"),
    TableColumn("flavor"),
    TableColumn("resource", 1),
    number("as it was"),
    number("changed"),
)
