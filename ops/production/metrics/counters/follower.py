"""Keeps the counters of one partition in step with the log, and saves them on the shelf, so that they go on where they were.

What is saved is folded from the log and nothing else, and names the commit that it goes up to by place and hash: of another log
it does not count. Without it the log is counted from its beginning; where that was rolled, workloads are taken from a saved world.
"""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager

import msgspec
import structlog

from events.event import Millis
from events.hash_chain import bytes_hash
from events.subjects import FACTS, reader_of
from ops.production.archive.history import begins_at_one, end_of
from ops.production.log.jetstream.shelf import counters_of
from ops.production.metrics.counters.reader import CountedPlace, CountersReader
from ops.production.wiring import Running
from projections.counters.counted_in_world import counted_in
from projections.counters.counted_so_far import CountedSoFar
from projections.counters.queue_counters import QueueCounters
from services.runtime.log_errors import LogGap, LogUnavailable
from services.runtime.log_port import Stream

log = structlog.get_logger()

EVERY = 5_000
"""They are saved after so many commits, or after ten looks, if there was any."""
_LOOK_MS: Millis = 30_000
_LOOKS = 10
_AGAIN_MS: Millis = 60_000


class SavedCounters(msgspec.Struct, frozen=True, kw_only=True):
    """What was counted up to a commit."""

    base: int
    sha256: str
    """Of the bytes of that commit."""
    upto: int
    """The last fact before it."""
    at: Millis
    counted: CountedSoFar


class CountersFollower:
    """Counts what is decided in a partition while the services of this process run."""

    def __init__(self, running: Running, partition: str) -> None:
        self.partition = partition
        self._running = running
        self._told: CountersReader | None = None
        self._saved = 0
        self._away: frozenset[str] = frozenset()
        """The namespaces that other partitions decide about, as far as was looked."""
        self.problem = ""
        """Why it goes on no further at the moment; empty while it does."""

    @property
    def caught_up(self) -> bool:
        """Whether everything was counted that was there at the start."""
        return self._told is not None

    @contextmanager
    def ahead(self) -> Generator[QueueCounters | None]:
        """What was counted, as of now; None until it has caught up."""
        if self._told is None:
            yield None
            return
        with self._told.ahead() as counters:
            yield counters

    async def run(self) -> None:
        """Count until cancelled; what can't be read now is tried again."""
        while True:
            try:
                await self._count()
            except* Exception as found:  # noqa: BLE001 - whatever keeps it from counting, the services go on
                problem = str(_first(found))
                if problem != self.problem:
                    log.warning("not counted", problem=problem)
                self.problem = problem
            await self._running.ports.clock.sleep(_AGAIN_MS)

    async def _count(self) -> None:
        reader = await self.begin()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(reader.run())
            await reader.caught_up.wait()
            self._told, self.problem = reader, ""
            await self._save_now_and_then(reader)

    async def begin(self) -> CountersReader:
        """Where counting goes on: at what was saved, at the beginning of the log, or in a saved world."""
        own, facts = await self._running.stream(self.partition), await self._running.stream(FACTS)
        counters, control = QueueCounters(self.partition), self._running.control
        saved, lineage = await self._newest(own), control.lineage(self.partition)
        reader = reader_of(lineage) if len(self._running.streams.trees) > 1 else ""
        if saved is not None:
            self._saved = saved.base
            if await _stands(own, saved.base) and (not saved.upto or await _stands(facts, saved.upto)):
                counters.begin_at(saved.counted)
                place = CountedPlace(saved.base, saved.upto, saved.at)
                return CountersReader(own, facts, control, counters, place, reader)
        elif len(lineage) == 1 and await _whole(own) and await _whole(facts):
            return CountersReader(own, facts, control, counters, CountedPlace(), reader)
        fold = await self._running.begin(own)
        if fold.heirs:
            # What its history begins with was counted where it was decided.
            host = self._running.hosts[self.partition]
            await host.caught_up.wait()
            fold = host.fold
        counters.begin_at(counted_in(fold.world, None if saved is None else saved.counted))
        log.info("counted on from a world", partition=self.partition, sequence=fold.base, counted_to=self._saved)
        place = CountedPlace(fold.base, fold.position(FACTS), fold.at)
        return CountersReader(own, facts, control, counters, place, reader)

    async def save(self, reader: CountersReader) -> None:
        """Bring what was counted up to the last commit to the shelf. Raises `LogUnavailable`."""
        shelf = self._running.ports.shelf
        if shelf is None or not reader.sha256 or reader.base <= self._saved:
            return
        saved = SavedCounters(
            base=reader.base,
            sha256=reader.sha256,
            upto=reader.upto,
            at=reader.at,
            counted=reader.counters.so_far(),
        )
        await shelf.put(
            counters_of(self.partition),
            [msgspec.json.encode(saved)],
            upto={self.partition: saved.base, FACTS: saved.upto},
            rules="",
        )
        self._saved = saved.base

    async def _save_now_and_then(self, reader: CountersReader) -> None:
        looks = 0
        while True:
            await self._running.ports.clock.sleep(_LOOK_MS)
            looks += 1
            self._let_go(reader)
            if reader.base - self._saved >= EVERY or looks >= _LOOKS:
                looks = 0
                try:
                    await self.save(reader)
                except LogUnavailable as problem:
                    log.warning("counters not saved", problem=str(problem))

    def _let_go(self, reader: CountersReader) -> None:
        """What has moved into another partition is counted there."""
        host = self._running.hosts.get(self.partition)
        if host is None or reader.base < host.fold.base:
            return  # It knows of moves that are not counted up to yet.
        homes = host.fold.world.namespace_homes.items()
        away = frozenset(name for name, home in homes if home not in ("", self.partition))
        if away != self._away:
            reader.counters.let_go(away)
            self._away = away

    async def _newest(self, own: Stream) -> SavedCounters | None:
        """The newest that was saved of this log; one whose commit was rolled can't be held against it, and counts."""
        shelf = self._running.ports.shelf
        if shelf is None:
            return None
        for label in await shelf.labels(counters_of(self.partition)):
            data = await shelf.take(label)
            try:
                saved = msgspec.json.decode(data or b"", type=SavedCounters)
            except msgspec.MsgspecError as problem:
                log.warning("saved counters passed over", why=str(problem))
                continue
            if saved.base <= await end_of(own) and await _hash_at(own, saved.base) in ("", saved.sha256):
                return saved
        return None


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """One of the errors of a group, however deep it lies."""
    found = group.exceptions[0]
    return _first(found) if isinstance(found, BaseExceptionGroup) else found


async def _hash_at(stream: Stream, sequence: int) -> str:
    """The hash of what stands there; empty where nothing does."""
    try:
        return bytes_hash((await stream.get(sequence)).data)
    except LogGap:
        return ""


async def _stands(stream: Stream, sequence: int) -> bool:
    return bool(await _hash_at(stream, sequence))


async def _whole(stream: Stream) -> bool:
    """Whether a stream holds all that was ever stored in it."""
    return await end_of(stream) == 0 or await begins_at_one(stream)
