"""The archivist: streams that are large or old enough are rolled, archived, and removed once nobody needs them any more.

It works where the witness is, because only what was signed is archived. An old stream goes only when its archive was read
again right before and proved under the checkpoint that stands in it, and when every partition and the watcher can begin behind it.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import msgspec
import structlog

from events.event import Millis
from events.subjects import CONTROL, FACTS
from ops.production.archive.errors import ArchiveDamaged, ArchiveOfAnotherLog, FolderUnreadable, LogDiffers
from ops.production.archive.proof.evidence import load_evidence
from ops.production.archive.proof.witness import HeadWitness
from ops.production.log.beginnings import check_beginnings
from ops.production.log.jetstream.bus import JetStreamBus
from ops.production.log.jetstream.copies import check_copied
from ops.production.log.jetstream.generations import Generation, generations
from ops.production.log.jetstream.rolling import StillNeeded, finish, remove, roll
from ops.production.log.jetstream.shelf import WATCHER
from ops.production.log.streams import streams_known, streams_on
from services.runtime.clock_port import Clock
from services.runtime.control_log import Control, read_control
from services.runtime.log_errors import LogGap, LogUnavailable, UnsafeStream
from services.runtime.shelf_port import Shelf

log = structlog.get_logger()

ARCHIVE = "archive"
"""The folder beside the log that a run archives to."""
EVERY_MS: Millis = 10_000
_PER_DAY = 86_400_000
_SHARE = 4
"""A stream is rolled when it fills this part of what it may hold, where nobody says otherwise."""


class RollLimits(msgspec.Struct, frozen=True, kw_only=True):
    """When a stream is rolled."""

    bytes: int = 0
    """At this size; a quarter of what the stream may hold when 0."""
    days: int = 0
    """At this age of its first message; at any age when 0."""
    copied: bool = False
    """Whether the log is that of a site whose hub keeps a copy: nothing is removed that is not copied (docs/rules/log.md#copies)."""


class Archivist:
    """Looks after the length of the log."""

    def __init__(
        self,
        bus: JetStreamBus,
        *,
        witness: Path,
        archive: str,
        shelf: Shelf,
        watcher: str,
        limits: RollLimits | None = None,
    ) -> None:
        self._bus, self._witness, self._archive = bus, witness, archive
        self._shelf, self._watcher, self._limits = shelf, watcher, limits or RollLimits()
        self.problem = ""
        """Why the last look came to nothing; empty when all is well."""
        self.kept: dict[str, str] = {}
        """Per stream why what was rolled of it is still there."""
        self._logged = ""
        self._proved: dict[str, int] = {}
        """Per stream how far its archive was read again and proved."""

    async def run(self, clock: Clock, signed: Callable[[], bool] = lambda: True) -> None:
        """Look every so often, until cancelled."""
        while True:
            await clock.sleep(EVERY_MS)
            if signed():
                await self.look(clock.now())

    async def sign(self) -> None:
        """Have the witness sign all that there is, where no service does. Raises `LogRegressed`, `LogUnavailable`, `FolderUnusable`."""
        witness = HeadWitness(self._witness)
        for name in (await streams_on(self._bus)).witnessed:
            await witness.sign(await self._bus.stream(name))

    async def look(self, now: Millis, *, force: bool = False) -> None:
        """Do what is due; what can't be done now is in `problem` and in the log lines, and tried again the next time."""
        try:
            streams = await streams_on(self._bus)
        except (LogGap, LogUnavailable) as found:
            self._tell(str(found))
            return
        problem = ""
        for stream in streams.rolled:
            self.kept.pop(stream, None)
            try:
                await self._look_at(stream, now, force=force)
            except StillNeeded as needed:
                self.kept[stream] = str(needed)
            except (
                ArchiveDamaged,
                ArchiveOfAnotherLog,
                FolderUnreadable,
                LogDiffers,
                LogGap,
                LogUnavailable,
                OSError,
                UnsafeStream,
            ) as found:
                problem = problem or str(found)
        self._tell(problem)

    def _tell(self, problem: str) -> None:
        self.problem = problem
        if problem != self._logged:
            self._logged = problem
            if problem:
                log.error("not archived", problem=problem)

    async def _look_at(self, stream: str, now: Millis, *, force: bool) -> None:
        standing = await generations(self._bus.client, stream)
        if all(one.takes_in for one in standing):
            if not standing or not (force or self._due(standing[-1], now)):
                return
            await roll(self._bus, stream)
        upto = await finish(self._bus, stream)
        standing = await generations(self._bus.client, stream)
        old = next((one for one in standing if not one.takes_in), None)
        if old is None:
            return
        proved_now = await self._archive_upto(stream, old)
        await self._check_beginnings(stream, upto)
        if self._limits.copied:
            await check_copied(self._bus, stream)
        if not proved_now:
            # It may have waited here for days since then, and is about to be in the archive alone.
            del self._proved[stream]
            await self._archive_upto(stream, old)
        await remove(self._bus, stream)

    def _due(self, one: Generation, now: Millis) -> bool:
        if one.last < one.first:
            return False
        size = self._limits.bytes or one.limit // _SHARE
        if size and one.bytes >= size:
            return True
        return bool(self._limits.days) and now - _millis(one.begun) >= self._limits.days * _PER_DAY

    async def _archive_upto(self, stream: str, old: Generation) -> bool:
        """Have it archived and proved; whether that was done only now."""
        if self._proved.get(stream, 0) >= old.last:
            return False
        from ops.production.archive.archive import check_proofs  # noqa: PLC0415 - until a stream is rolled nobody needs Parquet

        files, pinned = await self._copy_upto(stream, old)
        await asyncio.to_thread(check_proofs, self._archive, stream, old.first, old.last, pinned)
        self._proved[stream] = old.last
        log.info("archived", stream=stream, upto=old.last, files=files, archive=self._archive)
        return True

    async def _copy_upto(self, stream: str, old: Generation) -> tuple[int, set[str]]:
        """How many files were written, and the keys that count; the leaves of the log are let go behind it."""
        from ops.production.archive.archive import archive_signed  # noqa: PLC0415

        evidence = await asyncio.to_thread(load_evidence, str(self._witness))
        head = evidence.heads.get(stream)
        if head is None or head.sequence < old.last:
            raise StillNeeded(stream, "its end is not signed yet")
        fresh = await archive_signed(self._bus, evidence, self._archive)
        return len(fresh), {one.id for one in evidence.keys}

    async def _check_beginnings(self, stream: str, upto: int) -> None:
        """A service that starts anew has to find a saved world behind what goes. Raises `StillNeeded`."""
        control = Control()
        await read_control(await self._bus.stream(CONTROL), control)
        keys = (*streams_known(control).partitions, *((self._watcher,) if stream == FACTS else ()))
        await check_beginnings(self._bus, self._shelf, keys, stream, upto, control)


def archivist_of(
    bus: JetStreamBus,
    data: Path,
    *,
    archive: str = "",
    witness: Path | None = None,
    limits: RollLimits | None = None,
) -> Archivist:
    """The archivist of a folder in which a run keeps its witness, and its archive where none is named."""
    return Archivist(
        bus,
        witness=witness or data / "witness",
        archive=archive or str(data / ARCHIVE),
        shelf=bus.shelf,
        watcher=WATCHER,
        limits=limits,
    )


def _millis(begun: str) -> Millis:
    return int(datetime.fromisoformat(begun).timestamp() * 1000) if begun else 0
