"""`kuelog bench bus`: what servers of a bus take that carry the logs of many clusters, a row for each pace."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec
import psutil
from rich.console import Console

from ops.cli.failures import known_failures
from ops.production.process.event_loop import run
from ops.sandbox.bench.bus_load import BusFigures, BusLoad, measure_bus
from ops.sandbox.failures import SANDBOX_FAILURES
from ops.terminal.console import terminal
from ops.terminal.form import AnswerForm, print_answer
from ops.terminal.table import FittingTable, number


def run_bench_bus(loads: Sequence[BusLoad], *, output: AnswerForm, console: Console) -> int:
    """Measure one after the other, each on a bus of its own, and print."""
    with known_failures(SANDBOX_FAILURES) as outcome:
        before = psutil.getloadavg()[0]
        found: list[BusFigures] = []
        for one in loads:
            with tempfile.TemporaryDirectory() as folder, terminal(stderr=True).status("starting the bus") as status:
                found.append(run(measure_bus(one, Path(folder), status.update)))
        if output is not AnswerForm.TEXT:
            print_answer({"load_before": before, "rows": [msgspec.to_builtins(one) for one in found]}, output)
        else:
            _show(found, before, console)
        outcome.code = 0
    return outcome.code


def _show(found: Sequence[BusFigures], before: float, console: Console) -> None:
    first = found[0].load
    table = FittingTable(_COLUMNS, f"the logs of {first.clusters:,} clusters on one bus, for {first.seconds:,} s each")
    for one in found:
        table.add(
            str(one.load.servers),
            f"{one.load.rate:,.0f}",
            f"{one.messages / one.lasted_s:,.0f}",
            f"{one.sent_bytes / one.lasted_s / 1024:,.0f}",
            f"{one.latency_p50_ms:,.1f}",
            f"{one.latency_p99_ms:,.1f}",
            f"{one.servers_cpu:.2f}",
            f"{one.sender_cpu:.2f}",
            f"{one.servers_peak_mib:,.0f}",
        )
    console.print(table)
    console.print(
        f"load of the machine before: {before:.2f}; latency in ms, from when a message was due to its acknowledgement; "
        "CPU in cores: of the servers, and of this process, which sends for all clusters",
        style="dim",
    )


_COLUMNS = (
    number("servers"),
    number("workloads/s"),
    number("messages/s"),
    number("KiB/s"),
    number("p50"),
    number("p99"),
    number("CPU"),
    number("sender"),
    number("MiB"),
)
