"""`kuelog console` as a person meets it: a folder that a run has left, and addresses that it does not listen on."""

import asyncio
import json
import signal
import socket
import ssl
import sys
from base64 import b64decode
from pathlib import Path

import aiohttp
import pytest
from typer.testing import CliRunner

from ops.cli.main import app
from ops.console.changes import format_positions
from ops.production.log.jetstream.bus import connect
from ops.production.log.server.server import NatsServer
from ops.sandbox.bench.day import played, small_day
from tests.ops.console.people import MINE, NAMESPACES, people
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


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--host", "0.0.0.0"], "can't be served on 0.0.0.0 to everybody: say --access token"),  # noqa: S104
        (["--host", "0.0.0.0", "--access", "token"], "in plain text, tokens and secrets would be read on the way"),  # noqa: S104
        (["--access", "anybody"], "--access anybody: write token or proxy"),
        (["--access", "proxy"], "say how the proxy is known, or everybody could send its headers"),
        (["--access", "proxy", "--proxy-ca", "ca.crt"], "a client certificate is shown over TLS"),
        (["--service", "kuelog-system/kuelog-console"], "expected NAMESPACE/NAME, with --access"),
        (["--access", "token", "--service", "kuelog-console"], "expected NAMESPACE/NAME, with --access"),
        (["--access", "token", "--kubeconfig", "/nowhere"], "no Kubernetes cluster"),
        (["--tls-cert", "/nowhere", "--tls-key", "/nowhere"], "/nowhere, /nowhere: "),
    ],
)
def test_it_is_not_served_to_everybody_nor_in_plain_text_and_says_what_to_write(words: list[str], problem: str) -> None:
    done = CliRunner().invoke(app, ["console", "--nats", "nats://127.0.0.1:1", *words], env={"COLUMNS": "300"})
    assert done.exit_code == 2
    assert done.output.startswith("error: ") and problem in done.output


async def test_with_a_cluster_to_ask_people_are_shown_their_own_over_a_certificate_that_it_makes(
    tmp_path: Path,
) -> None:
    server = NatsServer(tmp_path / "nats")
    await server.start()
    bus = await connect(server.url)
    log, _ = played(small_day(7, NAMESPACES), most=20)
    await store(bus, log)
    await bus.close()
    async with people(tmp_path / "cluster") as everybody, asyncio.timeout(PATIENCE_S):
        everybody.cluster.add({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kuelog-system"}})
        words = ("--access", "token", "--kubeconfig", str(tmp_path / "cluster" / "kubeconfig"))
        own = ("--port", "0", "--service", "kuelog-system/kuelog-console")
        command = (sys.executable, "-m", "ops.cli.main", "console", "--nats", server.url, *words, *own)
        process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=asyncio.subprocess.PIPE)
        assert process.stdout is not None
        line = (await process.stdout.readline()).decode()
        assert line.startswith("console on https://127.0.0.1:")
        secrets = everybody.cluster.store.of("secrets")
        while ("kuelog-system", "kuelog-console-certificate") not in secrets:  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.05)
        held = secrets["kuelog-system", "kuelog-console-certificate"]["data"]
        context = ssl.create_default_context(cadata=b64decode(held["ca.crt"]).decode())
        name, address = "kuelog-console.kuelog-system.svc", line.split()[2]
        async with aiohttp.ClientSession() as session:

            async def rows(who: str) -> list[str]:
                """The workloads that somebody is shown, once the log is folded and the certificate is there."""
                while True:
                    try:
                        url, headers = f"{address}api/v1/workloads", everybody.headers(who)
                        async with session.get(url, ssl=context, server_hostname=name, headers=headers) as answer:
                            found = json.loads(await answer.read())
                        if answer.status == 200:
                            return [row["key"] for row in found["data"]["workloads"]]
                        assert answer.status == 503, found
                    except aiohttp.ClientConnectorError:
                        pass
                    await asyncio.sleep(0.05)

            every, own_rows = await rows("operator"), await rows("tenant")
            assert own_rows == [key for key in every if key.startswith(f"{MINE}/")] != every
        process.send_signal(signal.SIGTERM)
        await process.communicate()
        assert process.returncode == 0
    await server.stop()


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
