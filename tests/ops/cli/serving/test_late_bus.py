"""Who answers the API server comes before the bus as services do: alive, not ready, and ready by itself once the bus is there."""

import asyncio
import ssl
from pathlib import Path

import aiohttp
import pytest
from rich.console import Console

from ops.cli.serving.visibility import VisibilityOptions, serve_to_api_server
from ops.production.listeners.endpoint import Endpoint
from ops.production.log.server.server import NatsServer
from services.runtime.own_task import stopped
from tests.ops.production.visibility.test_access import Authority
from tests.stage.ports import reserved_port

NOBODY = """
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: {}}]
current-context: c
"""


async def test_the_visibility_api_answers_its_probes_while_the_bus_is_away_and_is_ready_when_it_comes(
    tmp_path: Path,
) -> None:
    authority, port, at_bus = Authority(tmp_path, "ca"), reserved_port(), reserved_port()
    (tmp_path / "kubeconfig").write_text(NOBODY)
    asked = VisibilityOptions(
        nats=f"nats://127.0.0.1:{at_bus}",
        host="127.0.0.1",
        port=port,
        kubeconfig=str(tmp_path / "kubeconfig"),
        context="",
        service="kuelog-system/kuelog-visibility",
        files=authority.sign("server"),
        client_ca=authority.file,
        names=(),
        scale=1.0,
        metrics=Endpoint(port=reserved_port()),
    )
    serving = asyncio.create_task(serve_to_api_server(asked, Console(quiet=True)))
    server = NatsServer(tmp_path / "nats", port=at_bus)
    unseen = ssl.create_default_context()
    unseen.check_hostname, unseen.verify_mode = False, ssl.CERT_NONE
    try:
        async with aiohttp.ClientSession() as session, asyncio.timeout(60):

            async def probed(path: str) -> int:
                while not serving.done():
                    try:
                        async with session.get(f"https://127.0.0.1:{port}{path}", ssl=unseen) as answer:
                            return answer.status
                    except aiohttp.ClientConnectionError:
                        await asyncio.sleep(0.05)
                serving.result()
                pytest.fail("it has ended")

            assert [await probed(path) for path in ("/livez", "/readyz")] == [200, 503]
            await server.start()
            while await probed("/readyz") != 200:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.05)
    finally:
        await stopped(serving)
        await server.stop()
