"""The log as it was at a moment, folded in a thread of its own: the same questions as `kuelog … --at`."""

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from typing import TypeVar

from events.rules import RULES
from events.subjects import CONTROL
from ops.console.kept_answers import AnswersByPlace
from ops.console.past_worlds import PastWorlds
from ops.console.workload_list import WorkloadList
from ops.production.archive.history import Paged, end_of
from ops.production.archive.paged_history import Waits, open_everything
from ops.production.log.streams import streams_in
from ops.queries.explaining import world_about
from ops.queries.log_places import LogPlaces
from ops.queries.log_times import LogTimes
from ops.queries.point import NotOnTheLog, Point, is_sequence, point_at
from ops.queries.time_travel import WorldAt, span
from projections.explanation.read_models import WorkloadRow, workload_rows
from projections.world import World
from services.runtime.control_log import Control
from services.runtime.log_port import Bus, Entry

T = TypeVar("T")
_TAGS = 10_000
"""Tags of places that are kept."""


class Recorded:
    """The log up to a moment; what is folded of it is folded when it is first asked for."""

    def __init__(self, point: Point, text: str, log: Paged, recordings: "Recordings") -> None:
        self.point, self.text, self._log, self._recordings = point, text, log, recordings
        self._streams = streams_in(log)
        self._world: World | None = None

    @property
    def times(self) -> LogTimes:
        """When the messages of the log were made."""
        return self._recordings.times(self._log)

    def world(self) -> World:
        """The world of the partitions of trees."""
        if self._world is None:
            self._world = self.world_about("")
        return self._world

    def world_about(self, wanted: str) -> World:
        """The world of the partition that decides about an object of a canonical name."""
        worlds, point = self._recordings.worlds, self.point
        folded = [worlds.world(name, point.entries, point.at) for name in self._streams.trees]
        return world_about(folded, wanted, point.at)

    def rows(self) -> Sequence[WorkloadRow]:
        """All workloads of that world."""
        return workload_rows(self.world())

    def listed(self) -> WorkloadList:
        """The same, in any order."""
        return WorkloadList(self.rows())

    def places(self) -> LogPlaces:
        """Who has written what of it: of the log as it is now, only what has come since the last time is read for it."""
        controls = self.point.entries[CONTROL]
        return LogPlaces(Control(controls)) if self.text else self._recordings.places(controls)

    def cards(self) -> WorldAt:
        """The accountant's world; where the moment is a sequence, as of the last message before it."""
        at = span(self.point.entries)[1] if is_sequence(self.text) else self.point.at
        world = self._recordings.worlds.world(self._streams.pool, self.point.entries, at)
        return WorldAt(world=world, at=at, began=self.times.span()[0], upto=self.point.upto, since={})

    @property
    def settled(self) -> bool:
        """Whether nothing that is stored later can change an answer: each stream goes on behind the moment."""
        if self.point.ended or not self.text:
            return False
        behind = (len(self._log[name]) > len(self.point.entries[name]) for name in self._log if name != CONTROL)
        return is_sequence(self.text) or all(behind)

    @property
    def identity(self) -> str:
        """The log, what is skipped of it, the rules and the version: settled answers of the same ones never differ."""
        return self._recordings.identity(self._log)

    @property
    def place(self) -> tuple[object, ...]:
        """What two answers have in common that can't differ, as far as this process has read the log."""
        return self.identity, self.point.at, self.point.ended, self.text, tuple(sorted(self.lengths.items()))

    @property
    def lengths(self) -> dict[str, int]:
        """How many messages of each stream there are up to the moment: the last one has that sequence."""
        return {name: len(found) for name, found in self.point.entries.items() if name != CONTROL}

    @property
    def tag(self) -> str:
        """What two answers have in common that can't differ: the log, the moment, and the last messages before it."""
        return self._recordings.tag(self)


class Recordings:
    """Answers questions about past moments, one at a time, beside what happens now."""

    def __init__(self, bus: Bus, archive: str = "", worlds: PastWorlds | None = None) -> None:
        self._bus, self._archive = bus, archive
        self.worlds = worlds or PastWorlds()
        self.answers = AnswersByPlace()
        self._log: Paged | None = None
        """The log as it was read last: what is settled in it need not be read again."""
        self._times: LogTimes | None = None
        self._places: LogPlaces | None = None
        self._tags: dict[tuple[object, ...], str] = {}
        self._identity: tuple[tuple[int, ...], str] = ((), "")
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="recordings")

    def times(self, log: Paged) -> LogTimes:
        """The times of the log, as far as anybody has asked."""
        if self._times is None:
            self._times = LogTimes(log)
        return self._times

    def places(self, controls: Sequence[Entry]) -> LogPlaces:
        """Who has written what, as far as anybody has asked."""
        if self._places is None:
            self._places = LogPlaces(Control(controls))
        return self._places

    def identity(self, log: Paged) -> str:
        """The log, what is skipped of it, the rules and the version."""
        known = len(log[CONTROL]), *(min(len(entries), 1) for entries in log.values())
        if self._identity[0] != known:
            found = hashlib.sha256(f"{version('kuelog')} {RULES}".encode())
            for name, entries in sorted(log.items()):
                for entry in entries if name == CONTROL else entries[:1]:
                    found.update(f"{name} {len(entry.data)} ".encode() + entry.data)
            self._identity = known, found.hexdigest()[:16]
        return self._identity[1]

    def tag(self, of: Recorded) -> str:
        """The tag of a place, for which its last messages are read once."""
        if of.place not in self._tags:
            found = hashlib.sha256(f"{of.identity} {of.point.at} {of.text}".encode())
            for name, entries in sorted(of.point.entries.items()):
                found.update(f"{name} {len(entries)} ".encode())
                found.update(entries[-1].data if entries else b"")
            while len(self._tags) >= _TAGS:
                self._tags.pop(next(iter(self._tags)))
            self._tags[of.place] = found.hexdigest()[:32]
        return self._tags[of.place]

    async def ask(self, text: str, question: Callable[[Recorded], T]) -> T:
        """What the question finds at the moment that a text names, or now. Raises what reading the log raises, and `BadTime`."""
        return await self._aside(lambda wait: question(self._recorded(wait, text)))

    async def compare(self, before: str, after: str, question: Callable[[Recorded, Recorded], T]) -> T:
        """What the question finds between two moments; an empty one is now. Raises what `ask` raises."""
        return await self._aside(lambda wait: question(self._recorded(wait, before), self._recorded(wait, after)))

    def close(self) -> None:
        """Begin nothing more."""
        self._thread.submit(self.worlds.close)
        self._thread.shutdown(wait=False)

    async def _aside(self, asked: Callable[[Waits], T]) -> T:
        loop = asyncio.get_running_loop()
        wait = Waits(lambda what: asyncio.run_coroutine_threadsafe(what, loop).result())

        def answered() -> T:
            try:
                return asked(wait)
            finally:
                self.worlds.answered()

        return await loop.run_in_executor(self._thread, answered)

    def _recorded(self, wait: Waits, text: str) -> Recorded:
        known = self._log
        if text and known is not None and wait(_end(self._bus, CONTROL)) == len(known[CONTROL]):
            try:
                found = self._at(known, text)
            except NotOnTheLog:
                found = None
            if found is not None and found.settled:
                return found
        log = open_everything(wait, self._bus, self._archive)
        if known is None or self.identity(log) != self.identity(known):
            # Other messages count now: nothing that was folded or timed does.
            self._times = self._places = None
            self.worlds.forget()
        else:
            self.times(known).follow(log)
        self._log = log
        return self._at(log, text)

    def _at(self, log: Paged, text: str) -> Recorded:
        return Recorded(point_at(log, text, self.times(log)), text, log, self)


async def _end(bus: Bus, name: str) -> int:
    return await end_of(await bus.stream(name))
