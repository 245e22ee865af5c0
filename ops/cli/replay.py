"""`kuelog replay` and `kuelog history`: what the log says, folded from zero."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from events.timestamp import format_timestamp
from ops.cli.failures import known_failures
from ops.log.jetstream import connect
from ops.log.server import NatsServer
from ops.replay import Replayed, fold_lane, listen, read_all
from ops.scenario.script import ScenarioBroken
from ops.wiring import DEVICE_LANE, LANE
from projections.timeline import Timeline
from services.log_port import Bus, Entry


def run_replay(data: Path, nats: str, *, verify: bool, output: str, console: Console) -> int:
    """Fold both lanes; 0 when nothing differs."""
    with known_failures(console) as outcome:
        entries = asyncio.run(_read(data, nats))
        results = [fold_lane(lane, entries, verify=verify)[1] for lane in (LANE, DEVICE_LANE)]
        if output == "json":
            console.print_json(msgspec.json.encode([_plain(one) for one in results]).decode())
        else:
            for one in results:
                _show(one, console, verify=verify)
        outcome.code = 1 if any(one.differences for one in results) else 0
    return outcome.code


def run_history(job: str, data: Path, nats: str, *, output: str, console: Console) -> int:
    """The timeline of one job; 1 when the log knows no such job."""
    with known_failures(console) as outcome:
        timeline = Timeline()
        listen(asyncio.run(_read(data, nats)), timeline.fold)
        moments = timeline.of_job(job)
        if not moments:
            console.print(
                f"[red]error:[/red] the log knows no job {job}; it knows {', '.join(sorted(set(timeline.jobs.values()))) or 'none'}"
            )
            outcome.code = 1
        elif output == "json":
            plain = [
                {"at": m.at, "lane": m.lane, "sequence": m.sequence, "what": m.what, "detail": m.detail}
                for m in moments
            ]
            console.print_json(msgspec.json.encode(plain).decode())
            outcome.code = 0
        else:
            table = Table()
            for name in ("at", "log", "what", "detail"):
                table.add_column(name, overflow="fold")
            for m in moments:
                table.add_row(format_timestamp(m.at), f"{m.lane} {m.sequence}", m.what, m.detail)
            console.print(table)
            outcome.code = 0
    return outcome.code


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


async def _read(data: Path, nats: str) -> dict[str, list[Entry]]:
    async with bus_of(data, nats) as bus:
        return await read_all(bus)


def _plain(one: Replayed) -> dict[str, object]:
    return {
        "lane": one.lane,
        "commits": one.commits,
        "events": one.events,
        "facts": one.facts,
        "state_hash": one.state_hash,
        "differences": [
            {"sequence": d.sequence, "author": d.author, "recorded": d.recorded.decode(), "decided": d.decided.decode()}
            for d in one.differences
        ],
    }


def _show(one: Replayed, console: Console, *, verify: bool) -> None:
    console.print(
        f"{one.lane}: {one.commits} commits with {one.events} decisions on {one.facts} facts; state {one.state_hash[:16]}"
    )
    if not verify:
        return
    if not one.differences:
        console.print(f"  every decision of {one.lane} comes out the same, byte for byte")
    for d in one.differences[:1]:
        console.print(f"  [red]sequence {d.sequence} by {d.author} comes out otherwise[/red]")
        console.print(f"  recorded: {d.recorded.decode()}", markup=False)
        console.print(f"  decided:  {d.decided.decode()}", markup=False)
