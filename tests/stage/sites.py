"""Two real servers, a hub and the leaf node of a site, and the line between them, which can be cut."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from ops.production.log.jetstream.bus import JetStreamBus, connect
from ops.production.log.jetstream.copies import keep_copies
from ops.production.log.server.server import NatsServer
from ops.production.log.sites import (
    HUB,
    account_of,
    copier_user,
    embedded_server,
    hub_side,
    joining_of,
    leaf_user,
    reader_user,
)
from ops.production.log.sites import users_of_site as users_of
from services.runtime.log_errors import LogUnavailable
from services.runtime.log_port import Entry
from tests.stage.ports import reserved_port

SITE = "east"
PASSWORDS = {one.name: f"p{one.name}" for name in (SITE, "west") for one in users_of(name)}


class Line:
    """A way to a port on this machine that can be cut, as a network is, or swallow what is sent and tell nobody."""

    def __init__(self, target: int) -> None:
        self.target, self.port, self.whole = target, 0, True
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self._flows = asyncio.Event()
        self._flows.set()

    async def open(self) -> None:
        """Listen on a port of its own."""
        self._server = await asyncio.start_server(self._carry, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    def cut(self) -> None:
        """Break every connection, and let no new one through."""
        self.whole = False
        self._flows.set()
        for writer in list(self._open):
            writer.transport.abort()

    def swallow(self) -> None:
        """From now on nothing arrives, and every connection stays."""
        self._flows.clear()

    def mend(self) -> None:
        """Let connections through again, and what was held up on them."""
        self.whole = True
        self._flows.set()

    async def close(self) -> None:
        """Listen no more."""
        self.cut()
        if self._server is not None:
            self._server.close()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self.whole:
            writer.transport.abort()
            return
        try:
            there, onward = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.transport.abort()
            return
        self._open |= {writer, onward}
        with suppress(OSError):
            await asyncio.gather(self._copy(reader, onward), self._copy(there, writer))
        for one in (writer, onward):
            self._open.discard(one)
            one.transport.abort()

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1 << 16):
            await self._flows.wait()
            writer.write(data)
            await writer.drain()
        writer.transport.abort()


class HubAndSite:
    """The servers, and how each is reached."""

    def __init__(self, folder: Path) -> None:
        leaf_port = reserved_port()
        further = hub_side((SITE, "west"), PASSWORDS, host="127.0.0.1", port=leaf_port)
        further["accounts"][account_of(SITE)]["users"].append({"user": "anybody", "password": "panybody"})
        self.hub = NatsServer(folder / "hub", name=HUB, domain=HUB, further=further)
        self.line = Line(leaf_port)
        self._folder = folder
        self.site: NatsServer | None = None

    async def start(self) -> None:
        """Start both, the line between them whole."""
        await self.start_hub()
        self.site = self.server_of_site(self._folder / SITE)
        await self.site.start()

    async def start_hub(self) -> None:
        """Start the hub, and have the line lead to it."""
        await self.hub.start()
        await self.line.open()

    def server_of_site(self, store: Path) -> NatsServer:
        """The server of the site with its store, which joins the hub when it starts."""
        return embedded_server(store, joining_of(self.hub_address))

    async def copies_kept(self) -> None:
        """Have the hub copy the site's streams, as soon as the leaf connection is there."""
        async with at(self.copy(copier_user(SITE))) as here, at(self.beyond(copier_user(SITE))) as there:
            while True:
                try:
                    await keep_copies(here, there)
                    return
                except LogUnavailable:
                    await asyncio.sleep(0.05)

    async def copied(self, name: str, upto: int) -> list[Entry]:
        """What a copy holds, as soon as it holds so much."""
        found: list[Entry] = []
        async with at(self.copy()) as reader:
            if not upto:
                return found
            async for batch in (await reader.stream(name)).follow(0):
                found += batch
                if found[-1].sequence >= upto:
                    return found
        raise AssertionError("it never comes to that")

    @property
    def hub_address(self) -> str:
        """Where the site's server joins the hub."""
        return f"nats-leaf://{leaf_user(SITE)}:{PASSWORDS[leaf_user(SITE)]}@127.0.0.1:{self.line.port}"

    def copy(self, user: str = reader_user(SITE)) -> str:
        """The address of the copy at the hub."""
        return f"nats://{user}:{PASSWORDS[user]}@127.0.0.1:{self.hub.port}"

    def beyond(self, user: str = reader_user(SITE)) -> str:
        """The address of the site's own log, through the hub."""
        return f"{self.copy(user)}/{SITE}"

    async def stop(self) -> None:
        """Stop both."""
        await self.line.close()
        if self.site is not None:
            await self.site.stop()
        await self.hub.stop()


@asynccontextmanager
async def hub_and_site(folder: Path) -> AsyncIterator[HubAndSite]:
    """Both servers for as long as the block lasts."""
    found = HubAndSite(folder)
    try:
        await found.start()
        yield found
    finally:
        await found.stop()


@asynccontextmanager
async def at(address: str, patience: float = 10.0) -> AsyncIterator[JetStreamBus]:
    """A connection for as long as the block lasts."""
    found = await connect(address, patience=patience)
    try:
        yield found
    finally:
        await found.close()


__all__ = ["PASSWORDS", "SITE", "HubAndSite", "Line", "at", "copier_user", "hub_and_site"]
