"""`kuelog bench cluster` and `kuelog bench jobs`: loads on an API server, their figures as a table or as JSON."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol, TypeVar

import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ops.cli.failures import known_failures
from ops.production.kubernetes.client import KubeClient, connect
from ops.production.process.event_loop import run as run_loop
from ops.production.process.memory_tuning import tune_memory
from ops.sandbox.bench.cluster import ClusterFigures, ClusterRun
from ops.sandbox.bench.jobs import JobFigures, JobsRun
from ops.sandbox.bench.load import LoadUnreadable, divided, read_load
from ops.sandbox.bench.readiness import active
from ops.sandbox.bench.usage import Observed
from ops.sandbox.failures import SANDBOX_FAILURES
from ops.terminal.console import terminal
from ops.terminal.form import AnswerForm, print_answer
from ops.terminal.table import FittingTable, figures_table


class BenchCluster(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster, and whether kuelog runs on it already."""

    kubeconfig: str
    context: str = ""
    running: bool = False


class RunFigures(Protocol):
    """The figures that every kind of run reports."""

    cpu_s: float
    peak_memory_mib: float


_F_co = TypeVar("_F_co", bound=RunFigures, covariant=True)


class ClusterLoad(Protocol[_F_co]):
    """A load that can be played on a cluster."""

    @property
    def size(self) -> int:
        """How many workloads or jobs have to finish."""
        ...

    @property
    def queues(self) -> set[str]:
        """The cluster queues that have to be active before it begins."""
        ...

    async def prepare(self) -> None:
        """Create the queues."""
        ...

    async def run(self, on_progress: Callable[[int], None]) -> _F_co:
        """Play it to its end; `on_progress` gets the number of those that finished."""
        ...

    async def clear(self) -> None:
        """Delete what was created."""
        ...


def run_bench_cluster(
    path: Path, where: BenchCluster, *, divide: int, seed: int, at_once: bool, output: AnswerForm, console: Console
) -> int:
    """Play a load of Workload objects and print what was measured."""
    with known_failures(SANDBOX_FAILURES) as outcome:
        load = divided(read_load(path), divide)
        if load.topology is not None:
            raise LoadUnreadable(
                path, "it has a topology, whose nodes are not made up on a cluster: play it with kuelog bench scheduler"
            )
        figures = _measured(where, lambda client: ClusterRun(client, load, seed=seed, at_once=at_once))
        _print(figures, output, console, lambda: _cluster_table(path, figures))
        outcome.code = 0
    return outcome.code


def run_bench_jobs(where: BenchCluster, *, count: int, rate: float, output: AnswerForm, console: Console) -> int:
    """Create jobs and print how long it took until they could run."""
    with known_failures(SANDBOX_FAILURES) as outcome:
        figures = _measured(where, lambda client: JobsRun(client, count, rate=rate))
        _print(figures, output, console, lambda: _jobs_table(rate, figures))
        outcome.code = 0
    return outcome.code


def _measured(where: BenchCluster, make: Callable[[KubeClient], ClusterLoad[_F_co]]) -> _F_co:
    async def play() -> _F_co:
        client = await connect(where.kubeconfig, where.context)
        run = make(client)
        try:
            await run.prepare()
            try:
                return await _driven(run, client, where)
            finally:
                await run.clear()
        finally:
            await client.close()

    tune_memory()
    return run_loop(play())


async def _driven(run: ClusterLoad[_F_co], client: KubeClient, where: BenchCluster) -> _F_co:
    if where.running:
        await active(client, run.queues)
        return await _played(run)
    async with _services(where) as observed:
        await active(client, run.queues)
        figures = await _played(run)
        observed.look()
    figures.cpu_s, figures.peak_memory_mib = observed.usage.cpu_s, observed.usage.peak_mib
    return figures


async def _played(run: ClusterLoad[_F_co]) -> _F_co:
    console = terminal(stderr=True)
    columns = (TextColumn("done"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=run.size)
        return await run.run(lambda done: progress.update(task, completed=done))


@asynccontextmanager
async def _services(where: BenchCluster) -> AsyncGenerator[Observed, None]:
    """Everything of kuelog as `kuelog up` starts it, on an empty log."""
    with TemporaryDirectory(prefix="kuelog-bench-") as folder:
        given = ["--kubeconfig", where.kubeconfig, "--data", folder]
        context = ["--context", where.context] if where.context else []
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "ops.cli.main", "up", *given, *context, stdout=asyncio.subprocess.DEVNULL
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


def _print(figures: RunFigures, output: AnswerForm, console: Console, table: Callable[[], FittingTable]) -> None:
    if output is not AnswerForm.TEXT:
        print_answer(figures, output)
    else:
        console.print(table())


def _cluster_table(path: Path, figures: ClusterFigures) -> FittingTable:
    table = figures_table(f"kuelog bench cluster {path.name}")
    table.add("workloads finished", f"{figures.finished:,} of {figures.workloads:,}")
    table.add("wall time", f"{figures.wall_s:.1f} s ({figures.finished / figures.wall_s:,.0f} workloads/s)")
    for kind, waits in figures.time_to_admission.items():
        text = f"{waits.mean_s:.1f} s on average, p50 {waits.p50_s:.1f} s, p99 {waits.p99_s:.1f} s"
        table.add(f"time to admission, {kind}", text)
    table.add("admissions", f"{figures.admissions:,}")
    table.add("evictions", f"{figures.evictions:,}")
    table.add("average use of the queues", f"{figures.average_use:.1%}")
    table.add("this load generator", f"{figures.driver_cpu_s:.0f} CPU-s")
    _add_costs(table, figures, figures.load_before, figures.load_after)
    return table


def _jobs_table(rate: float, figures: JobFigures) -> FittingTable:
    table = figures_table(f"kuelog bench jobs: {f'{rate:g} per second' if rate else 'all at once'}")
    table.add("jobs", f"{figures.jobs:,} ({figures.per_s:.1f} /s)")
    text = f"p50 {figures.p50_s:.3f} s, p99 {figures.p99_s:.3f} s, at most {figures.longest_s:.3f} s"
    table.add("from creation to unsuspended", text)
    _add_costs(table, figures, figures.load_before, figures.load_after)
    return table


def _add_costs(table: FittingTable, figures: RunFigures, before: float, after: float) -> None:
    own = f"{figures.cpu_s:.0f} CPU-s, {figures.peak_memory_mib:.0f} MiB at most" if figures.cpu_s else "not measured"
    table.add("kuelog's processes, the bus among them", own)
    table.add("load of the machine before / after", f"{before:.2f} / {after:.2f}")
