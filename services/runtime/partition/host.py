"""The thin shell around deciders: read, fold, decide, append; if another author appended first, fold that and decide again.

One host serves one partition, with one decider or several: alone in a process or beside the others, on the same code path.
A decision that the log has not acknowledged has not happened; nothing is pipelined (docs/rules/log.md#acknowledged).
"""

import asyncio
from collections.abc import Callable, Sequence

import structlog

from events.catalogue import Decision
from events.codec import encode
from events.commit import Commit, InputRun
from events.event import Millis
from events.subjects import DEVICES, FACTS, commit_subject, family_of
from projections.log_position import LogPosition
from projections.partitions.homes import knows_its_trees
from projections.set_aside.records import ADMITTER
from services.runtime.bus_time import BusTime
from services.runtime.clock_port import Clock
from services.runtime.lease import Lease
from services.runtime.log_errors import LogGap, LogMovedOn, LogRegressed, LogRolled, LogUnavailable
from services.runtime.log_port import Stream
from services.runtime.partition.admission_window import AdmissionWindow
from services.runtime.partition.appends import Appends
from services.runtime.partition.commit_making import commit_of
from services.runtime.partition.commit_reading import CommitReading
from services.runtime.partition.errors import MessageHalts
from services.runtime.partition.fold import PartitionFold
from services.runtime.partition.halts import BUS, CLOCK, MESSAGE, REGRESSED, STOPPED, Halts
from services.runtime.partition.late_view import LateView
from services.runtime.partition.leased_work import LeasedWork
from services.runtime.partition.roles import Decider, Keeper, Observer, Verifier
from services.runtime.partition.routed_facts import MOST_UNFIXED, RoutedFacts
from services.runtime.partition.turn_durations import Turns
from services.runtime.tracing import Tracer

log = structlog.get_logger()


class PartitionHost:
    """Follows a partition and its inputs, and runs its deciders in turn whenever something has changed."""

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
        fold: PartitionFold | None = None,
        keepers: Sequence[Keeper] = (),
        verifier: Verifier | None = None,
        mark: Callable[[PartitionFold], str] = lambda _: "",
        window: AdmissionWindow | None = None,
        deciding: Lease | None = None,
        writing: Lease | None = None,
        listed: asyncio.Event | None = None,
        routed: bool = False,
        origins: Sequence[Stream] = (),
    ) -> None:
        """`origins`: of a fork, the partitions in which its history begins, the first one first."""
        self.own, self.inputs, self.deciders = own, tuple(inputs), tuple(deciders)
        self.fold = fold or PartitionFold(own.name)
        self.halts = Halts(own.name)
        """What keeps it from going on."""
        self.appends = Appends(clock)
        self.turns = Turns(clock)
        self.quiet = asyncio.Event()
        """Set while no decider has anything to decide about all that has arrived."""
        self.caught_up = asyncio.Event()
        """Set when everything is folded that was on the log at the start."""
        self.missed: asyncio.Queue[LogRolled] = asyncio.Queue()
        """Set when messages it has not read were removed: it can't go on, but a host that begins at a saved world can."""
        self._clock, self._tracer, self._rules, self._replica = clock, tracer, rules, replica
        self._observers, self._keepers, self._mark = tuple(observers), tuple(keepers), mark
        self._verifier = verifier
        self._whose = self._silent = 0
        """The index of the next decider, and how many in a row had nothing to decide about what is known."""
        self._known: tuple[int, tuple[InputRun, ...]] | None = None
        self._woke: Millis = 0
        self._time = BusTime(own)
        self._spoke = False
        """Whether any decider here has decided anything since the start: if not, it may look less often."""
        self._window = window
        self._behind = False
        """Whether more has arrived than is folded."""
        self._looks_at_cards = family_of(own.name) == DEVICES
        """Whether a decider here looks at each card that something has happened to, now or once it may decide."""
        self.routed = RoutedFacts(self.fold, next(one for one in inputs if one.name == FACTS)) if routed else None
        """Facts, where only those are read that are for this partition, because others have partitions of their own."""
        self._listed = listed
        """Set when the watcher beside it has reported the whole cluster: before that nothing is decided."""
        self._news = asyncio.Event()
        self._commits = CommitReading(
            origins,
            self.inputs,
            self.fold,
            self.halts,
            routed=self.routed,
            verifier=verifier,
            folded=self._keep,
            news=self._news,
        )
        self._leased = LeasedWork(
            self.fold.world, deciding, writing, changed=self.nudge, readiness=self.halts.readiness
        )
        self._view = LateView(own, clock, self.halts, self._leased.give_way)

    async def run(self) -> None:
        """Serve the partition until cancelled; what is wrong with the log halts it by name and does not end it."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._follow_own())
            for stream in self.inputs:
                tasks.create_task(self._follow_input(stream))
            if self.routed is not None:
                tasks.create_task(self.routed.keep_up(self._clock, self._news.set))
            await self._begin()
            await self._catch_up()
            self.caught_up.set()
            await self._see_cluster()
            while True:
                self._behind = await self._absorb(MOST_INPUTS)
                if not await self._turn() and not self._behind:
                    await self._wait()
                    # What comes to a partition at rest is mostly for the first of them.
                    self._whose = self._silent = 0

    @property
    def halted(self) -> str:
        """Why nothing is decided at the moment; empty when all is well."""
        return self.halts.reason

    @property
    def stuck(self) -> asyncio.Event:
        """Set while deciding stands still, for which `halted` gives the reason."""
        return self.halts.stuck

    def stop_deciding(self, why: str, kind: str = STOPPED) -> None:
        """Only follow from now on, and report why."""
        self.halts.halt(kind, why)

    def decide_again(self, kind: str) -> None:
        """Remove a reason not to decide, and look again."""
        self.halts.lift(kind)
        self.nudge()

    @property
    def decides(self) -> bool:
        """Whether this replica decides, or only follows."""
        return self.halts.allow_deciding and self._leased.decides

    def nudge(self) -> None:
        """Have the host look again, for instance after a quarantine or a takeover."""
        self._news.set()

    async def _follow_own(self) -> None:
        try:
            await self._commits.follow(self.own)
        except (LogGap, LogRegressed) as problem:
            self._stop_for(problem)

    async def _follow_input(self, stream: Stream) -> None:
        try:
            reader = self.fold.reader if self.routed is not None and stream.name == FACTS else ""
            async for batch in stream.follow(self.fold.position(stream.name), reader):
                self.fold.offer(stream.name, batch)
                self._news.set()
        except (LogGap, LogRegressed) as problem:
            self._stop_for(problem)

    def _stop_for(self, problem: LogGap | LogRegressed) -> None:
        """Halt because the folded state and the log contradict each other: a restart folds what the log holds."""
        self.stop_deciding(str(problem), REGRESSED if isinstance(problem, LogRegressed) else STOPPED)
        if isinstance(problem, LogRolled):
            self.missed.put_nowait(problem)

    async def _begin(self) -> None:
        """Of a fork, fold what it has of the history of others; while its own has not begun, nothing is decided here."""
        end = await self._commits.end_of_origin()
        while self.fold.heirs:
            await self._absorb(0)
            if self.fold.heirs and self.fold.base >= end:
                self.caught_up.set()
                self.quiet.set()
            if self.fold.heirs:
                await self._next_news()
        self.quiet.clear()

    async def _catch_up(self) -> None:
        """Fold what was on the log at the start, so that nothing is decided on less."""
        end = (await self.own.last()).sequence
        ends = {stream.name: (await stream.last()).sequence for stream in self.inputs}
        while True:
            await self._absorb()
            behind = [name for name, last in ends.items() if self.fold.position(name) < last]
            if self.fold.base >= end and not behind:
                return
            if FACTS in behind and self.routed is not None and await self.routed.pass_over(ends[FACTS]):
                continue
            await self._news.wait()
            self._news.clear()

    async def _see_cluster(self) -> None:
        """Wait for the watcher beside it, and fold what it has reported: others may have decided while nobody was here.

        Rule: docs/rules/adoption.md#seen-first
        """
        if self._listed is None:
            return
        seen = asyncio.create_task(self._listed.wait())
        try:
            while not seen.done():
                await self._absorb()
                news = asyncio.create_task(self._next_news())
                await asyncio.wait({seen, news}, return_when=asyncio.FIRST_COMPLETED)
                news.cancel()
        finally:
            seen.cancel()
        await self._catch_up()

    async def _absorb(self, most: int | None = None) -> bool:
        """Fold the commits of others first, then the inputs that have arrived; whether more of these are left."""
        while True:
            try:
                await self._commits.fold()
                behind = self.fold.fold_inputs(most)
                if self.routed is not None and await self.routed.pass_over(self.fold.awaited(FACTS)):
                    continue
            except MessageHalts as problem:
                self.halts.halt(MESSAGE, str(problem))
                await self._next_news()
            else:
                self.halts.lift(MESSAGE)
                self.halts.lift(BUS)
                return behind

    async def _next_news(self) -> None:
        await self._news.wait()
        self._news.clear()

    async def _turn(self) -> bool:
        """Run the next decider, and the next ones while none has anything to decide; whether another turn may decide something.

        What has arrived is folded between two turns, so that news does not wait for all deciders: of a backlog some more is
        folded before each.
        """
        world = self.fold.world
        at = max(self.fold.at, self._clock.now())
        # Who stands back for its clock goes on looking at it: it may take the lease again once the clock is right.
        ahead = await self._time.ahead(at, self.fold.control) if self.decides or CLOCK in self.halts.kinds else ""
        if ahead:
            self.halts.halt(CLOCK, ahead)
            await self._clock.sleep(_RETRY)
            return True
        self.halts.lift(CLOCK)
        await self._view.look(self.fold.oldest_waiting() if self._behind else None)
        world.advance(at)
        if (known := (self.fold.base, self.fold.runs)) != self._known:
            self._known, self._silent = known, 0
        self._leased.take_up()
        asking = self.decides and bool(self.deciders)
        while asking:
            if not await self._ask_next(at):
                return True
            asking = not self._behind and 0 < self._silent < len(self.deciders)
        spoke = self._silent < len(self.deciders) and self.decides
        self._observe()
        if spoke and not self._silent:
            await asyncio.sleep(0)  # Who writes what was decided begins before anything else is decided.
        if not spoke and self._verifier is None and not (self.decides and self._looks_at_cards):
            # Who decides again looks at what has changed when the commit comes, and not before; who takes over, at everything.
            world.leave_cards()
        return spoke

    async def _ask_next(self, at: Millis) -> bool:
        """Run the next decider and append its decisions; False when they could not be appended."""
        decider = self.deciders[self._whose]
        self._whose = (self._whose + 1) % len(self.deciders)
        mark = self.fold.world.mark()
        self._silent += 1
        if decider.name == ADMITTER and self._window is not None:
            self._window.look(self.fold.world, at)
            if self._behind or not self._window.is_open:
                return True
        # Without any commit, the trail that can undo all of these facts would grow for ever.
        settle = self._silent >= len(self.deciders) and (
            self.fold.ahead >= MOST_AHEAD or self.fold.unfixed >= MOST_UNFIXED or self.fold.is_moving
        )
        began = self.turns.begun()
        commit = self._decided(decider, at, mark, settle=settle)
        if commit is not None and commit.events:
            self._silent, self._spoke = 0, True
        stored = commit is None or await self._append(commit, mark)
        self.turns.ended(decider.name, began, () if commit is None else commit.events)
        return stored

    def _decided(self, decider: Decider, at: Millis, mark: int, *, settle: bool) -> Commit | None:
        """The commit of a decider, folded already; None when it has none to make.

        With `settle` an empty commit is made, too: it fixes the order of the facts folded ahead. When the decider fails,
        nothing of it stays folded, and the others go on.
        """
        fold, name = self.fold, decider.name
        most = self._window.room if name == ADMITTER and self._window is not None else 0
        number = fold.control.number(self.own.name, fold.base + 1)
        place = LogPosition(partition=self.own.name, sequence=number, at=at, most_admissions=most)
        try:
            silent = self._view.late or not knows_its_trees(fold.world)
            events = [] if silent else [*self._leased.begin(name, place), *decider.decide(fold.world, place)]
            commit = self._made(name, events, place) if events or settle else None
        except Exception as problem:  # noqa: BLE001 - whatever makes one decider fail, it halts no other
            fold.world.take_back(mark)
            self.halts.fails(name, problem)
            return None
        self.halts.works(name)
        return commit

    def _made(self, author: str, events: Sequence[Decision], place: LogPosition) -> Commit:
        mark = self._mark(self.fold)
        return commit_of(self.fold, author, events, place, rules=self._rules, replica=self._replica, mark=mark)

    async def _append(self, commit: Commit, mark: int) -> bool:
        """Append a commit that is folded already; False, with the fold undone, when it could not be appended."""
        data = encode(commit)
        try:
            sequence = await self._stored(commit, data)
            if sequence != self.fold.base + 1:
                # A foreign message lies between: our commit is stored, but has to be folded in its place.
                raise LogMovedOn(stream=self.own.name, base=self.fold.base)
        except (LogMovedOn, LogUnavailable, LogRegressed) as problem:
            self.fold.world.take_back(mark)
            await self._go_on_after(problem)
            return False
        self.fold.settled_as_decided(sequence, data, commit)
        self._keep()
        return True

    async def _go_on_after(self, problem: LogMovedOn | LogUnavailable | LogRegressed) -> None:
        match problem:
            case LogMovedOn():
                await self._commits.moved_on()
            case LogUnavailable():
                self.halts.halt(BUS, str(problem))
                await self._clock.sleep(_RETRY)
            case LogRegressed():
                self._stop_for(problem)

    async def _stored(self, commit: Commit, data: bytes) -> int:
        """The sequence at which the log has stored a commit. Raises what an append raises."""
        name, author = self.own.name, commit.author
        with self._tracer.commit(commit, self.fold.world.workloads) as span, self.appends.timed(author, span.trace):
            span.sequence = await self.own.append(
                commit_subject(name, author), data, message_id=commit.id, base=self.fold.base, headers=span.headers
            )
            log.info("decided", author=author, partition=name, sequence=span.sequence, events=len(commit.events))
        return span.sequence

    def _observe(self) -> None:
        touched = self._leased.touched() if self._observers else None
        if touched is not None:
            for observer in self._observers:
                self.halts.tried(observer, self.fold.world, touched)

    def _keep(self) -> None:
        for keeper in self._keepers:
            self.halts.tried(keeper, self.fold)

    async def _wait(self) -> None:
        """Wait until something arrives or the next deadline comes; what arrives within `PACE` is handled together."""
        pace = PACE if self._spoke else 10 * PACE
        # If the clock was set back, the last look lies in the future.
        await self._clock.sleep(min(pace, self._woke + pace - self._clock.now()))
        closed = self._window is not None and not self._window.is_open
        opens = self._window.opens_at if self._window is not None else None
        if not self._news.is_set():
            if not closed:
                self.quiet.set()
            due = [one for one in (opens, self.fold.world.next_deadline()) if one is not None]
            await self._clock.wait(self._news, min(due, default=None))
            self.quiet.clear()
        self._news.clear()
        self._woke = self._clock.now()


_RETRY: Millis = 500
PACE: Millis = 10
"""Milliseconds between two looks at what has arrived: no delay at rest, larger batches under load."""
MOST_AHEAD = 1000
"""After this many facts without a decision a commit without events fixes their order."""
MOST_INPUTS = 200
"""The most facts folded between two turns of deciders: a backlog of facts must not delay decisions."""
