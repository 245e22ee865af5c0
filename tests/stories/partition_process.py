"""A process that decides some partitions of a log, and nothing else."""

import asyncio
import multiprocessing
from collections.abc import Sequence
from multiprocessing.context import ForkServerProcess

from ops.production.kubernetes.absent import AbsentCluster
from ops.production.log.jetstream.bus import connect
from ops.production.process.clock import ScaledClock
from ops.production.process.telemetry import configure_logging
from ops.production.wiring import Ports, Running

DECIDERS = ("queue-manager", "admitter", "preemptor")
_fork = multiprocessing.get_context("forkserver")
_fork.set_forkserver_preload([__name__])


def begin(nats: str, partitions: Sequence[str], scale: float) -> ForkServerProcess:
    """Start a process in which the queues of these partitions are decided."""
    process = _fork.Process(target=_decide, args=(nats, tuple(partitions), scale), daemon=True)
    process.start()
    return process


def _decide(nats: str, partitions: tuple[str, ...], scale: float) -> None:
    configure_logging("critical")
    asyncio.run(_serve(nats, partitions, scale))


async def _serve(nats: str, partitions: tuple[str, ...], scale: float) -> None:
    bus = await connect(nats)
    ports = Ports(bus=bus, reader=AbsentCluster(), writer=AbsentCluster(), clock=ScaledClock(scale))
    await Running(ports, DECIDERS, replica=partitions[0], partitions=partitions).run()
