"""`kuelog replay`: the log folded to any point, as state or as rows; with --verify decided again."""

from pathlib import Path

import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ops.cli.failures import known_failures
from ops.cli.log_options import LogSource
from ops.cli.log_reading import opened_log
from ops.cli.questions.replay_rows import (
    SHOWN,
    plain_differences,
    rows_of,
    show_amiss,
    show_differences,
    show_rows,
    show_states,
)
from ops.production.log.streams import streams_in
from ops.queries.point import NotOnTheLog, Point, point_at
from ops.queries.replay import Replayed, fold_partition
from ops.queries.start import begin
from ops.terminal.console import terminal
from ops.terminal.form import AnswerForm, print_answer
from projections.composed import composed
from projections.world import World


class ReplayOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of `kuelog replay`."""

    until: str = ""
    tree: str = ""
    show: str = ""
    verify: bool = False
    snapshot: Path | None = None
    """The snapshot to begin at, when one was asked for."""
    kept: Path | None = None
    """A folder in which a run may have left snapshots."""


def run_replay(source: LogSource, question: ReplayOptions, *, output: AnswerForm, console: Console) -> int:
    """Fold both partitions; 0 when nothing differs and nothing is amiss."""
    with known_failures() as outcome:
        if question.show and question.show not in SHOWN:
            raise NotOnTheLog(f"the log can't be shown as {question.show}: write one of {', '.join(SHOWN)}")
        with opened_log(source) as entries:
            point = point_at(entries, question.until)
            results, world = replayed(point, question, terminal(stderr=True))
            if output is not AnswerForm.TEXT:
                plain = [_plain(one) for one in results]
                shown = {"at": point.at, "sequences": point.upto, **rows_of(world, question.show, question.tree)}
                # Without anything to show the answer is the list of partitions alone, as scripts know it.
                print_answer({"partitions": plain, **shown} if question.show else plain, output)
            else:
                for one in results:
                    _show(one, console, verify=question.verify)
                if question.show:
                    show_rows(world, question.show, question.tree, console)
                    console.print(f"as of {point.describe()}", style="dim", highlight=False)
        outcome.code = 1 if question.verify and any(one.is_wrong for one in results) else 0
    return outcome.code


def replayed(point: Point, question: ReplayOptions, console: Console) -> tuple[list[Replayed], World]:
    """What a replay of both partitions up to a point finds, and, where it is to be shown, the world of the partitions of trees."""
    results: list[Replayed] = []
    streams = streams_in(point.entries)
    worlds: list[World] = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        for partition in streams.partitions:
            task = progress.add_task(partition, total=None)
            folder = question.snapshot or (None if question.verify else question.kept)
            start = begin(partition, point.entries, folder, asked=question.snapshot is not None)
            fold, result = fold_partition(
                partition,
                point.entries,
                verify=question.verify,
                start=start,
                on_progress=lambda done, total, task=task: progress.update(task, completed=done, total=total),
            )
            results.append(result)
            if question.show and partition in streams.trees:
                worlds.append(fold.world)
    world = composed(worlds) if worlds else World()
    world.advance(point.at)
    return results, world


def _plain(one: Replayed) -> dict[str, object]:
    return {
        "partition": one.partition,
        "commits": one.commits,
        "events": one.events,
        "facts": one.facts,
        "state_hash": one.state_hash,
        "began": one.began,
        "verified": one.verified,
        "rules": one.rules,
        "differences": plain_differences(one),
        "states": one.states,
        "other_states": msgspec.to_builtins(one.other_states),
        "amiss": msgspec.to_builtins(one.amiss),
    }


def _show(one: Replayed, console: Console, *, verify: bool) -> None:
    began = f" behind the snapshot at {one.began}" if one.began else ""
    console.print(
        f"{one.partition}: {one.commits} commits{began} with {one.events} decisions on {one.facts} facts; "
        f"state {one.state_hash}"
    )
    if not verify:
        return
    if not one.differences:
        console.print(f"  all {one.verified} commits of {one.partition} come out the same, byte for byte")
    else:
        count = len(one.differences)
        console.print(f"  [red]{count} of {one.verified} commits come out otherwise[/red]; the first:")
        show_differences(one.differences[:1], console)
    show_states(one, console)
    show_amiss(one.amiss, console)
