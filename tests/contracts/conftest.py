"""One server on its own and a connection to it, for contracts about leases."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from ops.production.log.jetstream.bus import JetStreamBus, connect
from ops.production.log.server.server import NatsServer


@pytest_asyncio.fixture
async def server(tmp_path: Path) -> AsyncIterator[NatsServer]:
    found = NatsServer(tmp_path)
    await found.start()
    yield found
    await found.stop()


@pytest_asyncio.fixture
async def bus(server: NatsServer) -> AsyncIterator[JetStreamBus]:
    found = await connect(server.url)
    await found.leases.prepare()
    yield found
    await found.close()
