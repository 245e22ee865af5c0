"""The log that a command asks, read from where a person said: folder, running bus, archive, or archive and what follows."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from ops.audit.errors import ArchiveNeverGrows
from ops.cli.log_options import LogSource
from ops.log.history import History, read_everything
from ops.log.jetstream import connect
from ops.log.server import NatsServer
from ops.scenario.script import ScenarioBroken
from services.log_port import Bus


def read_log(source: LogSource) -> History:
    """Every stream of the log. Raises the known failures."""

    async def read() -> History:
        if source.archive_alone:
            return await read_everything(archive=source.archive)
        async with bus_of(source) as bus:
            return await read_everything(bus, source.archive)

    return asyncio.run(read())


@asynccontextmanager
async def bus_of(source: LogSource) -> AsyncGenerator[Bus, None]:
    """A running bus, or the one that a folder holds, started for as long as it is used. Raises the known failures."""
    if source.nats:
        bus = await connect(source.nats)
        try:
            yield bus
        finally:
            await bus.close()
        return
    folder = source.folder
    if folder is None:
        raise ArchiveNeverGrows(source.archive)
    store = folder.resolve() / "nats"
    if not store.is_dir():
        raise ScenarioBroken(folder, "holds no log: run `kuelog demo` first, or name another folder with --data")
    server = NatsServer(store)
    await server.start()
    try:
        bus = await connect(server.url)
        try:
            yield bus
        finally:
            await bus.close()
    finally:
        await server.stop()
