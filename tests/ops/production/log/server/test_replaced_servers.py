"""Three servers, each replaced in turn by one with an empty disk, while a service decides on: nothing that was acknowledged is lost, or there twice."""

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from ops.production.log.jetstream.bus import JetStreamBus, connect
from ops.production.log.server.cluster import NatsCluster
from ops.production.log.streams import PARTITION
from services.runtime.log_errors import LogMovedOn, LogUnavailable
from tests.stage.held_by_all import is_held_by_all

SUBJECT = "kuelog.log.0.test"


@pytest.mark.slow
@pytest.mark.skipif("KUELOG_CHAOS" not in os.environ, reason="elections take their time: make chaos plays it")
async def test_what_was_acknowledged_is_there_once_when_every_server_was_replaced_by_an_empty_one(
    tmp_path: Path,
) -> None:
    servers = NatsCluster(tmp_path)
    await servers.start()
    bus = await connect(servers.url, replicas=3, max_bytes=64 << 20)
    deciding: asyncio.Task[None] | None = None
    try:
        async with asyncio.timeout(120):
            acknowledged: list[int] = []
            deciding = asyncio.create_task(decide_on(bus, acknowledged))
            for server in servers.servers:
                await more(acknowledged, deciding)
                await server.kill()
                shutil.rmtree(server.store)
                await more(acknowledged, deciding)
                await server.start()
                await more(acknowledged, deciding)
                await whole(bus)
            await more(acknowledged, deciding)
            deciding.cancel()
            await asyncio.wait({deciding})
            stored = await all_of(bus)
            assert acknowledged == list(range(1, len(acknowledged) + 1)), "one after the other, and none twice"
            assert stored[: len(acknowledged)] == [b'{"n":%d}' % number for number in acknowledged]
            assert len(stored) - len(acknowledged) <= 1, "at most the one that was on its way"
    finally:
        if deciding is not None:
            deciding.cancel()
        await bus.close()
        await servers.stop()


async def decide_on(bus: JetStreamBus, acknowledged: list[int]) -> None:
    """One commit after the other, each on the one before it and tried again until it is known to be stored, as a service does."""
    while True:
        number = len(acknowledged) + 1
        try:
            stream = await bus.stream(PARTITION)
            found = await stream.append(SUBJECT, b'{"n":%d}' % number, message_id=f"m{number}", base=number - 1)
        except LogUnavailable:
            await asyncio.sleep(0.05)
            continue
        except LogMovedOn:
            raise AssertionError("nobody else writes there") from None
        acknowledged.append(found)


async def more(acknowledged: list[int], deciding: "asyncio.Task[None]") -> None:
    """It goes on deciding."""
    before = len(acknowledged)
    while len(acknowledged) < before + 20:
        if deciding.done():
            deciding.result()
        await asyncio.sleep(0.05)


async def whole(bus: JetStreamBus) -> None:
    """Every server has all of the stream: only then another one may go, as the probe of a pod holds it."""
    while not await is_held_by_all(bus.client, PARTITION, 3):  # noqa: ASYNC110 - nothing tells
        await asyncio.sleep(0.1)


async def all_of(bus: JetStreamBus) -> list[bytes]:
    stream = await bus.stream(PARTITION)
    return [entry.data async for batch in stream.read() for entry in batch]
