"""A server that knows nothing of JetStream: tests answer in its place."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from ops.production.log.server.server import nats_binary
from tests.stage.ports import reserved_port


@pytest.fixture
async def url() -> AsyncIterator[str]:
    """A NATS server without JetStream."""
    port = reserved_port()
    server = await asyncio.create_subprocess_exec(
        nats_binary(), "-a", "127.0.0.1", "-p", str(port), stderr=asyncio.subprocess.DEVNULL
    )
    yield f"nats://127.0.0.1:{port}"
    server.terminate()
    await server.wait()
