"""What a real server closes connections for passes, and who may not do what was asked is told so at once."""

import asyncio
import json
import signal
from asyncio.subprocess import DEVNULL
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest
from nats.errors import NoRespondersError
from nats.errors import TimeoutError as NatsTimeout
from structlog.testing import capture_logs

from events.subjects import FACTS
from ops.production.health import Health
from ops.production.log.jetstream import pull
from ops.production.log.jetstream.bus import JetStreamBus, connect, in_domain, without_password
from ops.production.log.jetstream.connection import Connection, MayNot, is_refused
from ops.production.log.server.server import nats_binary
from ops.production.process.clock import ScaledClock
from ops.production.wiring import Ports, Running
from services.runtime.log_errors import LogUnavailable, NotAllowed
from services.runtime.log_port import Message
from tests.services.runtime.partition.test_host import NoCluster
from tests.stage.ports import reserved_port

PATIENCE_S = 60
MANY = 3
T = TypeVar("T")
OURS = {"user": "kuelog", "password": "secret"}
OTHER = {"user": "other", "password": "secret"}
LETS_IN: dict[str, Any] = {"authorization": {"users": [OURS, OTHER]}}


class Server:
    """A server whose configuration changes while it runs."""

    def __init__(self, folder: Path) -> None:
        self._path, self._port = folder / "nats.conf", reserved_port()
        self._store = str(folder / "store")
        self._process: asyncio.subprocess.Process

    def url(self, user: str) -> str:
        return f"nats://{user}:secret@127.0.0.1:{self._port}"

    async def start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            nats_binary(), "-c", str(self._path), stdout=DEVNULL, stderr=DEVNULL
        )

    async def stop(self) -> None:
        self._process.terminate()
        await self._process.wait()

    def configure(self, **parts: Any) -> None:
        whole = {"host": "127.0.0.1", "port": self._port, "jetstream": {"store_dir": self._store}, **LETS_IN, **parts}
        self._path.write_text(json.dumps(whole))

    def reload(self, **parts: Any) -> None:
        self.configure(**parts)
        self._process.send_signal(signal.SIGHUP)


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    one = Server(tmp_path)
    one.configure()
    await one.start()
    yield one
    await one.stop()


async def closed(buses: Sequence[JetStreamBus]) -> JetStreamBus:
    """The first of them whose connection the server has closed."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            for bus in buses:
                if not bus.client.is_connected:
                    return bus
            await asyncio.sleep(0.02)


async def says(bus: JetStreamBus, told: str) -> bool:
    """Whether the bus says why it does not take the connection: as soon as it was asked again, and not before."""
    try:
        await bus.stream(FACTS)
    except LogUnavailable as problem:
        return told in str(problem)
    return False


async def stored(bus: JetStreamBus) -> None:
    """Store a message, as soon as the bus is there."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                await (await bus.stream(FACTS)).publish([Message("kuelog.facts.x", b"{}", "after")])
            except LogUnavailable:
                await asyncio.sleep(0.05)
            else:
                return


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"max_connections": 1}, "it takes no more connections at the moment"),
        ({"authorization": {"users": [OTHER]}}, "it does not let in this user with this password"),
    ],
    ids=["too many connections", "no such user"],
)
async def test_a_connection_that_the_server_has_closed_is_made_anew_when_its_reason_has_passed(
    server: Server, change: dict[str, Any], told: str
) -> None:
    buses = [await connect(server.url("kuelog")), await connect(server.url("kuelog"))]
    try:
        await stored(buses[0])
        server.reload(**change)
        gone = await closed(buses)
        async with asyncio.timeout(PATIENCE_S):
            while not await says(gone, told):  # noqa: ASYNC110 - nothing tells when the server has said it
                await asyncio.sleep(0.05)
        server.reload()
        for bus in buses:
            await stored(bus)
    finally:
        for bus in buses:
            await bus.close()


async def test_whoever_may_not_do_what_was_asked_is_told_so_before_any_answer_could_be_late(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    bus = await connect(server.url("kuelog"))
    await stored(bus)
    await bus.shelf.prepare()
    facts = await bus.stream(FACTS)
    for module in ("stream", "generations", "shelf"):
        name = "DEADLINE_S" if module == "stream" else "_DEADLINE_S"
        monkeypatch.setattr(f"ops.production.log.jetstream.{module}.{name}", 10 * PATIENCE_S)
    denied = {"publish": {"deny": ["kuelog.facts.>", "kuelog.snapshots.>", "$JS.API.STREAM.DELETE.>"]}}
    server.reload(authorization={"users": [{**OURS, "permissions": denied}, OTHER]})

    async def denied_at_last(ask: Callable[[], Awaitable[object]]) -> None:
        """A server takes a moment to read its configuration; until then it stores."""
        while True:
            try:
                await ask()
            except NotAllowed:
                return

    async def append() -> None:
        base = (await facts.last()).sequence
        await facts.append("kuelog.facts.x", b"{}", message_id=f"append-{base}", base=base)

    try:
        async with asyncio.timeout(PATIENCE_S):
            await denied_at_last(lambda: facts.publish([Message("kuelog.facts.x", b"{}", "one")]))
            await denied_at_last(append)
            await denied_at_last(lambda: bus.shelf.put("key", [b"world"], upto={}, rules="1"))
    finally:
        await bus.close()


@pytest.mark.parametrize("right", ["$JS.API.CONSUMER.CREATE.FACTS", "$JS.API.CONSUMER.MSG.NEXT.FACTS.>"])
async def test_a_reader_who_lacks_a_right_says_once_which_and_reads_on_when_he_has_it(
    right: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pull, "_MAY_NOT_S", 0.01)
    monkeypatch.setattr(pull, "_EXPIRES_S", 0.05)
    tries: list[float] = []
    create = pull.PullReader._create  # pyright: ignore[reportPrivateUsage] - each try begins there

    async def counted(self: pull.PullReader, after: int) -> str:
        tries.append(after)
        return await create(self, after)

    monkeypatch.setattr(pull.PullReader, "_create", counted)
    bus, other = await connect(server.url("kuelog")), await connect(server.url("other"))
    try:
        await stored(bus)
        denied = {**OURS, "permissions": {"publish": {"deny": [right]}}}
        server.reload(authorization={"users": [denied, OTHER]})
        await refused(bus, right)
        batches = (await bus.stream(FACTS)).follow(0)
        with capture_logs() as logged:
            first = asyncio.ensure_future(anext(batches))
            async with asyncio.timeout(PATIENCE_S):
                asked = await until(bus.unreadable)
                assert asked[0] in await health_of(bus).why_not(), "/readyz tells it"
                await until(lambda: len(tries) > MANY)
            server.reload()
            async with asyncio.timeout(PATIENCE_S):
                [entry] = await first
                await until(lambda: not bus.unreadable())
        assert entry.sequence == 1
        told = [one["problem"] for one in logged if one["log_level"] == "warning"]
        assert len(told) == 1 and right.rstrip(">") in told[0]
        assert f"FACTS is not this user's to use so: {told[0]}. Connect as" in asked[0]
    finally:
        await bus.close()
        await other.close()


def health_of(bus: JetStreamBus) -> Health:
    nobody = cast(Any, NoCluster())
    ports = Ports(bus=bus, reader=nobody, writer=nobody, clock=ScaledClock(), unreadable=bus.unreadable)
    return Health(Running(ports, ()))


async def until(holds: Callable[[], T]) -> T:
    """What is found, as soon as it is true."""
    while not (found := holds()):  # noqa: ASYNC110 - of many things, and nothing tells of most
        await asyncio.sleep(0.02)
    return found


async def refused(bus: JetStreamBus, right: str) -> None:
    """Until the server has read that somebody lacks a right."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            with suppress(MayNot, NatsTimeout, NoRespondersError):
                await bus.client.request(right.replace(">", "x"), b"{}", timeout=1)
                continue
            if is_refused(bus.client, right.replace(">", "x")):
                return
            await asyncio.sleep(0.02)


class Swallowing(Connection):
    """A connection whose waits for the server drop a cancellation, as they may before Python 3.12."""

    def __init__(self) -> None:
        super().__init__()
        self.attempts, self.asks, self.ended = 0, asyncio.Event(), asyncio.Event()

    async def _process_connect_init(self) -> None:
        self.attempts += 1
        self.asks.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise OSError("an answer that came in that very turn") from None

    async def _begin(self, *words: Any) -> None:
        try:
            await super()._begin(*words)
        finally:
            self.ended.set()


async def test_a_connection_that_nobody_waits_for_any_more_is_not_tried_for_ever() -> None:
    async with await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0) as server:
        tried = Swallowing()
        task = asyncio.create_task(
            tried.begin([f"nats://127.0.0.1:{server.sockets[0].getsockname()[1]}"], name="kuelog")
        )
        await tried.asks.wait()
        task.cancel()
        async with asyncio.timeout(PATIENCE_S):
            with pytest.raises(asyncio.CancelledError):
                await task
            await tried.ended.wait()
    assert tried.attempts == 1


@pytest.mark.parametrize("password", ["S3cret", "a/S3cret", "a@S3cret", "a,S3cret", "a#S3cret", "a?S3cret", "a:S3cret"])
def test_an_address_is_told_without_its_password_whatever_stands_in_that(password: str) -> None:
    """`openssl rand -base64` makes a / in every second one."""
    assert without_password(f"nats://user:{password}@here:4222,there:4222") == "nats://here:4222,there:4222"
    assert (
        without_password(f"tls://user:{password}@here,tls://user:{password}@there/east")
        == "tls://here,tls://there/east"
    )
    assert without_password(f"user:{password}@here") == "here"


def test_a_password_that_an_address_can_t_hold_is_no_domain() -> None:
    with pytest.raises(LogUnavailable, match="its user or password holds a /: write it as %2F") as found:
        in_domain("nats://user:a/S3cret@here:4222")
    assert "S3cret" not in str(found.value)
