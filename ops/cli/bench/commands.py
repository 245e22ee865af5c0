"""`kuelog bench` and `kuelog bench scheduler`: arguments and options."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ops.terminal.console import terminal
from ops.terminal.form import AnswerForm, Output

bench_app = typer.Typer(
    name="bench",
    help="Measure the log, the replay, the decisions and the whole way of a job, in one run.\n\n"
    "Example: kuelog bench --jobs 500 -o json",
    invoke_without_command=True,
)


@bench_app.callback()
def bench(
    context: typer.Context,
    jobs: Annotated[int, typer.Option(min=2, help="How many jobs are submitted.")] = 200,
    output: Output = AnswerForm.TEXT,
) -> None:
    """Measure everything, unless a part of it is named."""
    if context.invoked_subcommand is not None:
        return
    from ops.cli.bench.this_machine import run_bench  # noqa: PLC0415 - a command loads what it needs

    raise typer.Exit(run_bench(jobs, output=output, console=terminal()))


@bench_app.command()
def scheduler(
    load: Annotated[Path, typer.Argument(help="A generator file of Kueue's scheduler benchmark.")],
    seed: Annotated[int, typer.Option(help="Decides the order of workloads that arrive in the same moment.")] = 0,
    at_once: Annotated[bool, typer.Option("--at-once", help="All workloads are there from the beginning.")] = False,
    until: Annotated[float, typer.Option(min=0, help="Stop after so many seconds of virtual time; 0: at the end.")] = 0,
    output: Output = AnswerForm.TEXT,
) -> None:
    """Run the decision core in virtual time: arrivals and run times as the file says, a decision costs its real time.

    Example: kuelog bench scheduler baseline.yaml --seed 7 -o json
    """
    from ops.cli.bench.scheduler import run_bench_scheduler  # noqa: PLC0415 - a command loads what it needs

    raise typer.Exit(
        run_bench_scheduler(load, seed=seed, at_once=at_once, until=until, output=output, console=terminal())
    )


@bench_app.command()
def waiting(
    workloads: Annotated[int, typer.Option(min=1, help="How many wait.")] = 100_000,
    queues: Annotated[int, typer.Option(min=1, help="In how many queues.")] = 1_000,
    more: Annotated[int, typer.Option(min=1, help="How many more jobs come then, one at a time.")] = 200,
    alone: Annotated[
        bool, typer.Option("--alone", help="Hold the partition of admission alone, as a replica of the admitter does.")
    ] = False,
    output: Output = AnswerForm.TEXT,
) -> None:
    """Have very many workloads wait, and measure what is held of each and how long a decision on one more job takes.

    Example: kuelog bench waiting --workloads 1000000 --queues 10000 --alone -o json
    """
    from ops.cli.bench.waiting import run_bench_waiting  # noqa: PLC0415 - a command loads what it needs
    from ops.sandbox.bench.waiting import WaitingLoad  # noqa: PLC0415 - a command loads what it needs

    load = WaitingLoad(workloads=workloads, queues=queues, more=more, alone=alone)
    raise typer.Exit(run_bench_waiting(load, output=output, console=terminal()))


@bench_app.command()
def day(
    workloads: Annotated[int, typer.Option(min=10, help="How many arrive in 24 hours.")] = 100_000,
    seed: Annotated[int, typer.Option(help="Decides who arrives when and how long each runs.")] = 0,
    verify: Annotated[bool, typer.Option("--verify", help="Also decide every decision again.")] = False,
    whatif: Annotated[bool, typer.Option(help="Also fork the day with a change.")] = True,
    output: Output = AnswerForm.TEXT,
) -> None:
    """Write a simulated day as a log, replay it, and fork it with a change.

    Example: kuelog bench day --workloads 100000
    """
    from ops.cli.bench.day import run_bench_day  # noqa: PLC0415 - a command loads what it needs

    shown = terminal()
    raise typer.Exit(run_bench_day(workloads, seed=seed, verify=verify, whatif=whatif, output=output, console=shown))


Kubeconfig = Annotated[str, typer.Option(help="The cluster: one for tests, with Kueue's kinds installed.")]
Context = Annotated[str, typer.Option(help="The context of that kubeconfig.")]
Runs = Annotated[bool, typer.Option("--running", help="kuelog runs already: start none, measure none.")]


@bench_app.command()
def cluster(
    load: Annotated[Path, typer.Argument(help="A generator file of Kueue's scheduler benchmark.")],
    kubeconfig: Kubeconfig,
    context: Context = "",
    divide: Annotated[int, typer.Option(min=1, help="So many times fewer workloads of each class.")] = 1,
    seed: Annotated[int, typer.Option(help="Decides the order of workloads that arrive in the same moment.")] = 0,
    at_once: Annotated[bool, typer.Option("--at-once", help="All workloads are created at the beginning.")] = False,
    running: Runs = False,
    output: Output = AnswerForm.TEXT,
) -> None:
    """Drive a load on an API server: Workload objects are created as the file says and end their time after admission.

    Everything that was created is deleted at the end, but for the empty namespace.

    Example: kuelog bench cluster --kubeconfig kubeconfig baseline.yaml --divide 5 -o json
    """
    from ops.cli.bench.cluster import BenchCluster, run_bench_cluster  # noqa: PLC0415 - a command loads what it needs

    where = BenchCluster(kubeconfig=kubeconfig, context=context, running=running)
    shown = terminal()
    code = run_bench_cluster(load, where, divide=divide, seed=seed, at_once=at_once, output=output, console=shown)
    raise typer.Exit(code)


@bench_app.command()
def jobs(
    kubeconfig: Kubeconfig,
    context: Context = "",
    count: Annotated[int, typer.Option(min=1, help="How many jobs are created.")] = 500,
    rate: Annotated[float, typer.Option(min=0, help="So many in a second; 0: all at once.")] = 0,
    running: Runs = False,
    output: Output = AnswerForm.TEXT,
) -> None:
    """Create jobs that all have room, and measure how long each waits until it may run.

    Example: kuelog bench jobs --kubeconfig kubeconfig --count 300 --rate 5
    """
    from ops.cli.bench.cluster import BenchCluster, run_bench_jobs  # noqa: PLC0415 - a command loads what it needs

    where = BenchCluster(kubeconfig=kubeconfig, context=context, running=running)
    shown = terminal()
    raise typer.Exit(run_bench_jobs(where, count=count, rate=rate, output=output, console=shown))


@bench_app.command()
def life(
    workloads: Annotated[int, typer.Option(min=10, help="How many live on the log.")] = 100_000,
    roll_size: Annotated[int, typer.Option(min=1, help="Streams that hold so many bytes are rolled.")] = 64 << 20,
    seed: Annotated[int, typer.Option(help="Decides who arrives when and how long each runs.")] = 0,
    data: Annotated[
        Path | None, typer.Option(help="Keep the log in this folder; a log that is there already is only measured.")
    ] = None,
    output: Output = AnswerForm.TEXT,
) -> None:
    """Write the log of a long life, roll it into archives several times, and measure starts and queries on it.

    Example: kuelog bench life --workloads 1000000 --roll-size 134217728 -o json
    """
    from ops.cli.bench.life import run_bench_life  # noqa: PLC0415 - a command loads what it needs

    shown = terminal()
    raise typer.Exit(run_bench_life(workloads, roll_size, seed=seed, data=data, output=output, console=shown))


@bench_app.command()
def scale(
    jobs: Annotated[int, typer.Option(min=10, help="How many are submitted in each run.")] = 4_000,
    trees: Annotated[int, typer.Option(min=1, help="How many trees of quota they ask for.")] = 64,
    partitions: Annotated[list[int] | None, typer.Option(min=1, max=256, help="Repeatable; 1 and 16.")] = None,
    processes: Annotated[list[int] | None, typer.Option(min=1, help="Repeatable; 1, 2 and 4.")] = None,
    rate: Annotated[int, typer.Option(min=0, help="So many come in a second; 0: all at once.")] = 0,
    servers: Annotated[
        list[int] | None, typer.Option(help="Servers of the bus, each with all of the log: 1 or 3. Repeatable; 1.")
    ] = None,
    output: Output = AnswerForm.TEXT,
) -> None:
    """Divide a log into partitions, have processes decide them, and measure decisions, conflicts, latency and memory.

    Example: kuelog bench scale --partitions 16 --processes 1 --processes 4
    """
    from ops.cli.bench.scale import run_bench_scale  # noqa: PLC0415 - a command loads what it needs
    from ops.sandbox.bench.scale import ScaleSetting  # noqa: PLC0415 - a command loads what it needs

    _check_servers(servers)
    settings = [
        ScaleSetting(partitions=one, processes=each, jobs=jobs, trees=trees, rate=rate, servers=count)
        for count in servers or (1,)
        for one in partitions or (1, 16)
        for each in processes or (1, 2, 4)
    ]
    raise typer.Exit(run_bench_scale(settings, output=output, console=terminal()))


@bench_app.command()
def bus(
    clusters: Annotated[int, typer.Option(min=1, max=1000, help="How many clusters have their log on it.")] = 100,
    rate: Annotated[
        list[float] | None,
        typer.Option(min=0.01, help="So many workloads a second, of all clusters together. Repeatable; 116 and 1160."),
    ] = None,
    seconds: Annotated[int, typer.Option(min=1, help="For so long.")] = 30,
    servers: Annotated[
        list[int] | None, typer.Option(help="Servers of the bus, each with all of the logs: 1 or 3. Repeatable; 1.")
    ] = None,
    output: Output = AnswerForm.TEXT,
) -> None:
    """Store the messages of many clusters on one bus at their pace, each in a log of its own, and measure latency, CPU and memory.

    116 workloads a second are 10 million a day.

    Example: kuelog bench bus --clusters 100 --rate 116 --rate 1160 --servers 1 --servers 3
    """
    from ops.cli.bench.bus import run_bench_bus  # noqa: PLC0415 - a command loads what it needs
    from ops.sandbox.bench.bus_load import BusLoad  # noqa: PLC0415 - a command loads what it needs

    _check_servers(servers)
    loads = [
        BusLoad(clusters=clusters, rate=one, seconds=seconds, servers=count)
        for count in servers or (1,)
        for one in rate or (116.0, 1160.0)
    ]
    raise typer.Exit(run_bench_bus(loads, output=output, console=terminal()))


def _check_servers(counts: Sequence[int] | None) -> None:
    for count in counts or ():
        if count not in (1, 3):
            raise typer.BadParameter(f"a bus has 1 or 3 servers, not {count}", param_hint="--servers")


@bench_app.command()
def console(
    workloads: Annotated[int, typer.Option(min=100, help="How many run and wait at once.")] = 50_000,
    nodes: Annotated[int, typer.Option(min=1, help="How many nodes there are, each with eight cards.")] = 1_000,
    consoles: Annotated[int, typer.Option(min=1, help="How many consoles are open.")] = 100,
    seconds: Annotated[float, typer.Option(min=1, help="For so long is measured while something happens.")] = 20,
    data: Annotated[
        Path | None, typer.Option(help="Keep the log in this folder; a log that is there already is only measured.")
    ] = None,
    output: Output = AnswerForm.TEXT,
) -> None:
    """Serve the console of a large log to many at once, and drive its list of workloads in chromium where that is installed.

    Example: kuelog bench console --workloads 50000 --consoles 100 -o json
    """
    from ops.cli.bench.console import run_bench_console  # noqa: PLC0415 - a command loads what it needs
    from ops.sandbox.bench.console_load import ConsoleLoad  # noqa: PLC0415 - a command loads what it needs

    load = ConsoleLoad(workloads=workloads, nodes=nodes)
    shown = terminal()
    raise typer.Exit(
        run_bench_console(load, consoles=consoles, seconds=seconds, data=data, output=output, console=shown)
    )
