"""What a person is told who asks a bus that is not there."""

import asyncio

import pytest

from ops.cli.log_options import LogSource
from ops.cli.log_reading import bus_of
from ops.production.log.jetstream import bus
from services.runtime.log_errors import LogUnavailable
from tests.stage.ports import reserved_port


async def ask(port: int) -> None:
    async with bus_of(LogSource(nats=f"nats://127.0.0.1:{port}")):
        raise AssertionError("there is a bus")


async def test_where_nobody_listens_that_is_said_soon() -> None:
    begun = asyncio.get_running_loop().time()
    with pytest.raises(LogUnavailable, match="nobody listens there"):
        await ask(reserved_port())
    assert asyncio.get_running_loop().time() - begun < 8.0


async def test_what_takes_connections_and_says_nothing_is_waited_for_and_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bus, "_SOON_S", 0.1)
    said, closed = asyncio.Event(), asyncio.Event()

    async def say_nothing(_: object, writer: asyncio.StreamWriter) -> None:
        await said.wait()
        writer.close()
        await writer.wait_closed()
        closed.set()

    server = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
    (port,) = {one.getsockname()[1] for one in server.sockets}
    asked = asyncio.create_task(ask(port))
    async with asyncio.timeout(30):
        while not (told := capsys.readouterr().err):  # noqa: ASYNC110 - what is printed tells nobody
            await asyncio.sleep(0.05)
    asked.cancel()
    await asyncio.gather(asked, return_exceptions=True)
    server.close()
    said.set()
    await closed.wait()
    assert told == f"waiting for nats://127.0.0.1:{port}\n"
