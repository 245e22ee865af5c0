"""One nats-server on a store at a time, on a port that it has chosen, and never longer than the process that started it."""

import asyncio
import os
import signal
import socket
import sys
from pathlib import Path

import psutil
import pytest

from ops.production.log.jetstream.bus import connect
from ops.production.log.server.cluster import NatsCluster
from ops.production.log.server.server import NatsServer, StoreInUse, running_server
from services.runtime.log_errors import LogUnavailable
from tests.places import ROOT

STARTS_ONE = """
import asyncio, sys
from pathlib import Path
from ops.production.log.server.server import NatsServer

async def main():
    server = NatsServer(Path(sys.argv[1]))
    await server.start()
    print(server.pid, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


async def started_by_another(store: Path) -> tuple[asyncio.subprocess.Process, psutil.Process]:
    """A process that has started a server on a store, and that server."""
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", STARTS_ONE, str(store), cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    assert parent.stdout is not None
    return parent, psutil.Process(int(await parent.stdout.readline()))


async def killed(process: asyncio.subprocess.Process) -> None:
    process.kill()
    await process.wait()


async def test_a_server_chooses_its_port_and_keeps_it_over_a_restart(tmp_path: Path) -> None:
    server = NatsServer(tmp_path)
    await server.start()
    try:
        chosen = server.url
        assert running_server(tmp_path) == chosen
        await server.kill()
        assert not running_server(tmp_path)
        await server.start()
        assert server.url == chosen
    finally:
        await server.stop()
    assert not running_server(tmp_path)


async def test_a_start_waits_until_its_port_is_free_again(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        server = NatsServer(tmp_path, port=other.getsockname()[1])
        starting = asyncio.create_task(server.start())
        while b"address already in use" not in await asyncio.to_thread(log_of, tmp_path):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    await starting
    assert server.alive
    await server.stop()


def log_of(store: Path) -> bytes:
    return (store / "nats.log").read_bytes() if (store / "nats.log").exists() else b""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the next start ends it")
async def test_a_server_ends_with_the_process_that_started_it_however_that_ends(tmp_path: Path) -> None:
    parent, server = await started_by_another(tmp_path)
    await killed(parent)
    await asyncio.to_thread(server.wait, 30)


async def test_a_second_server_on_the_same_files_does_not_start(tmp_path: Path) -> None:
    parent, server = await started_by_another(tmp_path)
    try:
        with pytest.raises(StoreInUse, match=f"in use by nats-server {server.pid}, which process {parent.pid} has"):
            await NatsServer(tmp_path).start()
        assert server.is_running()
    finally:
        await killed(parent)


async def test_a_server_that_was_left_on_the_files_is_ended_and_not_doubled(tmp_path: Path) -> None:
    parent, stray = await started_by_another(tmp_path)
    stray.suspend()
    # A server that is stopped does not hear that its parent is gone.
    while stray.status() != psutil.STATUS_STOPPED:  # noqa: ASYNC110 - it is no child of this process, which nobody tells
        await asyncio.sleep(0.01)
    await killed(parent)
    assert stray.status() == psutil.STATUS_STOPPED
    server = NatsServer(tmp_path)
    await server.start()
    try:
        assert server.pid != stray.pid
        assert not stray.is_running() or stray.status() == psutil.STATUS_ZOMBIE
    finally:
        await server.stop()


async def test_a_start_that_is_cancelled_leaves_no_server(tmp_path: Path) -> None:
    server = NatsServer(tmp_path)
    starting = asyncio.create_task(server.start())
    while not server.pid:  # noqa: ASYNC110
        await asyncio.sleep(0)
    process = psutil.Process(server.pid)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert not process.is_running()


async def test_a_server_that_can_not_start_says_why(tmp_path: Path) -> None:
    (tmp_path / "jetstream").write_text("no folder")
    with pytest.raises(LogUnavailable, match="storage directory is not a directory"):
        await NatsServer(tmp_path).start()


async def test_a_stopped_server_that_is_frozen_is_ended_all_the_same(tmp_path: Path) -> None:
    server = NatsServer(tmp_path)
    await server.start()
    process = psutil.Process(server.pid)
    os.kill(server.pid, signal.SIGSTOP)
    await server.stop()
    assert not process.is_running()


async def test_a_cluster_starts_although_somebody_takes_one_of_its_ports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ops.production.log.server import cluster as module

    right, asked = module._unused_ports, list[int]()
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()

        def first_a_taken_one(count: int) -> tuple[int, ...]:
            asked.append(count)
            ports = right(count)
            return (other.getsockname()[1], *ports[1:]) if len(asked) == 1 else ports

        monkeypatch.setattr(module, "_unused_ports", first_a_taken_one)
        cluster = NatsCluster(tmp_path)
        await cluster.start()
        try:
            bus = await connect(cluster.url, replicas=3)
            async with asyncio.timeout(60):
                while True:
                    try:
                        await bus.stream("LOG_0")
                        break
                    except LogUnavailable:
                        await asyncio.sleep(0.1)
            await bus.close()
        finally:
            await cluster.stop()
    assert len(asked) == 2
