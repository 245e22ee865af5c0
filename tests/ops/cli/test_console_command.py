"""`kuelog console` as a person meets it: a folder that a run has left, and addresses that it does not listen on."""

import asyncio
import json
import signal
import socket
import sys
from pathlib import Path

import aiohttp
from typer.testing import CliRunner

from ops.cli.main import app
from ops.console.changes import format_positions
from ops.production.log.jetstream import connect
from ops.production.log.server import NatsServer
from ops.sandbox.bench.day import played, small_day
from tests.ops.console.served import PATIENCE_S, store
from tests.places import ROOT


async def test_the_log_in_a_folder_is_shown_until_it_is_stopped(tmp_path: Path) -> None:
    server = NatsServer(tmp_path / "nats")
    await server.start()
    bus = await connect(server.url)
    log, _ = played(small_day(7), most=20)
    await store(bus, log)
    await bus.close()
    await server.stop()
    words = ("-m", "ops.cli.main", "console", "--data", str(tmp_path), "--port", "0")
    process = await asyncio.create_subprocess_exec(sys.executable, *words, cwd=ROOT, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE_S), aiohttp.ClientSession() as session:
        line = (await process.stdout.readline()).decode()
        address = line.split()[2]
        assert line == f"console on {address} (Ctrl-C stops)\n"
        async with session.get(f"{address}api/v1/workloads?at=%2B10m") as answer:
            rows = json.loads(await answer.read())["data"]["workloads"]
        process.send_signal(signal.SIGTERM)
        assert (await process.stdout.read()).decode() == "stopped\n"
        assert await process.wait() == 0
    done = CliRunner().invoke(
        app, ["replay", "--data", str(tmp_path), "--until", "+10m", "--show", "workloads", "-o", "json"]
    )
    assert json.loads(done.output)["workloads"] == rows


def test_it_does_not_listen_where_others_could_reach_it_and_says_why() -> None:
    done = CliRunner().invoke(app, ["console", "--host", "0.0.0.0"], env={"COLUMNS": "300"})  # noqa: S104
    assert done.exit_code == 2
    assert done.output.startswith("error: the console can't be served on 0.0.0.0: it asks nobody who may read")


async def test_beside_the_services_it_shows_what_they_see_as_they_see_it(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ("-m", "ops.cli.main", "up", "--data", str(tmp_path / "up"), "--scale", "10", "--console", str(port))
    process = await asyncio.create_subprocess_exec(sys.executable, *words, cwd=ROOT, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE_S), aiohttp.ClientSession() as session:
        assert (await process.stdout.readline()).decode() == f"console on http://127.0.0.1:{port}/\n"
        assert (await process.stdout.readline()).decode() == "7 nodes with 48 cards\n"
        address = f"http://127.0.0.1:{port}/api/v1"
        while (await session.get(f"http://127.0.0.1:{port}/readyz")).status != 200:  # noqa: ASYNC110 - only its answers tell
            await asyncio.sleep(0.05)
        while True:
            async with session.get(f"{address}/cards") as answer:
                found = json.loads(await answer.read())
            if len(found["data"]["cards"]) == 48:
                break
            seen = format_positions(found["as_of"]["sequences"])
            async with session.get(f"{address}/changes", headers={"Last-Event-ID": seen}) as changes:
                assert b"event: changes\n" in await changes.content.readuntil(b"data: ")
        process.send_signal(signal.SIGTERM)
        await process.stdout.read()
        assert await process.wait() == 0
