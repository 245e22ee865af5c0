"""How far this process has folded each stream, and how far that lags behind the bus, which is asked before each scrape."""

import asyncio

import msgspec

from events.event import Millis
from events.subjects import DEVICES, FACTS, LOG
from ops.production.served import SERVICES, VERIFIER
from ops.production.wiring import Running
from services.runtime.control_log import AHEAD
from services.runtime.log_errors import LogGap, LogUnavailable
from services.runtime.log_port import Stream
from services.runtime.partition.host import PartitionHost

_OF_CARDS = ("accountant",)
_FOLD_NOTHING = ("watcher",)
FOLDING = {
    LOG: (*(one for one in SERVICES if one not in (*_FOLD_NOTHING, *_OF_CARDS)), "visibility", VERIFIER),
    DEVICES: (*_OF_CARDS, VERIFIER),
}
"""The services that read the fold of a partition, by the family of its stream."""
_DEADLINE_S = 2.0


class FoldPosition(msgspec.Struct, frozen=True, kw_only=True):
    """How far one stream is folded for one partition."""

    partition: str
    stream: str
    folded: int
    """The last sequence that is folded."""
    last: int | None = None
    """The last sequence of the stream; None when the bus did not answer."""
    age: Millis | None = None
    """How long ago the first message that is not folded was stored; None when there is none, or it is not known."""


class FoldPositions(msgspec.Struct, frozen=True, kw_only=True):
    """The positions of all partitions of this process, and how its clock compares with the bus's."""

    positions: tuple[FoldPosition, ...] = ()
    clock_skew: Millis | None = None
    """How far the clock of this machine is ahead of the bus's, negative behind it; None when the bus did not answer."""


async def fold_positions(running: Running) -> FoldPositions:
    """The positions now. The bus has two seconds to answer, or only what is folded is known.

    Each stream is asked for its end once, however many partitions fold it, and only where one lags for a message more.
    """
    folded = tuple(_folded(running))
    try:
        async with asyncio.timeout(_DEADLINE_S):
            return await _asked(running, folded)
    except (LogUnavailable, TimeoutError):
        return FoldPositions(positions=folded)


def _folded(running: Running) -> list[FoldPosition]:
    found: list[FoldPosition] = []
    for partition, host in sorted(running.hosts.items()):
        found.append(FoldPosition(partition=partition, stream=host.own.name, folded=_own(host)))
        found += [
            FoldPosition(partition=partition, stream=one.name, folded=host.fold.position(one.name))
            for one in host.inputs
        ]
    return found


async def _asked(running: Running, folded: tuple[FoldPosition, ...]) -> FoldPositions:
    """How far each fold of a process is behind its stream. Raises `LogUnavailable`."""
    streams = running.asked_once
    if FACTS not in streams:
        return FoldPositions(positions=folded)
    now = await streams[FACTS].now()
    last = {name: (await streams[name].last()).sequence for name in sorted({one.stream for one in folded})}
    positions = [await _compared(running, streams[one.stream], one, last[one.stream], now) for one in folded]
    latest = running.control.latest(now)
    skew = None if latest is None else running.ports.clock.now() - (latest - AHEAD)
    return FoldPositions(positions=tuple(positions), clock_skew=skew)


def _own(host: PartitionHost) -> int:
    """How far the partition itself is folded: not at all while a fork folds what it has of the history of others."""
    return 0 if host.fold.heirs else host.fold.base


async def folded_to(host: PartitionHost, stream: str) -> int:
    """How far a stream is folded; facts that are for other partitions alone are nothing to wait for. Raises `LogUnavailable`."""
    if stream == host.own.name:
        return _own(host)
    if stream == FACTS and host.routed is not None:
        return await host.routed.reached()
    return host.fold.position(stream)


async def _compared(running: Running, stream: Stream, position: FoldPosition, last: int, now: Millis) -> FoldPosition:
    """A position beside the end of its stream. Raises `LogUnavailable`."""
    folded = position.folded
    if folded < last and (host := running.hosts.get(position.partition)) is not None:
        folded = await folded_to(host, position.stream)
    if last <= folded:
        return msgspec.structs.replace(position, folded=folded, last=folded)
    try:
        stored = (await stream.get(folded + 1)).stored
    except LogGap:
        stored = 0  # It was rolled away: the host halts for that, and says so.
    age = max(now - stored, 0) if now and stored else None
    return msgspec.structs.replace(position, folded=folded, last=last, age=age)
