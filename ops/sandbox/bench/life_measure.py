"""What a long log costs whoever starts on it or asks it: each in a process of its own, its time and its memory."""

import asyncio
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import psutil

from ops.production.archive.archivist import ARCHIVE
from ops.sandbox.bench.life_start import WATCHER, Started
from ops.sandbox.bench.problems import NotMeasured
from ops.sandbox.bench.usage import peak_mib_of

STARTED = ("admitter", "accountant", WATCHER)
_POLL_S = 0.1
OnStep = Callable[[str], None]


class Cost(msgspec.Struct, kw_only=True):
    """What one process took."""

    what: str
    took_s: float
    cpu_s: float
    peak_mib: float
    code: int = 0
    """As it ended; 0 when it found nothing wrong."""


class LifeCosts(msgspec.Struct, kw_only=True):
    """All that was measured on a log."""

    starts: list[Started] = []
    asked: list[Cost] = []


async def measure(folder: Path, nats: str, on_step: OnStep) -> LifeCosts:
    """Start replicas on a log, then ask it everything that reads all of it. Raises `NotMeasured`."""
    costs = LifeCosts(starts=[], asked=[])
    for service in STARTED:
        on_step(f"a new {service} starts")
        out = await _run(
            service,
            [sys.executable, "-m", "ops.sandbox.bench.life_start", service, nats],
            Cost(what=service, took_s=0, cpu_s=0, peak_mib=0),
        )
        costs.starts.append(msgspec.json.decode(out, type=Started))
    where = ["--nats", nats, "--archive", str(folder / ARCHIVE)]
    for what, words in (
        ("replay", ["replay", *where]),
        ("replay --verify", ["replay", "--verify", *where]),
        ("bill", ["bill", *where]),
        ("history of a queue", ["history", "clusterqueue/queue-0", *where]),
        ("audit verify", ["audit", "verify", *where, "--witness", str(folder / "witness")]),
    ):
        on_step(f"kuelog {what}")
        cost = Cost(what=what, took_s=0, cpu_s=0, peak_mib=0)
        await _run(what, [sys.executable, "-m", "ops.cli.main", *words, "-o", "json"], cost)
        costs.asked.append(cost)
    return costs


async def _run(what: str, words: Sequence[str], cost: Cost) -> bytes:
    began = time.monotonic()
    process = await asyncio.create_subprocess_exec(
        *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    watching = asyncio.create_task(_watch(process.pid, cost))
    try:
        out, err = await process.communicate()
    finally:
        watching.cancel()
        if process.returncode is None:
            process.terminate()
            await process.wait()
    cost.took_s, cost.code = time.monotonic() - began, process.returncode or 0
    if cost.code not in (0, 1) or not out:
        raise NotMeasured(what, cost.code, err.decode())
    return out


async def _watch(pid: int, cost: Cost) -> None:
    """Note its memory and its time until it ends."""
    process = psutil.Process(pid)
    while True:
        try:
            times = process.cpu_times()
            cost.cpu_s, cost.peak_mib = times.user + times.system, max(cost.peak_mib, peak_mib_of(pid))
        except psutil.Error:
            return
        await asyncio.sleep(_POLL_S)
