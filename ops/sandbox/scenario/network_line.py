"""A line between two clusters on one machine that can be cut and restored; who is on either side goes on by itself."""

import asyncio
from contextlib import suppress

_CHUNK = 1 << 16


class NetworkLine:
    """Forwards what comes to an address of its own to another one, until it is cut."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()
        self.port = 0
        """Where it is reached; the same after it was restored."""

    async def restore(self) -> None:
        """Take in and forward, from now on."""
        if self._server is None:
            self._server = await asyncio.start_server(self._joined, "127.0.0.1", self.port)
            self.port = int(self._server.sockets[0].getsockname()[1])

    async def cut(self) -> None:
        """End all connections and take in no more."""
        if self._server is None:
            return
        self._server.close()
        self._server = None
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _joined(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            with suppress(OSError, asyncio.CancelledError):
                to_reader, to_writer = await asyncio.open_connection("127.0.0.1", self._to)
                try:
                    async with asyncio.TaskGroup() as both:
                        both.create_task(_forward(reader, to_writer))
                        both.create_task(_forward(to_reader, writer))
                finally:
                    to_writer.close()
        finally:
            self._open.discard(task)
            writer.close()


async def _forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(_CHUNK):
        writer.write(data)
        await writer.drain()
    with suppress(OSError):
        writer.write_eof()
