"""Three real nats-servers as child processes, which hold each stream three times."""

import socket
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ops.production.log.server.server import NatsServer
from services.runtime.log_errors import LogUnavailable

_TRIES = 5


class NatsCluster:
    """Three servers on loopback, which hold each stream three times."""

    def __init__(self, store: Path, *, further: Mapping[str, Any] | None = None) -> None:
        """`further` stands in the configuration of each besides, such as accounts."""
        self.servers = [NatsServer(store / f"n{i}", name=f"n{i}", further=further) for i in range(3)]

    @property
    def url(self) -> str:
        """Where clients connect."""
        return ",".join(server.url for server in self.servers)

    async def start(self) -> None:
        """Start all three. Each has to know the others' cluster ports, so these are named: if one is taken, others are."""
        for left in reversed(range(_TRIES)):
            ports = _unused_ports(len(self.servers))
            for server, port in zip(self.servers, ports, strict=True):
                server.cluster_port, server.routes = port, ports
            try:
                for server in self.servers:
                    await server.start()
            except LogUnavailable:
                await self.stop()
                if not left:
                    raise
                continue
            if all(server.alive for server in self.servers):
                return
            await self.stop()
        raise LogUnavailable(stream=self.url, problem="its three servers do not start")

    async def stop(self) -> None:
        """Stop all three."""
        for server in self.servers:
            await server.stop()


def _unused_ports(count: int) -> tuple[int, ...]:
    with ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return tuple(int(probe.getsockname()[1]) for probe in probes)
