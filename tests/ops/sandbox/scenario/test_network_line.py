"""A line between clusters that is cut and restored, over real sockets."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from ops.sandbox.scenario.network_line import NetworkLine


async def _echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(100):
        writer.write(data)
        await writer.drain()
    writer.close()


@asynccontextmanager
async def line() -> AsyncGenerator[NetworkLine]:
    server = await asyncio.start_server(_echo, "127.0.0.1", 0)
    found = NetworkLine(server.sockets[0].getsockname()[1])
    await found.restore()
    try:
        yield found
    finally:
        await found.cut()
        server.close()


@asynccontextmanager
async def joined(port: int) -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.close()


async def _said(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, text: bytes) -> bytes:
    writer.write(text)
    await writer.drain()
    return await reader.readexactly(len(text))


async def test_what_comes_is_forwarded_both_ways_and_ends_when_one_side_does() -> None:
    async with asyncio.timeout(120), line() as found, joined(found.port) as (reader, writer):
        assert await _said(reader, writer, b"hello") == b"hello"
        writer.write_eof()
        assert await reader.read() == b""


async def test_cut_it_ends_what_is_open_and_takes_in_no_more_and_is_reached_at_the_same_place_again() -> None:
    async with asyncio.timeout(120), line() as found:
        async with joined(found.port) as (reader, writer):
            assert await _said(reader, writer, b"before") == b"before"
            await found.cut()
            assert await reader.read() == b""
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", found.port)
        await found.restore()
        async with joined(found.port) as (reader, writer):
            assert await _said(reader, writer, b"after") == b"after"


async def test_who_comes_while_nobody_is_there_behind_it_is_sent_away_and_the_line_goes_on() -> None:
    async with asyncio.timeout(120):
        found = NetworkLine(1)
        await found.restore()
        for _ in range(2):
            async with joined(found.port) as (reader, _):
                assert await reader.read() == b""
        await found.cut()
