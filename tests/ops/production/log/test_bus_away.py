"""Real services on a bus that comes late, is frozen, killed or full: none of them ends, and each says what is lacking."""

import asyncio
import resource
import sys
from collections.abc import AsyncIterator
from io import StringIO
from pathlib import Path

import pytest
from msgspec.structs import replace
from rich.console import Console

from events.subjects import FACTS
from ops.cli.serving.serve import reached
from ops.production.health import Health
from ops.production.log.jetstream.bus import JetStreamBus, connect
from ops.production.log.lazy_bus import LazyBus
from ops.production.log.server.server import NatsServer
from ops.production.wiring import Ports, Running
from services.runtime.log_errors import DiskFull, LogFull, LogUnavailable
from services.runtime.log_port import Message
from services.runtime.own_task import stopped
from tests.stage.ports import reserved_port
from tests.stage.stage import Stage

_PATIENCE_S = 60


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[NatsServer]:
    one = NatsServer(tmp_path / "late", port=reserved_port())
    yield one
    await one.stop()


async def sent(bus: JetStreamBus, before: int) -> None:
    """Wait until the client has been given more messages than before, and has handed all of them to the connection."""
    while bus.client.stats["out_msgs"] == before or bus.client.pending_data_size:  # noqa: ASYNC110
        await asyncio.sleep(0.01)


async def said(health: Health, text: str) -> None:
    """Wait until readyz says something; nothing at all when `text` is empty."""
    async with asyncio.timeout(_PATIENCE_S):
        while True:
            found = await health.why_not()
            if any(text in one for one in found) if text else not found:
                return
            await asyncio.sleep(0.05)


async def test_services_wait_for_a_bus_that_comes_later_and_go_on_when_it_freezes_and_dies(
    embedded_stage: Stage, server: NatsServer, tmp_path: Path
) -> None:
    ports = Ports(
        bus=LazyBus(server.url),
        reader=embedded_stage.ports.reader,
        writer=embedded_stage.ports.writer,
        clock=embedded_stage.clock,
    )
    running = Running(ports, witness=tmp_path / "witness")
    task, health = asyncio.create_task(running.run()), Health(running)
    try:
        await said(health, f"{server.url} can't be reached")
        await server.start()
        await said(health, "")
        server.pause()
        await said(health, "the bus has not answered within")
        server.resume()
        await said(health, "")
        await server.kill()
        await said(health, "the bus has not answered within")
        await server.start()
        await said(health, "")
        assert not task.done()
    finally:
        await stopped(task)
        await ports.bus.close()


async def test_services_whose_clock_can_not_be_put_on_record_yet_wait_until_it_can(
    embedded_stage: Stage, server: NatsServer
) -> None:
    await server.start()
    bus = await connect(server.url, max_bytes=100)
    ports = replace(embedded_stage.ports, bus=bus)
    running = Running(ports)
    task, health = asyncio.create_task(running.run()), Health(running)
    try:
        await said(health, "CONTROL takes nothing")
        jetstream = bus.client.jetstream()
        for info in await jetstream.streams_info():
            await jetstream.update_stream(info.config.evolve(max_bytes=-1))
        await said(health, "")
        assert not task.done()
    finally:
        await stopped(task)
        await bus.close()


@pytest.mark.skipif(sys.platform != "linux", reason="the limits of another process are set on Linux only")
async def test_a_disk_that_takes_no_more_is_told_as_that_and_not_as_a_full_stream(server: NatsServer) -> None:
    await server.start()
    bus = await connect(server.url)
    try:
        facts = await bus.stream(FACTS)
        await facts.publish([Message("kuelog.facts.x", b"x" * 200_000, "first")])
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
        with pytest.raises(DiskFull, match="takes nothing: the disk of the bus is full"):
            await facts.publish([Message("kuelog.facts.x", b"x" * 200_000, "second")])
        with pytest.raises(DiskFull):
            await facts.append("kuelog.facts.x", b"x" * 200_000, message_id="third", base=1)
        assert (await facts.last()).sequence == 1
        await server.kill()
        await server.start()
        async with asyncio.timeout(_PATIENCE_S):
            while True:
                try:
                    await facts.publish([Message("kuelog.facts.x", b"x" * 200_000, "second")])
                    break
                except LogUnavailable:
                    await asyncio.sleep(0.1)
        assert [entry.message_id async for batch in facts.read() for entry in batch] == ["first", "second"]
    finally:
        await bus.close()


async def test_a_message_that_was_lost_with_the_server_is_not_told_as_a_full_disk(server: NatsServer) -> None:
    await server.start()
    bus = await connect(server.url)
    try:
        facts = await bus.stream(FACTS)
        server.pause()
        before = bus.client.stats["out_msgs"]
        publishing = asyncio.create_task(facts.publish([Message("kuelog.facts.x", b"x", "lost")]))
        await sent(bus, before)
        await server.kill()
        await server.start()
        with pytest.raises(LogUnavailable, match="the connection broke before an answer came"):
            await publishing
    finally:
        await bus.close()


async def test_a_stream_at_its_own_limit_is_told_as_that(server: NatsServer) -> None:
    await server.start()
    bus = await connect(server.url, max_bytes=100_000)
    try:
        facts = await bus.stream(FACTS)
        with pytest.raises(LogFull, match="takes nothing: it is full"):
            await facts.publish([Message("kuelog.facts.x", b"x" * 200_000, "first")])
    finally:
        await bus.close()


async def test_up_waits_for_a_bus_that_is_not_there_yet_and_says_so(server: NatsServer) -> None:
    told = StringIO()
    waiting = asyncio.create_task(reached(server.url, Console(file=told, width=300)))
    try:
        async with asyncio.timeout(_PATIENCE_S):
            while not told.getvalue():  # noqa: ASYNC110 - a console tells nobody that something was written
                await asyncio.sleep(0.05)
            assert told.getvalue().startswith(
                f"waiting for the bus: {server.url} can't be reached: nobody listens there"
            )
            await server.start()
            bus = await waiting
        assert (await (await bus.stream(FACTS)).last()).sequence == 0
        assert told.getvalue().count("waiting") == 1
        await bus.close()
    finally:
        waiting.cancel()


async def test_a_bus_without_room_for_its_streams_says_so(server: NatsServer) -> None:
    await server.start()
    bus = await connect(server.url, max_bytes=1 << 60)
    try:
        with pytest.raises(DiskFull, match="insufficient storage resources"):
            await bus.stream(FACTS)
    finally:
        await bus.close()
