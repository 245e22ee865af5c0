"""The log on NATS JetStream: a connection, and the streams on it with settings under which they lose nothing."""

import asyncio
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from nats.errors import Error
from nats.js.api import DiscardPolicy, RetentionPolicy, StorageType, StreamConfig
from nats.js.errors import APIError, NotFoundError

from ops.production.log.jetstream.cancellable import cancellable
from ops.production.log.jetstream.capacity import StreamFill, stream_fill
from ops.production.log.jetstream.connection import Connection
from ops.production.log.jetstream.encryption import believed
from ops.production.log.jetstream.generations import generations, names_of
from ops.production.log.jetstream.leases import BusLeases
from ops.production.log.jetstream.refusals import UNANSWERED, not_taken, refused, unanswered, unavailable
from ops.production.log.jetstream.shelf import BusShelf
from ops.production.log.jetstream.stream import JetStreamStream
from services.runtime.log_errors import LogUnavailable, NotAllowed, UnsafeStream
from services.runtime.log_port import Stream
from services.runtime.shelf_port import Shelf

_GIB = 1 << 30
_SOON_S = 2.0


class JetStreamBus:
    """A connection to NATS, and the streams on it."""

    def __init__(self, client: Connection, *, replicas: int, max_bytes: int, address: str = "") -> None:
        self.client = client
        self.address = address
        """Where it was connected to, with its password: for a process of ours that connects as well. Not to be shown."""
        self.shelf: Shelf = BusShelf(client, replicas=replicas, max_bytes=max_bytes)
        """Where saved worlds are kept for whoever starts anew."""
        self.leases = BusLeases(client, replicas=replicas)
        """Where replicas say who of them tries."""
        self._replicas, self._max_bytes = replicas, max_bytes

    async def stream(self, name: str) -> Stream:
        """The stream of that name, created with settings under which a log loses nothing. Raises `UnsafeStream`."""
        js = self.client.jetstream()
        try:
            standing = False
            for generation in names_of(name):
                with suppress(NotFoundError):
                    _check_safe(generation, (await cancellable(js.stream_info(generation))).config)
                    standing = True
            if not standing and self.client.domain:
                raise LogUnavailable(stream=name, problem=f"the site {self.client.domain} has no such stream yet")
            if not standing:
                await cancellable(js.add_stream(self.settings_of(name)))
        except APIError as problem:
            raise refused(self.client, name, problem) from problem
        except UNANSWERED as problem:
            raise unanswered(self.client, f"$JS.API.STREAM.CREATE.{name}", name, problem) from problem
        return JetStreamStream(self.client, name)

    def connections(self) -> int:
        """How often the bus was connected to, the first time included."""
        return 1 + int(self.client.stats["reconnects"])

    async def filled(self, names: Sequence[str]) -> list[StreamFill]:
        """How full the streams are that take in now. Raises `LogUnavailable`."""
        found: list[StreamFill] = []
        for name in names:
            found += [stream_fill(name, one) for one in await generations(self.client, name) if one.takes_in]
        return found

    def unreadable(self) -> list[str]:
        """Which streams can't be read for want of a right, each with what to do; empty when all can that are read."""
        found = sorted(self.client.unreadable.items())
        return [str(NotAllowed(stream=stream, subject=subject)) for stream, subject in found]

    async def close(self) -> None:
        """Close the connection."""
        await self.client.close()

    def settings_of(self, name: str) -> StreamConfig:
        """The settings under which a stream of that name loses nothing."""
        return StreamConfig(
            name=name,
            subjects=[subjects_of(name)],
            storage=StorageType.FILE,
            retention=RetentionPolicy.LIMITS,
            discard=DiscardPolicy.NEW,
            max_bytes=self._max_bytes,
            num_replicas=self._replicas,
            deny_delete=True,
            deny_purge=True,
            allow_direct=False,
            duplicate_window=120,
        )


def subjects_of(name: str) -> str:
    """The subjects that a stream takes in."""
    family, _, place = name.partition("_")
    rooms = {"FACTS": "kuelog.facts.>", "CONTROL": "kuelog.control.>"}
    if family in rooms:
        return rooms[family]
    return f"kuelog.{ {'LOG': 'log', 'DEVICES': 'devices'}.get(family, family.lower()) }.{place}.>"


def _check_safe(name: str, config: StreamConfig) -> None:
    if config.discard != DiscardPolicy.NEW:
        raise UnsafeStream(stream=name, field="discard", found=str(config.discard), wanted="new")
    if config.storage != StorageType.FILE:
        raise UnsafeStream(stream=name, field="storage", found=str(config.storage), wanted="file")
    if not config.deny_delete or not config.deny_purge:
        raise UnsafeStream(stream=name, field="deny_delete and deny_purge", found="off", wanted="on")


def without_password(url: str) -> str:
    """Addresses of the bus without users and passwords, whatever stands in these: all that is before the last @ of each."""
    addresses = (one.rpartition("://") for one in re.split(r",(?=\w+://)", url))
    return ",".join(f"{scheme}{mark}{rest.rpartition('@')[2]}" for scheme, mark, rest in addresses)


def in_domain(url: str) -> tuple[list[str], str]:
    """The servers of an address of the bus, and the JetStream domain that is named behind the last of them; empty without one.

    Raises `LogUnavailable` for a name that no domain has.
    """
    *before, last = url.split(",")
    scheme, mark, rest = last.rpartition("://")
    server, _, domain = rest.partition("/")
    if domain and not re.fullmatch(SITE_NAME, domain):
        problem = (
            "its user or password holds a /: write it as %2F"
            if "@" in domain
            else f"/{domain} names no JetStream domain: write small letters, digits and -, as in nats://HOST:PORT/east"
        )
        raise LogUnavailable(stream=without_password(url), problem=problem)
    return [*before, f"{scheme}{mark}{server}"], domain


SITE_NAME = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
"""What a site, and its JetStream domain, may be called."""


async def connect(
    url: str,
    *,
    name: str = "kuelog",
    replicas: int = 1,
    max_bytes: int = 4 * _GIB,
    patience: float = 10.0,
    waiting: Callable[[str], object] | None = None,
) -> JetStreamBus:
    """Connect, and reconnect for ever. Raises `LogUnavailable` when the bus does not answer at first.

    `nats://HOST:PORT/DOMAIN` asks a site behind that server: its own streams, by its JetStream domain. `tls://` is encrypted or nothing.
    `waiting` is told the address once it has been waited for; who gives it is there to ask again, and is not kept where nobody listens.
    """
    (addresses, domain), where = in_domain(url), without_password(url)
    client = Connection(domain)
    believes = believed(addresses, where)
    looks: asyncio.TimerHandle | None = None
    try:
        async with asyncio.timeout(patience) as limit:
            if waiting is not None:
                look = partial(_look, limit, client, addresses, partial(waiting, where))
                looks = asyncio.get_running_loop().call_later(_SOON_S, look)
            await client.begin(addresses, name=name, believes=believes)
    except (TimeoutError, OSError, Error) as problem:
        raise not_taken(client, where) or unavailable(where, client.broken_by or problem) from problem
    finally:
        if looks is not None:
            looks.cancel()
    return JetStreamBus(client, replicas=replicas, max_bytes=max_bytes, address=url)


def _look(limit: asyncio.Timeout, client: Connection, addresses: list[str], tell: Callable[[], object]) -> None:
    """Somebody waits for a connection: have it end where the only server is none, or tell what is waited for."""
    if len(addresses) == 1 and isinstance(client.broken_by, ConnectionRefusedError):
        limit.reschedule(asyncio.get_running_loop().time())
    else:
        tell()


__all__ = ["JetStreamBus", "connect", "subjects_of", "without_password"]
