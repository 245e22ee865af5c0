"""`kuelog bench cluster`: a load on an API server, its figures as a table or as JSON."""

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from ops.bench.cluster import ClusterFigures, ClusterRun
from ops.bench.load import divided, read_load
from ops.bench.usage import Observed
from ops.cli.failures import known_failures
from ops.event_loop import run as run_loop
from ops.kube.client import connect
from ops.quiet_garbage import collect_seldom


def run_bench_cluster(
    path: Path,
    *,
    kubeconfig: str,
    context: str,
    divide: int,
    seed: int,
    at_once: bool,
    running: bool,
    output: str,
    console: Console,
) -> int:
    """Play the load and print what was measured."""
    with known_failures(console) as outcome:
        load = divided(read_load(path), divide)
        collect_seldom()

        async def play() -> ClusterFigures:
            client = await connect(kubeconfig, context)
            run = ClusterRun(client, load, seed=seed, at_once=at_once)
            try:
                await run.prepare()
                try:
                    return await _measured(run, kubeconfig, context, running=running)
                finally:
                    await run.clear()
            finally:
                await client.close()

        figures = run_loop(play())
        if output == "json":
            print(msgspec.json.encode(figures).decode())  # noqa: T201 - bytes for programs
        else:
            _show(path, figures, console)
        outcome.code = 0
    return outcome.code


async def _measured(run: ClusterRun, kubeconfig: str, context: str, *, running: bool) -> ClusterFigures:
    if running:
        await run.active()
        return await _played(run)
    async with _services(kubeconfig, context) as observed:
        await run.active()
        figures = await _played(run)
        observed.look()
    figures.cpu_s, figures.peak_memory_mib = observed.usage.cpu_s, observed.usage.peak_mib
    return figures


async def _played(run: ClusterRun) -> ClusterFigures:
    console = Console(stderr=True)
    columns = (TextColumn("finished"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=run.size)
        return await run.run(lambda finished: progress.update(task, completed=finished))


@asynccontextmanager
async def _services(kubeconfig: str, context: str) -> AsyncGenerator[Observed, None]:
    """Everything of kuelog as `kuelog up` starts it, on an empty log."""
    with TemporaryDirectory(prefix="kuelog-bench-") as folder:
        given = ["--kubeconfig", kubeconfig, "--data", folder, *(["--context", context] if context else [])]
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "ops.cli.main", "up", *given, stdout=asyncio.subprocess.DEVNULL
        )
        observed = Observed(process.pid)
        looking = asyncio.create_task(observed.run())
        try:
            yield observed
        finally:
            looking.cancel()
            with suppress(ProcessLookupError):
                process.terminate()
            await process.wait()


def _show(path: Path, figures: ClusterFigures, console: Console) -> None:
    table = Table(title=f"kuelog bench cluster {path.name}")
    table.add_column("measured")
    table.add_column("figure", justify="right")
    table.add_row("workloads finished", f"{figures.finished:,} of {figures.workloads:,}")
    table.add_row("wall time", f"{figures.wall_s:.1f} s ({figures.finished / figures.wall_s:,.0f} workloads/s)")
    for kind, waits in figures.time_to_admission.items():
        text = f"{waits.mean_s:.1f} s on average, p50 {waits.p50_s:.1f} s, p99 {waits.p99_s:.1f} s"
        table.add_row(f"time to admission, {kind}", text)
    table.add_row("admissions", f"{figures.admissions:,}")
    table.add_row("evictions", f"{figures.evictions:,}")
    table.add_row("average use of the queues", f"{figures.average_use:.1%}")
    own = f"{figures.cpu_s:.0f} CPU-s, {figures.peak_memory_mib:.0f} MiB at most" if figures.cpu_s else "not measured"
    table.add_row("kuelog's processes, the bus among them", own)
    table.add_row("this load generator", f"{figures.driver_cpu_s:.0f} CPU-s")
    table.add_row("load of the machine before / after", f"{figures.load_before:.2f} / {figures.load_after:.2f}")
    console.print(table)
