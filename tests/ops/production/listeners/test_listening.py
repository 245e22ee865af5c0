import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from ops.production.health import health_app
from ops.production.listeners.endpoint import Endpoint, is_loopback
from ops.production.listeners.listening import PortTaken, listening
from ops.production.log.memory import MemoryBus
from ops.production.metrics.endpoint import metrics_app, served
from ops.production.process.clock import ScaledClock
from ops.production.wiring import Ports, Running
from tests.services.runtime.partition.test_host import NoCluster


def nothing_runs() -> Running:
    """Services none of which has begun."""
    nobody = NoCluster()
    return Running(Ports(bus=MemoryBus(), reader=nobody, writer=nobody, clock=ScaledClock()), ())


async def test_a_port_that_is_taken_is_told_with_what_wanted_it(unused_tcp_port: int) -> None:
    async with served(nothing_runs(), Endpoint(port=unused_tcp_port)):
        with pytest.raises(PortTaken, match=f"metrics can't be served on port {unused_tcp_port}: "):
            async with served(nothing_runs(), Endpoint(port=unused_tcp_port)):
                pass


async def test_a_free_port_is_found_told_and_left_again() -> None:
    async with (
        listening(web.Application(), 0, what="nothing", host="127.0.0.1") as port,
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{port}/") as answer,
    ):
        assert answer.status == 404
    async with listening(web.Application(), port, what="nothing", host="127.0.0.1") as again:
        assert again == port


@pytest.mark.parametrize("turns", range(6))
async def test_who_connects_while_serving_ends_is_hung_up_on(turns: int) -> None:
    with socket.socket() as caller:
        async with listening(web.Application(), 0, what="nothing", host="127.0.0.1") as port:
            caller.connect(("127.0.0.1", port))
            caller.setblocking(False)
            for _ in range(turns):
                await asyncio.sleep(0)
        with suppress(ConnectionResetError):  # Not accepted yet when nobody listened any more.
            async with asyncio.timeout(60):
                assert await asyncio.get_running_loop().sock_recv(caller, 1) == b""


@asynccontextmanager
async def from_elsewhere(app: web.Application, folder: Path) -> AsyncIterator[aiohttp.ClientSession]:
    """A client of the application that does not come from a loopback address."""
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.UnixSite(runner, str(folder / "s")).start()
    try:
        async with aiohttp.ClientSession(connector=aiohttp.UnixConnector(str(folder / "s"))) as session:
            yield session
    finally:
        await runner.cleanup()


async def told(session: aiohttp.ClientSession, path: str, token: str | None = None) -> tuple[int, str]:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    async with session.get(f"http://localhost{path}", headers=headers) as answer:
        return answer.status, await answer.text()


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("10.0.0.1", False),
        ("::", False),
        ("", False),
        (None, False),
        ("127.0.0.1.example.com", False),
    ],
)
def test_only_what_this_machine_alone_reaches_is_loopback(address: str | None, expected: bool) -> None:
    assert is_loopback(address) is expected


async def test_without_a_word_metrics_are_only_served_to_this_machine(unused_tcp_port: int) -> None:
    async with served(nothing_runs(), Endpoint(port=unused_tcp_port)):
        with socket.socket() as other:
            # Another address of this machine would be taken, too, if all of them were listened on.
            other.bind(("127.0.0.2", unused_tcp_port))


async def test_metrics_are_told_elsewhere_only_to_who_shows_the_token(tmp_path: Path) -> None:
    token = tmp_path / "token"
    async with from_elsewhere(metrics_app(lambda: None, token), tmp_path) as session:
        assert (await told(session, "/metrics", "secret"))[0] == 401, "no file: nobody"
        token.write_text("")
        assert (await told(session, "/metrics", ""))[0] == 401, "an empty one: nobody"
        token.write_text("secret\n")
        assert (await told(session, "/metrics"))[0] == 401
        assert (await told(session, "/metrics", "wrong"))[0] == 401
        assert (await told(session, "/metrics", "s\u00e9cret"))[0] == 401
        assert (await told(session, "/metrics", "secret"))[0] == 200
        token.write_text("another\n")
        assert (await told(session, "/metrics", "secret"))[0] == 401
        assert (await told(session, "/metrics", "another"))[0] == 200


async def test_probes_from_elsewhere_hear_yes_or_no_and_details_only_with_the_token(tmp_path: Path) -> None:
    problems = ["LOG_0: message 7 can't be read"]

    async def why_not() -> list[str]:
        return problems

    token = tmp_path / "token"
    token.write_text("secret")
    app = health_app(why_not, token)
    async with from_elsewhere(app, tmp_path) as session:
        assert await told(session, "/readyz") == (503, "not ready\n")
        assert await told(session, "/readyz", "secret") == (503, f"{problems[0]}\n")
        problems.clear()
        assert await told(session, "/readyz") == (200, "ok\n")
        assert await told(session, "/livez") == (200, "ok\n")


async def test_whoever_asks_from_this_machine_hears_why_it_is_not_ready() -> None:
    async def why_not() -> list[str]:
        return ["LOG_0: halted"]

    async with (
        listening(health_app(why_not, None), 0, what="probes", host="127.0.0.1") as port,
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{port}/readyz") as answer,
    ):
        assert (answer.status, await answer.text()) == (503, "LOG_0: halted\n")
