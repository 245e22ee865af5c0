"""Reads a partition and its facts for the counters, in the canonical order: what each commit rests on, then what it says."""

import asyncio
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from events.commit import Commit, Sighting
from events.event import Millis
from events.hash_chain import bytes_hash
from events.subjects import FACTS, is_for
from ops.production.archive.history import end_of
from projections.counters.queue_counters import QueueCounters
from services.runtime.control_log import Control
from services.runtime.log_port import Entry, Stream
from services.runtime.partition.errors import MessageHalts
from services.runtime.partition.stored_message import Passed, open_message


class CountedPlace(NamedTuple):
    """How far was counted."""

    base: int = 0
    """The last commit."""
    upto: int = 0
    """The last fact before it."""
    at: Millis = 0
    """When the commit was made."""


class CountersReader:
    """Counters as of a commit, and the facts that came since."""

    def __init__(
        self,
        own: Stream,
        facts: Stream,
        control: Control,
        counters: QueueCounters,
        place: CountedPlace,
        reader: str = "",
    ) -> None:
        """`reader`: who reads, on a log of several partitions; facts for others alone are left out."""
        self.counters = counters
        self.base, self.upto, self.at = place
        self.sha256 = ""
        """Of the bytes of that commit, if it was folded here."""
        self.caught_up = asyncio.Event()
        """Set when everything is folded that was there at the start."""
        self._own, self._facts, self._control, self._reader = own, facts, control, reader
        self._commits: deque[Entry] = deque()
        self._sightings: deque[Entry] = deque()
        self._heard, self._awaited = place.upto, 0
        """How far FACTS was heard, what is for others included, and how far the next commit asks for."""
        self._news = asyncio.Event()

    async def run(self) -> None:
        """Read on until cancelled. Raises `MessageHalts` and what following a stream raises."""
        ends = await end_of(self._own), await end_of(self._facts)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._hear_commits())
            tasks.create_task(self._hear_facts())
            while True:
                if self._fold_next():
                    # A long log is folded between what the services do.
                    await asyncio.sleep(0)
                    continue
                if (
                    self._heard < max(self._awaited, 0 if self.caught_up.is_set() else ends[1])
                    and await self._pass_over()
                ):
                    continue
                if self.base >= ends[0] and self._heard >= ends[1]:
                    self.caught_up.set()
                await self._news.wait()
                self._news.clear()

    @contextmanager
    def ahead(self) -> Generator[QueueCounters]:
        """The counters with the facts that came since the last commit, for as long as nothing else happens."""
        with self.counters.trail.trial():
            with suppress(MessageHalts):
                for entry in self._sightings:
                    self._fold_fact(entry)
            yield self.counters

    async def _hear_commits(self) -> None:
        async for batch in self._own.follow(self.base):
            self._commits.extend(batch)
            self._news.set()

    async def _hear_facts(self) -> None:
        async for batch in self._facts.follow(self.upto, self._reader):
            self._sightings.extend(batch)
            self._heard = max(self._heard, batch[-1].sequence)
            self._news.set()

    async def _pass_over(self) -> bool:
        """Learn how far nothing is for this partition of what was not heard; whether that is any farther."""
        heard = self._heard
        free = await self._facts.nothing_for(heard, self._reader) if self._reader else heard
        # What was heard meanwhile lies behind it.
        self._heard = max(self._heard, free)
        return self._heard > heard

    def _fold_next(self) -> bool:
        """Fold the next commit; False when it is not there yet, or something that it rests on."""
        if not self._commits:
            return False
        entry = self._commits[0]
        found = open_message(entry, self._control)
        if not isinstance(found, Passed) and isinstance(found.message, Commit) and not self._fold(found.message, entry):
            return False
        self._commits.popleft()
        self.base, self.sha256 = entry.sequence, bytes_hash(entry.data)
        self.counters.settle()
        return True

    def _fold(self, commit: Commit, entry: Entry) -> bool:
        upto = max((run.upto for run in commit.inputs if run.stream == FACTS), default=0)
        self._awaited = upto
        if upto > self._heard:
            return False
        while self._sightings and self._sightings[0].sequence <= upto:
            self._fold_fact(self._sightings.popleft())
        self.upto = max(self.upto, upto)
        self.at = max(commit.at, self.at)
        number = self._control.number(entry.stream, entry.sequence)
        self.counters.fold_commit(commit.author, commit.events, self.at, number)
        return True

    def _fold_fact(self, entry: Entry) -> None:
        found = open_message(entry, self._control)
        here = is_for(entry.subject, self._reader)
        if here and not isinstance(found, Passed) and isinstance(found.message, Sighting):
            self.counters.fold_sighting(found.message)
