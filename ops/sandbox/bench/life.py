"""A log of a long life, written onto a real bus through the deciders of production, and rolled whenever a stream is large.

Days pass in virtual time, without waiting. What the deciders say is appended on the condition that production appends on; worlds
and the watcher's view are saved, the log is witnessed, rolled and archived by the code that does so in production.
"""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from events.event import Millis
from events.rules import RULES
from events.subjects import CONTROL, FACTS
from ops.production.archive.archivist import ARCHIVE, Archivist, RollLimits
from ops.production.archive.proof.witness import HeadWitness
from ops.production.log.control import say
from ops.production.log.jetstream.bus import JetStreamBus
from ops.production.log.jetstream.generations import generations
from ops.production.log.jetstream.shelf import WATCHER
from ops.production.log.snapshots import EVERY, Snapshots
from ops.production.log.streams import SOLE
from ops.queries.whatif.run import VirtualRun
from ops.sandbox.bench.day import DAY
from ops.sandbox.bench.life_load import PER_DAY, LifeStage, life_day, life_platform, life_prices
from ops.sandbox.bench.life_start import view_saver
from ops.sandbox.bench.partitions import WrittenPartitions
from ops.sandbox.bench.problems import NotRolled
from services.runtime.log_port import Entry, Message, Stream
from services.watcher.saved_view import ViewSaver

Progress = Callable[[int, int], None]
"""Hears how many workloads of how many have arrived."""
_TURNS, _STEP = 20, 10_000
_WINDOW = 64
"""So many commits are under way at once."""
_LOOK = 25_000
"""After so many messages the log is witnessed, and rolled where it is time; of a short life sooner."""


class Written(msgspec.Struct, kw_only=True):
    """What was written."""

    workloads: int
    messages: dict[str, int] = {}
    bytes: dict[str, int] = {}
    """Of the messages as they are stored, without what the server and the archive add."""
    rolls: dict[str, int] = {}
    """How often each stream was rolled."""
    living: int = 0
    """Workloads that are there at the end."""
    write_s: float = 0
    care_s: float = 0
    """Of that, for witnessing, rolling, archiving and proving."""
    longest_roll_s: float = 0


class LifeWriter:
    """Writes one life into a folder that looks as `kuelog up` leaves it."""

    def __init__(self, bus: JetStreamBus, folder: Path, *, roll_size: int) -> None:
        self._bus, self._folder = bus, folder
        self._pending: list[Entry] = []
        self._streams: dict[str, Stream] = {}
        self._witness = HeadWitness(folder / "witness")
        self._archivist = Archivist(
            bus,
            witness=folder / "witness",
            archive=str(folder / ARCHIVE),
            shelf=bus.shelf,
            watcher=WATCHER,
            limits=RollLimits(bytes=roll_size),
        )
        self._since = 0
        self._views: ViewSaver | None = None

    async def write(self, workloads: int, *, seed: int, now: Millis, on_progress: Progress) -> Written:
        """Write so many workloads, the last of which arrived a moment ago. Raises `LogUnavailable`."""
        began = time.monotonic()
        written = Written(workloads=workloads, messages={}, bytes={}, rolls={})
        self._streams = {name: await self._bus.stream(name) for name in SOLE.witnessed}
        await self._bus.shelf.prepare()
        self._views = view_saver(self._streams[FACTS], self._bus.shelf)
        per_day = min(PER_DAY, max(workloads * 5, 1))
        snapshots = Snapshots(None, RULES, self._bus.shelf, every=min(EVERY, max(workloads // 40, 10)))
        stage = LifeStage(WrittenPartitions(self._pending.append, mark=snapshots.mark, keepers=(snapshots.settled,)))
        days = -(-workloads // per_day)
        at = (now // DAY - 2 * days) * DAY
        for fact in life_platform(per_day):
            stage.observe(fact, at)
        await say(self._streams[CONTROL], life_prices(at), at)
        for day in range(days):
            count = min(per_day, workloads - day * per_day)
            course = life_day(day, count, per_day, seed, at)
            run = VirtualRun(stage, course, course.happenings, at=at, step=_STEP)
            # The last day is left in its midst: some wait, some run, some have just ended.
            while run.go_on(_TURNS) and (day < days - 1 or run.over < count):
                await self._store(written)
                await snapshots.share()
                on_progress(day * per_day + run.over, workloads)
                if self._since >= min(_LOOK, workloads // 2):
                    await self._look(written)
            at = run.now
        await self._store(written)
        await snapshots.share()
        await self._look(written)
        written.living = len(stage.world.workloads)
        written.write_s = time.monotonic() - began
        return written

    async def _store(self, written: Written) -> None:
        """Facts first: a commit rests on what was stored before it."""
        for entry in self._pending:
            written.messages[entry.stream] = written.messages.get(entry.stream, 0) + 1
            written.bytes[entry.stream] = written.bytes.get(entry.stream, 0) + len(entry.data)
        facts = [Message(one.subject, one.data, one.message_id) for one in self._pending if one.stream == FACTS]
        await self._streams[FACTS].publish(facts)
        commits = [one for one in self._pending if one.stream != FACTS]
        for start in range(0, len(commits), _WINDOW):
            # One connection keeps their order: of each the condition is that the one sent before it stands.
            await asyncio.gather(*(self._append(one) for one in commits[start : start + _WINDOW]))
        self._since += len(self._pending)
        self._pending.clear()

    async def _append(self, one: Entry) -> None:
        stream = self._streams[one.stream]
        await stream.append(one.subject, one.data, message_id=one.message_id, base=one.sequence - 1)

    async def _look(self, written: Written) -> None:
        began = time.monotonic()
        self._since = 0
        if self._views is not None:
            await self._views.save()
        for name in SOLE.witnessed:
            await self._witness.check(self._streams[name])
            await self._witness.witness(self._streams[name])
        before = time.monotonic()
        rolled = await self._rolled()
        await self._archivist.look(0)
        if self._archivist.problem:
            raise NotRolled(self._archivist.problem)
        after = time.monotonic()
        fresh = [name for name, count in (await self._rolled()).items() if count > rolled[name]]
        for name in fresh:
            written.rolls[name] = written.rolls.get(name, 0) + 1
            written.longest_roll_s = max(written.longest_roll_s, after - before)
        written.care_s += after - began

    async def _rolled(self) -> dict[str, int]:
        """The sequence with which the stream begins that takes in now: it grows with every roll."""
        found: dict[str, int] = {}
        for name in SOLE.rolled:
            found[name] = max((one.first for one in await generations(self._bus.client, name)), default=1)
        return found
