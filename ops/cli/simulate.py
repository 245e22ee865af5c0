"""`kuelog simulate`: histories of whole platforms in virtual time, each decided by its seed, held against the laws."""

import os
import time
from collections.abc import Generator
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from events.control import MOST_PARTITIONS
from ops.production.process.telemetry import configure_logging
from ops.sandbox.simulate.batch import HistorySpec, Outcome, command, played
from ops.sandbox.simulate.fault_plan import ALL, FaultKind
from ops.sandbox.simulate.history import HistoryOutcome
from ops.terminal.console import terminal
from ops.terminal.form import AnswerForm, Output, print_answer

_HOUR = 3_600_000
_SHORTEST = 5_000
_NOTHING = "none"
_MOST_DIVIDED = MOST_PARTITIONS // 4
"""Trees that move need room for partitions of their own, and more would only have more to fold."""
_LINE_EVERY = 500
"""After so many histories a line says how far it is, where no bar can be drawn."""


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """A history that broke a law."""

    seed: int
    broken: tuple[str, ...]
    faults: tuple[str, ...]
    command: str


class SimulationReport(msgspec.Struct, frozen=True, kw_only=True):
    """What many histories have shown."""

    first: int
    last: int
    histories: int
    commits: int
    jobs: int
    moved: int
    """How many trees in use moved to another partition."""
    seconds: int
    interrupted: bool
    failures: tuple[Failure, ...]


def simulate(
    seeds: Annotated[str, typer.Option(help="The seeds, as A-B or as one number.")] = "1-100",
    hours: Annotated[float, typer.Option(min=0, help="How long users and faults are at work, in virtual time.")] = 0.05,
    faults: Annotated[str, typer.Option(help=f"The kinds of faults, or {_NOTHING}: {', '.join(ALL)}.")] = "",
    only_faults: Annotated[
        str, typer.Option(help=f"Let only these faults of a seed strike, by index, or {_NOTHING}.")
    ] = "",
    clusters: Annotated[
        bool,
        typer.Option(
            "--clusters",
            help="Histories of a manager and two workers instead, with a log each: lines are cut and services die.",
        ),
    ] = False,
    partitions: Annotated[
        int,
        typer.Option(
            min=0,
            help="Divide every log into so many partitions, of three clusters that of the manager, and move trees in use among faults; "
            "at 0 one of 17 seeds does, of three clusters one of 3, into 4 or 16.",
        ),
    ] = 0,
    jobs: Annotated[int, typer.Option(min=0, help="How many processes play; as many as there are cores when 0.")] = 0,
    output: Output = AnswerForm.TEXT,
) -> None:
    """Play whole platforms with every kind of fault, in virtual time, and hold them against the laws of admission.

    Two of every service, users and faults follow from the seed alone. 1 when a law was broken: the seed is printed with the
    fewest faults that do it and the command that plays it again.

    Example: kuelog simulate --seeds 1-1000

    Example: kuelog simulate --clusters --seeds 1-200

    Example: kuelog simulate --partitions 16 --seeds 1-200

    Example: kuelog simulate --clusters --partitions 16 --seeds 1-200
    """
    configure_logging("critical")
    specs = _specs(seeds, hours, faults, only_faults, partitions, clusters=clusters)
    console, began = terminal(stderr=True, soft_wrap=True), time.monotonic()
    found: list[Outcome] = []
    interrupted = False
    try:
        for outcome in _watched(specs, jobs or os.cpu_count() or 1, console):
            found.append(outcome)
            if outcome.broken:
                console.print(escape(_describe(outcome, specs[0])), highlight=False)
    except KeyboardInterrupt:
        interrupted = True
    failures = tuple(
        Failure(
            seed=one.seed,
            broken=one.broken,
            faults=tuple(str(fault) for fault in one.faults),
            command=command(one, specs[0].span, partitions),
        )
        for one in sorted(found, key=lambda one: one.seed)
        if one.broken
    )
    report = SimulationReport(
        first=specs[0].seed,
        last=specs[-1].seed,
        histories=len(found),
        commits=sum(one.commits for one in found),
        jobs=sum(one.jobs for one in found),
        moved=sum(one.moved if isinstance(one, HistoryOutcome) else one.trees_moved for one in found),
        seconds=round(time.monotonic() - began),
        interrupted=interrupted,
        failures=failures,
    )
    _show(report, output)
    raise typer.Exit(1 if failures else 130 if interrupted else 0)


def _watched(specs: list[HistorySpec], processes: int, console: Console) -> Generator[Outcome, None, None]:
    columns = (TextColumn("histories"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with (
        played(specs, processes) as outcomes,
        Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress,
    ):
        task = progress.add_task("histories", total=len(specs))
        for number, outcome in enumerate(outcomes, start=1):
            progress.advance(task)
            if not console.is_terminal and number % _LINE_EVERY == 0:
                console.print(f"{number} of {len(specs)} histories", highlight=False)
            yield outcome


def _specs(
    seeds: str, hours: float, faults: str, only_faults: str, partitions: int, *, clusters: bool
) -> list[HistorySpec]:
    first, last = _range(seeds)
    span = round(hours * _HOUR)
    if span < _SHORTEST:
        raise typer.BadParameter(f"a history lasts at least {_SHORTEST / _HOUR:.4f} hours, not {hours}")
    if clusters and (faults or only_faults):
        raise typer.BadParameter(
            "histories of three clusters have faults of their own: leave --faults and --only-faults away"
        )
    if not 0 <= partitions <= _MOST_DIVIDED:
        raise typer.BadParameter(f"a log is divided into 1 to {_MOST_DIVIDED} partitions here, not {partitions}")
    kinds, indexes = _kinds(faults), _indexes(only_faults)
    return [
        HistorySpec(seed=seed, span=span, kinds=kinds, only=indexes, clusters=clusters, partitions=partitions)
        for seed in range(first, last + 1)
    ]


def _range(text: str) -> tuple[int, int]:
    first, _, last = text.partition("-")
    if not first.isdigit() or not (last or first).isdigit() or int(last or first) < int(first):
        raise typer.BadParameter(f"seeds are named as A-B, such as 1-100, not {text!r}")
    return int(first), int(last or first)


def _kinds(text: str) -> tuple[FaultKind, ...]:
    if not text:
        return ALL
    names = [] if text == _NOTHING else text.split(",")
    unknown = sorted(set(names) - set(ALL))
    if unknown:
        raise typer.BadParameter(f"there is no fault {unknown[0]!r}; there are {', '.join(ALL)}")
    return tuple(FaultKind(name) for name in names)


def _indexes(text: str) -> tuple[int, ...] | None:
    if not text:
        return None
    parts = [] if text == _NOTHING else text.split(",")
    if not all(part.isdigit() for part in parts):
        raise typer.BadParameter(f"faults are named by their numbers, such as 3,17, not {text!r}")
    return tuple(int(part) for part in parts)


def _describe(outcome: Outcome, spec: HistorySpec) -> str:
    lines = [f"seed {outcome.seed} breaks a law under {len(outcome.faults)} fault(s)"]
    lines += [f"    {one}" for one in outcome.faults]
    lines += [f"  {one}" for one in outcome.broken]
    lines += [f"  again: {command(outcome, spec.span, spec.partitions)}"]
    return "\n".join(lines)


def _show(report: SimulationReport, output: AnswerForm) -> None:
    console = terminal(soft_wrap=True)
    if output is not AnswerForm.TEXT:
        print_answer(report, output)
        return
    of = report.last - report.first + 1
    stopped = f", stopped after {report.histories} of {of}" if report.interrupted else ""
    moved = f", {report.moved} trees moved" if report.moved else ""
    console.print(
        f"seeds {report.first}-{report.last}{stopped}: {report.histories} histories with {report.jobs} jobs and "
        f"{report.commits} commits in {report.seconds} s{moved}, {len(report.failures)} failures",
        highlight=False,
    )
    for one in report.failures:
        console.print(escape(f"  seed {one.seed}: {one.broken[0]}\n    {one.command}"), highlight=False)


__all__ = ["simulate"]
