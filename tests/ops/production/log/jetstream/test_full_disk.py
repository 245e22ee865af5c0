"""A disk of the bus that is really full: health says so, nothing is lost, and when there is room admission goes on by itself."""

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import psutil
import pytest

from events.subjects import FACTS
from ops.production.archive.history import read_everything
from ops.production.health import Health
from ops.production.log.jetstream.bus import JetStreamBus, connect
from ops.production.log.server.keeper import kept
from ops.production.log.server.server import NatsServer
from ops.production.log.streams import DEVICE_PARTITION, PARTITION, SOLE
from ops.production.wiring import Ports, Running
from ops.queries.replay import fold_partition
from services.runtime.log_errors import DiskFull
from services.runtime.log_port import Message
from services.runtime.own_task import stopped
from tests.ops.production.log.test_bus_away import said
from tests.stage.stage import Stage, job

_SIZE, _ROOM = 48 << 20, 8 << 20


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of a few megabytes."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_SIZE}", "tmpfs", str(place)], capture_output=True)
    if mounted.returncode:
        pytest.skip("only who may mount a file system can fill one up")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.fixture
async def server(small_disk: Path) -> AsyncIterator[NatsServer]:
    one = NatsServer(small_disk / "nats")
    await one.start()
    yield one
    await one.stop()


def fill(place: Path) -> Path:
    """Take the last byte of a disk."""
    taken, step = place / "taken", 1 << 20
    with taken.open("wb", buffering=0) as file:
        while step:
            try:
                file.write(b"x" * step)
            except OSError:
                step //= 2
    return taken


async def small_streams(server: NatsServer) -> JetStreamBus:
    """The streams of a log, as small as the disk wants them."""
    bus = await connect(server.url, max_bytes=4 << 20)
    for name in SOLE.every:
        await bus.stream(name)
    return bus


async def test_a_full_disk_is_told_loses_nothing_and_is_got_over_when_there_is_room(
    embedded_stage: Stage, server: NatsServer, small_disk: Path
) -> None:
    stage = embedded_stage
    async with AsyncExitStack() as opened:
        bus = await small_streams(server)
        opened.push_async_callback(bus.close)
        running = Running(Ports(bus=bus, reader=stage.ports.reader, writer=stage.ports.writer, clock=stage.clock))
        task, health = asyncio.create_task(running.run()), Health(running)
        opened.push_async_callback(stopped, task)
        await opened.enter_async_context(kept(server, running.disk_full, room=_ROOM))
        await stage.add(job("before", 50_000))
        await stage.until(lambda: stage.running("before"))
        await said(health, "")
        held = await read_everything(bus)

        taken = fill(small_disk)
        await stage.add(job("during", 5))
        await said(health, "takes nothing: the disk of the bus is full")
        assert not task.done() and running.disk_full()
        await stage.end_pods("before")

        taken.unlink()
        await stage.until(lambda: stage.complete("before", "during"))
        await said(health, "")
        entries = await read_everything(bus)
        for name, before in held.items():
            assert entries[name][: len(before)] == before
        for partition in (PARTITION, DEVICE_PARTITION):
            assert not fold_partition(partition, entries, verify=True)[1].differences


async def test_the_first_message_of_a_stream_that_a_full_disk_does_not_take_is_told_as_that(
    server: NatsServer, small_disk: Path
) -> None:
    bus = await small_streams(server)
    try:
        fill(small_disk)
        partition, facts = await bus.stream(PARTITION), await bus.stream(FACTS)
        with pytest.raises(DiskFull):
            await partition.append("kuelog.log.0.x", b"x" * 20_000, message_id="first", base=0)
        with pytest.raises(DiskFull):
            await facts.publish([Message("kuelog.facts.x", b"x" * 20_000, "first")])
    finally:
        await bus.close()


async def test_a_bus_of_ours_that_has_ended_is_started_again(tmp_path: Path) -> None:
    server = NatsServer(tmp_path)
    await server.start()
    bus = await connect(server.url)
    try:
        facts = await bus.stream(FACTS)
        await facts.publish([Message("kuelog.facts.x", b"x", "before")])
        async with kept(server, lambda: False):
            ended = psutil.Process(server.pid)
            os.kill(server.pid, 9)
            await asyncio.to_thread(ended.wait)
            async with asyncio.timeout(60):
                while not server.alive or server.pid == ended.pid:  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
                assert (await facts.last()).message_id == "before"
    finally:
        await bus.close()
        await server.stop()
