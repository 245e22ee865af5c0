"""How far this process has folded each stream, and how far the stream has come: asked of the bus before each scrape."""

import asyncio

import msgspec

from events.event import Millis
from ops.production.wiring import DEVICE_PARTITION, PARTITION, SERVICES, Running
from services.runtime.log_errors import LogGap, LogUnavailable
from services.runtime.log_port import Stream
from services.runtime.partition_host import PartitionHost

_OF_CARDS = ("accountant",)
_NEITHER = ("watcher", *_OF_CARDS)
FOLDING = {
    PARTITION: (*(one for one in SERVICES if one not in _NEITHER), "visibility"),
    DEVICE_PARTITION: _OF_CARDS,
}
"""Which services look at the fold of a partition."""
_ANSWER_S = 2.0


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """How far one stream is folded for one partition."""

    partition: str
    stream: str
    folded: int
    end: int | None = None
    """Its last sequence; None when the bus did not say."""
    waiting: Millis | None = None
    """How long its oldest message that is not folded is stored; None when there is none, or it is not known."""


class Looked(msgspec.Struct, frozen=True, kw_only=True):
    """All of them, and the clocks."""

    places: tuple[Place, ...] = ()
    ahead: Millis | None = None
    """How far the clock of this machine is ahead of the bus's, negative behind it; None when that is not known."""


async def look(running: Running) -> Looked:
    """What the bus says within two seconds; the rest is unknown."""
    places: list[Place] = []
    ahead: Millis | None = None
    for partition, host in sorted(running.hosts.items()):
        bus = 0
        try:
            async with asyncio.timeout(_ANSWER_S):
                bus = await host.own.now()
                ahead = running.ports.clock.now() - bus if bus and ahead is None else ahead
                found = [await _place(partition, host, stream, bus) for stream in (host.own, *host.inputs)]
        except (LogUnavailable, LogGap, TimeoutError):
            found = [_unasked(partition, host, stream) for stream in (host.own, *host.inputs)]
        places += found
    return Looked(places=tuple(places), ahead=ahead)


async def _place(partition: str, host: PartitionHost, stream: Stream, bus: Millis) -> Place:
    end = (await stream.last()).sequence
    known = _unasked(partition, host, stream)
    if known.folded >= end:
        return Place(partition=partition, stream=stream.name, folded=known.folded, end=known.folded)
    stored = (await stream.get(known.folded + 1)).stored
    waiting = max(bus - stored, 0) if bus and stored else None
    return Place(partition=partition, stream=stream.name, folded=known.folded, end=end, waiting=waiting)


def _unasked(partition: str, host: PartitionHost, stream: Stream) -> Place:
    folded = host.fold.base if stream is host.own else host.fold.position(stream.name)
    return Place(partition=partition, stream=stream.name, folded=folded)
