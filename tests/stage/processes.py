"""Services as processes of their own, started in moments: each is forked from one process that has imported them already."""

import asyncio
import multiprocessing
import os
import signal
import socket
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import msgspec
from rich.console import Console

from ops.cli.serving.serve import run_service
from ops.production.process.telemetry import configure_logging

PATIENCE_S = 60.0
"""So long a process may take until it serves."""
_TOLD = 4000
_fork = multiprocessing.get_context("forkserver")
_fork.set_forkserver_preload([__name__, "ops.production.kubernetes.remote"])


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What a process is to serve, and with what."""

    service: str
    nats: str
    kubeconfig: str
    scale: float
    witness: str = ""
    crash: str = ""
    """The await point at which it kills itself, as `ops.production.process.crash_points` names it."""


def end_of(log: Path) -> str:
    """The last of what processes have logged to a file."""
    return log.read_text(errors="replace")[-_TOLD:] if log.exists() else ""


class ServiceProcess:
    """One process, from its start to its end."""

    def __init__(self, order: Order, log: Path) -> None:
        self.order, self._log, self._has_said = order, log, False
        log.parent.mkdir(parents=True, exist_ok=True)
        self._said, theirs = _fork.Pipe(duplex=False)
        self._process: ForkServerProcess = _fork.Process(target=_serve, args=(order, theirs, str(log)), daemon=True)
        self._process.start()
        theirs.close()

    @property
    def alive(self) -> bool:
        return self._process.is_alive()

    @property
    def serves(self) -> bool:
        """Whether it has said that it serves, and goes on."""
        self._has_said = self._has_said or self._said.poll()
        return self.alive and self._has_said

    @property
    def replica(self) -> str:
        """The name by which it signs and holds leases."""
        return f"{socket.gethostname()}-{self._process.pid}"

    @property
    def exit_code(self) -> int | None:
        """The negative number of the signal that has ended it."""
        return self._process.exitcode

    @property
    def told(self) -> str:
        """The end of what it has logged, and all others that log to the same file."""
        return end_of(self._log)

    async def serving(self) -> None:
        """Wait until it says that it serves."""
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.to_thread(self._heard)

    async def ended(self) -> int:
        """Wait for its end."""
        await asyncio.to_thread(self._process.join)
        return self._process.exitcode or 0

    async def kill(self) -> None:
        """SIGKILL, whatever it is doing."""
        self._process.kill()
        await self.ended()

    async def stop(self) -> int:
        """SIGTERM, as the kubelet ends a pod; its exit code."""
        self._process.terminate()
        return await self.ended()

    def pause(self) -> None:
        """SIGSTOP, as a long pause of the machine would."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Go on after `pause`."""
        self._signal(signal.SIGCONT)

    def _signal(self, which: signal.Signals) -> None:
        if self._process.pid is not None:
            os.kill(self._process.pid, which)

    def _heard(self) -> None:
        with suppress(EOFError):
            self._said.recv_bytes()
        self._has_said = True


def _serve(order: Order, said: Connection, log: str) -> None:
    """What `kuelog run` does."""
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(out, 1)
    os.dup2(out, 2)
    configure_logging("error")
    run_service(
        order.service,
        nats=order.nats,
        kubeconfig=order.kubeconfig,
        context="",
        witness=order.witness,
        scale=order.scale,
        crash=order.crash,
        console=_Telling(said),
    )


class _Telling(Console):
    """The first line that a service prints says that it serves."""

    def __init__(self, said: Connection) -> None:
        super().__init__()
        self._said = said

    def print(self, *objects: object, **more: object) -> None:
        with suppress(BrokenPipeError):
            self._said.send_bytes(" ".join(map(str, objects)).encode())
