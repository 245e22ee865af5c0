"""`kuelog replay`: the log folded to any point, as state or as rows; with --verify decided again."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ops.asking.point import Point, point_at
from ops.asking.start import begin
from ops.cli.failures import known_failures
from ops.cli.replay_rows import SHOWN, rows_of, show_differences, show_rows, told_differences
from ops.log.jetstream import connect
from ops.log.server import NatsServer
from ops.replay import Replayed, fold_lane, read_all
from ops.scenario.script import ScenarioBroken
from ops.wiring import DEVICE_LANE, LANE
from projections.world import World
from services.log_port import Bus, Entry


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of a replay."""

    until: str = ""
    tree: str = ""
    show: str = ""
    verify: bool = False
    quick: bool = False
    snapshot: Path | None = None
    """A snapshot that was asked for."""
    kept: Path | None = None
    """Where a run may have left some."""


def run_replay(data: Path, nats: str, question: Question, *, output: str, console: Console) -> int:
    """Fold both lanes; 0 when nothing differs."""
    with known_failures(console) as outcome:
        if question.show and question.show not in SHOWN:
            raise ScenarioBroken(data, f"can't be shown as {question.show}: write one of {', '.join(SHOWN)}")
        point = point_at(read_log(data, nats), question.until)
        results, world = replayed(point, question, Console(stderr=True))
        if output == "json":
            plain = [_plain(one) for one in results]
            told = {"at": point.at, "sequences": point.upto, **rows_of(world, question.show, question.tree)}
            # Without anything to show the answer is the list of lanes alone, as scripts know it.
            print(msgspec.json.encode({"lanes": plain, **told} if question.show else plain).decode())  # noqa: T201
        else:
            for one in results:
                _show(one, console, verify=question.verify)
            if question.show:
                show_rows(world, question.show, question.tree, console)
                console.print(f"as of {point.told()}", style="dim", highlight=False)
        outcome.code = 1 if any(one.differences for one in results) else 0
    return outcome.code


def replayed(point: Point, question: Question, console: Console) -> tuple[list[Replayed], World]:
    """What a replay of both lanes up to a point finds, and the world of the lane of admission."""
    results: list[Replayed] = []
    world = World()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        for lane in (LANE, DEVICE_LANE):
            task = progress.add_task(lane, total=None)
            folder = question.snapshot or (None if question.verify else question.kept)
            start = begin(lane, point.entries, folder, asked=question.snapshot is not None)
            fold, result = fold_lane(
                lane,
                point.entries,
                verify=question.verify,
                quick=question.quick,
                start=start,
                told=lambda done, total, task=task: progress.update(task, completed=done, total=total),
            )
            results.append(result)
            if lane == LANE:
                world = fold.world
                world.advance(point.at)
    return results, world


@asynccontextmanager
async def bus_of(data: Path, nats: str) -> AsyncGenerator[Bus, None]:
    """A running bus, or the one that a folder holds, started for as long as it is read."""
    if nats:
        bus = await connect(nats)
        try:
            yield bus
        finally:
            await bus.close()
        return
    store = data.resolve() / "nats"
    if not store.is_dir():
        raise ScenarioBroken(data, "holds no log: run `kuelog demo` first, or name another folder with --data")
    server = NatsServer(store)
    await server.start()
    try:
        bus = await connect(server.url)
        try:
            yield bus
        finally:
            await bus.close()
    finally:
        await server.stop()


def read_log(data: Path, nats: str) -> dict[str, list[Entry]]:
    """Every stream of a folder's log, or of a running bus. Raises the known failures."""

    async def read() -> dict[str, list[Entry]]:
        async with bus_of(data, nats) as bus:
            return await read_all(bus)

    return asyncio.run(read())


def _plain(one: Replayed) -> dict[str, object]:
    return {
        "lane": one.lane,
        "commits": one.commits,
        "events": one.events,
        "facts": one.facts,
        "state_hash": one.state_hash,
        "began": one.began,
        "verified": one.verified,
        "rules": one.rules,
        "differences": told_differences(one),
    }


def _show(one: Replayed, console: Console, *, verify: bool) -> None:
    began = f" behind the snapshot at {one.began}" if one.began else ""
    console.print(
        f"{one.lane}: {one.commits} commits{began} with {one.events} decisions on {one.facts} facts; "
        f"state {one.state_hash[:16]}"
    )
    if not verify:
        return
    if not one.differences:
        console.print(f"  all {one.verified} commits of {one.lane} come out the same, byte for byte")
    else:
        count = len(one.differences)
        console.print(f"  [red]{count} of {one.verified} commits come out otherwise[/red]; the first:")
        show_differences(one.differences[:1], console)
