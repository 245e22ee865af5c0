"""The thin shell around deciders: read, fold, decide, append; if somebody wrote first, fold that and decide again.

One host serves one lane, with one decider or several: alone in a process or beside the others, on the same code path.
A decision that the log has not acknowledged has not happened; nothing is pipelined (log-engineering §0.4).
"""

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import structlog

from events.catalogue import Decision
from events.codec import encode
from events.commit import Commit, InputRun
from events.event import Millis
from events.subjects import commit_subject
from projections.place import Place
from projections.world import World
from services.clock_port import Clock
from services.lane_errors import MessageNotOurs
from services.lane_fold import LaneFold
from services.log_errors import LogMovedOn, LogUnavailable
from services.log_port import Entry, Stream

log = structlog.get_logger()


class Decider(Protocol):
    """The pure part of a service."""

    @property
    def name(self) -> str:
        """The author of its commits."""
        ...

    def decide(self, world: World, place: Place) -> list[Decision]:
        """What should happen next, if it stands at this place; empty when there is nothing to say.

        The world is left with these decisions folded; whoever asked takes them back if they don't come to stand there.
        """
        ...


class Tracer(Protocol):
    """Opens a span for a turn and gives the headers that carry it on."""

    def turn(self, author: str, lane: str) -> AbstractContextManager[Mapping[str, str]]:
        """A span around one decision and its append."""
        ...


Keeper = Callable[[LaneFold], None]
"""Told of each commit that was folded, while nothing is folded ahead of it."""

Observer = Callable[[World, Sequence[str]], None]
"""Told after each turn which workloads something happened to."""


class LaneHost:
    """Follows a lane and its inputs, and lets its deciders speak whenever something has changed."""

    def __init__(
        self,
        *,
        own: Stream,
        inputs: Sequence[Stream],
        deciders: Sequence[Decider],
        clock: Clock,
        tracer: Tracer,
        rules: str,
        replica: str,
        observers: Sequence[Observer] = (),
        fold: LaneFold | None = None,
        keepers: Sequence[Keeper] = (),
    ) -> None:
        self.own, self.inputs, self.deciders = own, tuple(inputs), tuple(deciders)
        self.fold = fold or LaneFold(own.name)
        self.halted = ""
        """Why nothing is decided at the moment; empty when all is well."""
        self.stuck = asyncio.Event()
        """Set while `halted` says why."""
        self.quiet = asyncio.Event()
        """Set while every decider has nothing to say about all that has arrived."""
        self.decides = True
        """Whether this replica's deciders speak, or only follow so as to take over."""
        self._clock, self._tracer, self._rules, self._replica = clock, tracer, rules, replica
        self._observers, self._keepers = tuple(observers), tuple(keepers)
        self._whose = self._silent = 0
        """Whose turn it is, and how many in a row had nothing to say about what is known."""
        self._known: tuple[int, tuple[InputRun, ...]] = (-1, ())
        self._woke: Millis = 0
        self._spoke = False
        """Whether anybody here has had anything to say since the start: if not, nobody waits for it."""
        self._commits: list[Entry] = []
        self._news = asyncio.Event()

    async def run(self) -> None:
        """Serve the lane until cancelled. Raises `ChainBroken` when the stored log contradicts itself."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._follow_own())
            for stream in self.inputs:
                tasks.create_task(self._follow_input(stream))
            await self._catch_up()
            while True:
                behind = await self._absorb(MOST_INPUTS)
                if not await self._turn() and not behind:
                    await self._wait()
                    self._silent = 0

    def stop_deciding(self, why: str) -> None:
        """Only follow from now on."""
        self.decides, self.halted = False, why
        self.stuck.set()

    def nudge(self) -> None:
        """Have the host look again, for instance after a quarantine or a takeover."""
        self._news.set()

    async def _follow_own(self) -> None:
        async for batch in self.own.follow(self.fold.base):
            self._commits.extend(entry for entry in batch if entry.sequence > self.fold.base)
            self._news.set()

    async def _follow_input(self, stream: Stream) -> None:
        async for batch in stream.follow(self.fold.position(stream.name)):
            self.fold.offer(stream.name, batch)
            self._news.set()

    async def _catch_up(self) -> None:
        """Fold what was on the log when we came, before anything is decided on less."""
        end = (await self.own.last()).sequence
        ends = {stream.name: (await stream.last()).sequence for stream in self.inputs}
        while True:
            await self._absorb()
            behind = [name for name, last in ends.items() if self.fold.position(name) < last]
            if self.fold.base >= end and not behind:
                return
            await self._news.wait()
            self._news.clear()

    async def _absorb(self, most: int | None = None) -> bool:
        """Fold the commits of others first, then the inputs that have arrived; whether more of these are left."""
        while True:
            try:
                if await self._fold_commits():
                    continue
                behind = self.fold.fold_inputs(most)
            except MessageNotOurs as problem:
                await self._halt(problem)
            else:
                if self.decides:
                    self.halted = ""
                    self.stuck.clear()
                return behind

    async def _fold_commits(self) -> bool:
        folded = False
        while self._commits:
            entry = self._commits[0]
            if entry.sequence <= self.fold.base:
                self._commits.pop(0)
                continue
            commit = self.fold.decode(entry)
            if commit is None:
                self.fold.skip(entry)
            else:
                while self.fold.missing_for(commit) is not None:
                    await self._news.wait()
                    self._news.clear()
                self.fold.fold_commit(entry, commit)
                self._keep()
            self._commits.pop(0)
            folded = True
        return folded

    async def _halt(self, problem: Exception) -> None:
        if self.halted != str(problem):
            self.halted = str(problem)
            log.error("lane halted", lane=self.own.name, problem=self.halted)
            self.stuck.set()
        await self._news.wait()
        self._news.clear()

    async def _turn(self) -> bool:
        """Let the next decider speak; whether another turn may have something to say before anything else happens.

        Between two turns what has arrived is folded, so that nobody waits for all deciders.
        """
        world = self.fold.world
        at = max(self.fold.at, self._clock.now())
        world.advance(at)
        known = (self.fold.base, self.fold.runs)
        if known != self._known:
            self._known, self._silent = known, 0
        if self.decides and self.deciders:
            decider = self.deciders[self._whose]
            self._whose = (self._whose + 1) % len(self.deciders)
            mark = world.mark()
            events = decider.decide(world, Place(lane=self.own.name, sequence=self.fold.base + 1, at=at))
            self._silent += 1
            if events:
                self._silent, self._spoke = 0, True
            # Who never has anything to say would keep for ever what it takes to read everything in another order.
            settle = self._silent >= len(self.deciders) and self.fold.ahead >= MOST_AHEAD
            if (events or settle) and not await self._commit(decider.name, events, at, mark):
                return True
        spoke = self.decides and self._silent < len(self.deciders)
        if self._observers:
            touched = list(world.review.take("observers"))
            for observer in self._observers:
                observer(world, touched)
        if not spoke:
            world.reviewed()
        return spoke

    async def _commit(self, author: str, events: list[Decision], at: Millis, mark: int) -> bool:
        """Append one commit that is folded already; False, and taken back, when it does not come to stand there."""
        with self._tracer.turn(author, self.own.name) as headers:
            commit = self._make(author, events, at)
            data = encode(commit)
            try:
                sequence = await self.own.append(
                    commit_subject(self.own.name, author),
                    data,
                    message_id=commit.id,
                    base=self.fold.base,
                    headers=headers,
                )
            except LogMovedOn:
                self.fold.world.take_back(mark)
                await self._await_commits()
                return False
            except LogUnavailable as problem:
                self.fold.world.take_back(mark)
                self.halted = str(problem)
                log.warning("log unavailable", lane=self.own.name, problem=self.halted)
                await self._clock.sleep(_RETRY)
                return False
        if sequence != self.fold.base + 1:
            # Something foreign lies between: what we stored stands, but has to be folded in its place.
            self.fold.world.take_back(mark)
            await self._await_commits()
            return False
        self.fold.settled_as_decided(sequence, data, commit)
        self._keep()
        log.info("decided", author=author, lane=self.own.name, sequence=sequence, events=len(events))
        return True

    def _keep(self) -> None:
        for keeper in self._keepers:
            keeper(self.fold)

    def _make(self, author: str, events: list[Decision], at: Millis) -> Commit:
        body = Commit(
            id="",
            prev_hash=self.fold.prev_hash,
            partition=self.own.name,
            base=self.fold.base,
            inputs=self.fold.runs,
            author=author,
            epoch=self.fold.world.epochs.get(author, 0),
            rules=self._rules,
            at=at,
            events=tuple(events),
        )
        digest = hashlib.sha256(encode(body))
        # Two replicas may decide the same on the same base: only one of the two may take its append for done.
        digest.update(self._replica.encode())
        return Commit(
            **{name: getattr(body, name) for name in body.__struct_fields__ if name != "id"}, id=digest.hexdigest()[:32]
        )

    async def _await_commits(self) -> None:
        while not any(entry.sequence > self.fold.base for entry in self._commits):
            await self._news.wait()
            self._news.clear()

    async def _wait(self) -> None:
        """Until something arrives or the next deadline comes; what arrives within a pace is looked at together."""
        pace = PACE if self._spoke else 10 * PACE
        await self._clock.sleep(self._woke + pace - self._clock.now())
        if not self._news.is_set():
            self.quiet.set()
            await self._clock.wait(self._news, self.fold.world.next_deadline())
            self.quiet.clear()
        self._news.clear()
        self._woke = self._clock.now()


_RETRY: Millis = 500
PACE: Millis = 10
"""Between two looks at what has arrived: at rest nobody waits for it, under load each look finds more to do."""
MOST_AHEAD = 1000
"""After so many facts about which nobody had anything to say a commit without events says so, and fixes their order."""
MOST_INPUTS = 200
"""So many facts are folded before the deciders speak again: what piles up must not make anyone wait for a decision."""
