"""Reads a partition and its facts for the counters, in the canonical order: what each commit rests on, then what it says."""

import asyncio
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager, suppress

from events.commit import Commit, Sighting
from events.event import Millis
from events.hash_chain import bytes_hash
from events.subjects import FACTS
from ops.production.archive.history import end_of
from projections.counters.queue_counters import QueueCounters
from services.runtime.control_log import Control
from services.runtime.log_port import Entry, Stream
from services.runtime.partition.errors import MessageHalts
from services.runtime.partition.stored_message import Passed, open_message


class CountersReader:
    """Counters as of a commit, and the facts that came since."""

    def __init__(
        self,
        own: Stream,
        facts: Stream,
        control: Control,
        counters: QueueCounters,
        *,
        base: int = 0,
        upto: int = 0,
        at: Millis = 0,
    ) -> None:
        self.counters = counters
        self.base, self.upto, self.at = base, upto, at
        """The last commit that is folded, the last fact before it, and the time of the commit."""
        self.sha256 = ""
        """Of the bytes of that commit, if it was folded here."""
        self.caught_up = asyncio.Event()
        """Set when everything is folded that was there at the start."""
        self._own, self._facts, self._control = own, facts, control
        self._commits: deque[Entry] = deque()
        self._sightings: deque[Entry] = deque()
        self._news = asyncio.Event()

    async def run(self) -> None:
        """Read on until cancelled. Raises `MessageHalts` and what following a stream raises."""
        ends = await end_of(self._own), await end_of(self._facts)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._hear(self._own, self.base, self._commits))
            tasks.create_task(self._hear(self._facts, self.upto, self._sightings))
            while True:
                if self._fold_next():
                    # A long log is folded between what the services do.
                    await asyncio.sleep(0)
                    continue
                heard = self._sightings[-1].sequence if self._sightings else self.upto
                if self.base >= ends[0] and heard >= ends[1]:
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

    async def _hear(self, stream: Stream, after: int, heard: deque[Entry]) -> None:
        async for batch in stream.follow(after):
            heard.extend(batch)
            self._news.set()

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
        if upto > (self._sightings[-1].sequence if self._sightings else self.upto):
            return False
        while self._sightings and self._sightings[0].sequence <= upto:
            self._fold_fact(self._sightings[0])
            self.upto = self._sightings.popleft().sequence
        self.at = max(commit.at, self.at)
        self.counters.fold_commit(commit.author, commit.events, self.at, entry.sequence)
        return True

    def _fold_fact(self, entry: Entry) -> None:
        found = open_message(entry, self._control)
        if not isinstance(found, Passed) and isinstance(found.message, Sighting):
            self.counters.fold_sighting(found.message)
