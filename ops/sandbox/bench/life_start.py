"""A process that starts one replica on a log, says when it is ready and what it took, and ends."""

import asyncio
import sys
import time

import msgspec
import structlog

from events.settings import SettingsObserved
from events.subjects import FACTS
from ops.production.health import Health
from ops.production.kubernetes.absent import AbsentCluster
from ops.production.log.jetstream.bus import connect
from ops.production.process.clock import ScaledClock
from ops.production.process.event_loop import run
from ops.production.process.memory_tuning import tune_memory
from ops.production.wiring import Ports, Running
from ops.sandbox.bench.usage import own_peak_mib
from services.runtime.control_log import Control
from services.runtime.log_port import Stream
from services.runtime.own_task import stopped
from services.runtime.shelf_port import Shelf
from services.watcher.log_reading import ReportedByAll
from services.watcher.saved_view import ViewSaver
from services.watcher.seen_versions import SeenVersions
from services.watcher.view import View

WATCHER = "watcher"
_POLL_S = 0.02


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """What one start took, from the process's first line of Python on."""

    service: str
    ready_s: float
    peak_mib: float


def view_saver(facts: Stream, shelf: Shelf) -> ViewSaver:
    """What saves the watcher's view, and brings it back."""
    return ViewSaver(facts, shelf, SettingsObserved(), blank_view)


def blank_view() -> ReportedByAll:
    """What a watcher knows before it has read anything back."""
    return ReportedByAll(View(settings=SettingsObserved()), SeenVersions(), Control())


async def start(service: str, nats: str, began: float) -> Started:
    """Start a service as `kuelog run` does, until it would answer that it is ready; the watcher until it would ask the cluster."""
    bus = await connect(nats)
    try:
        if service == WATCHER:
            facts, view = await bus.stream(FACTS), blank_view()
            await view_saver(facts, bus.shelf).restore(view)
            await view.read_back(facts)
        else:
            nobody = AbsentCluster()
            ports = Ports(bus=bus, reader=nobody, writer=nobody, clock=ScaledClock(), shelf=bus.shelf)
            running = Running(ports, (service,), settings=SettingsObserved())
            task = asyncio.create_task(running.run())
            health = Health(running)
            while not task.done() and await health.why_not():  # noqa: ASYNC110 - as a probe does
                await asyncio.sleep(_POLL_S)
            ready = time.monotonic() - began
            await stopped(task)
            return Started(service=service, ready_s=ready, peak_mib=own_peak_mib())
        return Started(service=service, ready_s=time.monotonic() - began, peak_mib=own_peak_mib())
    finally:
        await bus.close()


def main() -> None:
    """`python -m ops.sandbox.bench.life_start SERVICE URL`."""
    began = time.monotonic()
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    tune_memory()
    print(msgspec.json.encode(run(start(sys.argv[1], sys.argv[2], began))).decode())  # noqa: T201 - for the parent


if __name__ == "__main__":
    main()
