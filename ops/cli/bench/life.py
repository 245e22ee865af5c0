"""`kuelog bench life`: a log of so many workloads, rolled several times, and what it costs to start on it and to ask it."""

import sys
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path

import msgspec
import psutil
import structlog
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ops.cli.failures import known_failures
from ops.production.archive.archivist import ARCHIVE
from ops.production.log.jetstream.bus import connect
from ops.production.log.server.server import NatsServer
from ops.production.process.clock import ScaledClock
from ops.production.process.event_loop import run
from ops.production.process.memory_tuning import tune_memory
from ops.sandbox.bench.life import LifeWriter, Written
from ops.sandbox.bench.life_measure import LifeCosts, measure
from ops.sandbox.failures import SANDBOX_FAILURES
from ops.terminal.console import terminal
from ops.terminal.form import AnswerForm, print_answer
from ops.terminal.table import figures_table

_MIB = 1 << 20


class LifeFigures(msgspec.Struct, kw_only=True):
    """What was measured."""

    written: Written | None = None
    """None where the log was there already."""
    on_disk: int = 0
    """Bytes that bus, archive and witness take."""
    costs: LifeCosts | None = None
    load_before: float = 0
    load_after: float = 0


def run_bench_life(
    workloads: int, roll_size: int, *, seed: int, data: Path | None, output: AnswerForm, console: Console
) -> int:
    """Write the log unless it is there, measure, print; 1 when something is wrong with it."""
    with known_failures(SANDBOX_FAILURES) as outcome:
        # What services say while they work is not what this prints.
        structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
        tune_memory()
        with tempfile.TemporaryDirectory() if data is None else nullcontext(str(data)) as folder:
            figures = run(_measured(Path(folder).resolve(), workloads, roll_size, seed))
        if output is not AnswerForm.TEXT:
            print_answer(figures, output)
        else:
            _show(figures, console)
        outcome.code = 1 if figures.costs and any(one.code for one in figures.costs.asked) else 0
    return outcome.code


async def _measured(folder: Path, workloads: int, roll_size: int, seed: int) -> LifeFigures:
    shown = terminal(stderr=True)
    figures = LifeFigures(load_before=psutil.getloadavg()[0])
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=shown, transient=True, disable=not shown.is_terminal) as progress:
        there = (folder / "nats").exists()
        async with _bus(folder) as server:
            if not there:
                task = progress.add_task("a life is written", total=workloads)
                bus = await connect(server.url)
                try:
                    figures.written = await LifeWriter(bus, folder, roll_size=roll_size).write(
                        workloads,
                        seed=seed,
                        now=ScaledClock().now(),
                        on_progress=lambda done, _: progress.update(task, completed=done),
                    )
                finally:
                    await bus.close()
            asked = progress.add_task("", total=None)
            figures.costs = await measure(folder, server.url, lambda what: progress.update(asked, description=what))
        places = ("nats", ARCHIVE, "witness")
        figures.on_disk = sum(
            one.stat().st_size for place in places for one in (folder / place).rglob("*") if one.is_file()
        )
    figures.load_after = psutil.getloadavg()[0]
    return figures


@asynccontextmanager
async def _bus(folder: Path) -> AsyncGenerator[NatsServer, None]:
    server = NatsServer(folder / "nats")
    try:
        await server.start()
        yield server
    finally:
        await server.stop()


def _show(figures: LifeFigures, console: Console) -> None:
    rows: list[tuple[str, str]] = []
    if (written := figures.written) is not None:
        total = sum(written.bytes.values())
        each = total // written.workloads
        rolls = ", ".join(f"{name} {count}" for name, count in sorted(written.rolls.items()))
        rows += [
            ("workloads, of which live at the end", f"{written.workloads:,}, {written.living:,}"),
            ("messages", ", ".join(f"{name} {count:,}" for name, count in sorted(written.messages.items()))),
            ("bytes of messages, a workload", f"{total:,}, {each:,}"),
            ("rolled", rolls or "never"),
            ("written in, of that for rolling and proving", f"{written.write_s:,.0f} s, {written.care_s:,.0f} s"),
            ("longest look at the log that rolled it", f"{written.longest_roll_s:.1f} s"),
        ]
    rows.append(("on disk", f"{figures.on_disk / _MIB:,.0f} MiB"))
    if figures.costs is not None:
        rows += [
            (f"a new {one.service} is ready", f"{one.ready_s:.1f} s, {one.peak_mib:,.0f} MiB")
            for one in figures.costs.starts
        ]
        rows += [
            (f"kuelog {one.what}", f"{one.took_s:.1f} s ({one.cpu_s:.1f} CPU-s), {one.peak_mib:,.0f} MiB")
            for one in figures.costs.asked
        ]
    rows.append(("load of the machine before / after", f"{figures.load_before:.2f} / {figures.load_after:.2f}"))
    console.print(figures_table("kuelog bench life", rows))
