"""`kuelog bench console`: a large log, many open consoles, and the list of workloads in a real browser."""

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path

import msgspec
import psutil
from rich.console import Console

from ops.cli.failures import known_failures
from ops.production.log.jetstream.bus import connect
from ops.production.log.server.server import NatsServer
from ops.production.process.event_loop import run
from ops.sandbox.bench.console import ConsoleCosts, measure, store
from ops.sandbox.bench.console_load import ConsoleLoad, written
from ops.sandbox.failures import SANDBOX_FAILURES
from ops.terminal.form import AnswerForm, print_answer
from ops.terminal.table import figures_table
from services.runtime.log_port import Entry


class ConsoleFigures(msgspec.Struct, kw_only=True):
    """What was measured, on which load."""

    load: ConsoleLoad
    consoles: int
    messages: int = 0
    costs: ConsoleCosts | None = None
    load_before: float = 0
    load_after: float = 0


def run_bench_console(
    load: ConsoleLoad, *, consoles: int, seconds: float, data: Path | None, output: AnswerForm, console: Console
) -> int:
    """Write the log unless it is there, measure, print."""
    with known_failures(SANDBOX_FAILURES) as outcome:
        figures = ConsoleFigures(load=load, consoles=consoles)
        with tempfile.TemporaryDirectory() if data is None else nullcontext(str(data)) as folder:
            run(_measured(Path(folder).resolve(), figures, seconds, console))
        if output is not AnswerForm.TEXT:
            print_answer(figures, output)
        else:
            _show(figures, console)
        outcome.code = 0
    return outcome.code


async def _measured(folder: Path, figures: ConsoleFigures, seconds: float, console: Console) -> None:
    there = (folder / "nats").exists()
    log: Mapping[str, Sequence[Entry]] = {}
    if not there:
        console.print(f"{figures.load.workloads:,} workloads are written", style="dim")
        log = written(figures.load, lambda _done, _all: None)
    server = NatsServer(folder / "nats")
    await server.start()
    try:
        bus = await connect(server.url)
        await store(bus, log)
        figures.messages = sum(len(entries) for entries in log.values())
        del log
        console.print("the log is stored, now it is looked at", style="dim")
        figures.load_before = psutil.getloadavg()[0]
        figures.costs = await measure(
            bus, folder, workloads=figures.load.workloads, consoles=figures.consoles, seconds=seconds
        )
        figures.load_after = psutil.getloadavg()[0]
        await bus.close()
    finally:
        await server.stop()


def _show(figures: ConsoleFigures, console: Console) -> None:
    costs = figures.costs or ConsoleCosts()
    rows = [
        ("workloads, nodes with 8 cards each, open consoles", _counted(figures)),
        ("the console has folded the log in", f"{costs.ready_s:.1f} s"),
        ("lists answered while something happens", f"{costs.answers:,} ({costs.answers_per_s:.0f} /s)"),
        ("… p50 / p99", f"{costs.list_p50_ms:.0f} / {costs.list_p99_ms:.0f} ms"),
        ("a message is stored, nobody looks, p50 / p99", _pair(costs.append_alone_p50_ms, costs.append_alone_p99_ms)),
        ("… all consoles open, p50 / p99", _pair(costs.append_p50_ms, costs.append_p99_ms)),
        ("memory of the console", f"{costs.memory_mib:.0f} MiB"),
    ]
    if costs.browser is None:
        rows.append(("in a browser", "no chromium and chromedriver here"))
    else:
        seen = costs.browser
        rows += [
            ("first paint / rows in a browser", f"{seen.first_paint_ms:.0f} / {seen.rows_ms:.0f} ms"),
            ("sorted / filtered / scrolled", f"{seen.sort_ms:.0f} / {seen.filter_ms:.0f} / {seen.scroll_ms:.0f} ms"),
            ("memory of the page", f"{seen.memory_mib:.0f} MiB"),
        ]
    rows.append(("load of the machine before / after", f"{figures.load_before:.2f} / {figures.load_after:.2f}"))
    console.print(figures_table("kuelog bench console", rows))


def _counted(figures: ConsoleFigures) -> str:
    return f"{figures.load.workloads:,}, {figures.load.nodes:,}, {figures.consoles:,}"


def _pair(one: float, other: float) -> str:
    return f"{one:.2f} / {other:.2f} ms"
