"""The fold of one partition in its canonical order, with the facts that no commit has fixed yet on top.

Canonical order (docs/architecture.md#partitions-and-their-order): for each commit in turn, first the input runs that it
names, then its events. A decider also folds inputs ahead of any commit; when another author's commit arrives first,
what it does not name in the same order is taken back and folded again behind it. Live services and replays use this same
fold, so they cannot differ.
"""

from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace

from events.commit import Commit, InputRun, Sighting
from events.event import Millis
from events.hash_chain import GENESIS, bytes_hash, follows
from events.subjects import DEVICES, FACTS, LOG, addressee, family_of, is_for, reader_of
from projections.amiss import AUTHOR, TIME, note_amiss
from projections.evolve import evolve, evolve_sighting
from projections.folds.forks import keep_only
from projections.log_position import LogPosition
from projections.partitions.forks import why_not_forked
from projections.partitions.homes import is_misrouted
from projections.world import World
from services.runtime.control_log import Control
from services.runtime.log_port import Entry
from services.runtime.partition.errors import ChainBroken, FoldFailed, InputsWrong
from services.runtime.partition.inputs_ahead import InputsAhead
from services.runtime.partition.stored_message import Opened, Passed, open_message
from services.runtime.partition.tree_orders import moves_trees, orders_among
from services.runtime.partition.waiting_inputs import WaitingInputs


class PartitionFold:
    """A world, and the positions on its partition and its input streams up to which it is folded."""

    def __init__(self, partition: str, world: World | None = None) -> None:
        self.partition = partition
        self.world = world or World()
        self.world.partition = partition
        self.base = 0
        """Sequence of the last commit folded."""
        self.prev_hash = GENESIS
        self.at: Millis = 0
        """Time of the last commit: time never goes backwards on a partition."""
        self.settled: dict[str, int] = {}
        """Per input stream the last sequence that a commit has fixed."""
        self.marked: tuple[int, str] = (0, "")
        """The sequence of the last commit that named a state hash, and that hash; (0, "") when none has."""
        self.control = Control()
        """Which messages are skipped, and the latest time that a message may have."""
        self.heirs: tuple[str, ...] = ()
        """While the history of the partition is that of its origin: the fork that it becomes next, and the forks of that."""
        self.reader = partition
        """Who reads facts here, as the bus is told: the partition, and those of which it is a fork."""
        self._moving = False
        """Whether an order by which trees leave or come is folded and not fixed."""
        self._waiting = WaitingInputs()
        self._ahead = InputsAhead()
        self._heeded = 0
        """How far CONTROL was known when the last commit was folded."""

    def heed(self, control: Control) -> None:
        """Take what the stream of control says; a fork that has folded nothing begins as the partition in which its history begins.

        Rule: docs/rules/log.md#moved
        """
        self.control = control
        lineage = control.lineage(self.heirs[-1] if self.heirs else self.partition)
        self.reader = reader_of(lineage)
        if not self.heirs and not self.base and not self.settled and not self._ahead:
            self.partition, *heirs = lineage
            self.world.partition, self.heirs = self.partition, tuple(heirs)

    def restore(self, *, base: int, prev_hash: str, at: Millis, settled: Mapping[str, int]) -> None:
        """Go on from a snapshot of the world that was taken here."""
        self.base, self.prev_hash, self.at, self.settled = base, prev_hash, at, dict(settled)

    def position(self, stream: str) -> int:
        """The last sequence of an input stream that is folded, fixed or not."""
        return self._ahead.position(stream) or self.settled.get(stream, 0)

    def reaches(self, stream: str, upto: int) -> bool:
        """Whether nothing of a stream up to a sequence has to be read any more; of its origins a fork that has begun reads nothing."""
        begun = bool(self.base) and stream in self.control.lineage(self.partition)[:-1]
        return begun or (self.base if stream == self.partition else self.position(stream)) >= upto

    @property
    def runs(self) -> tuple[InputRun, ...]:
        """The runs of input folded since the last commit: what the next commit names."""
        return self._ahead.runs

    @property
    def ahead(self) -> int:
        """How many inputs are folded that no commit has fixed."""
        return len(self._ahead)

    def offer(self, stream: str, entries: Iterable[Entry]) -> None:
        """Hand over stored messages of an input stream, in order; what was handed over before is dropped.

        Partitions like this one are no inputs of it, nor are facts that are for one of those alone: who hands over a whole log
        need not know that. Raises `TailLost` when something stands where the bus has said that there is nothing.
        """
        if family_of(stream) == family_of(self.partition):
            return
        self._waiting.offer(stream, entries, reader=self.reader, folded=self.position(stream))

    def pass_over(self, stream: str, upto: int) -> None:
        """Nothing that is for this partition stands behind what was handed over, up to a sequence: the bus has said so."""
        self._waiting.pass_over(stream, upto, folded=self.position(stream))

    def received(self, stream: str) -> int:
        """The last sequence of an input stream that was handed over, or passed over."""
        return max(self._waiting.received(stream), self.position(stream))

    @property
    def is_moving(self) -> bool:
        """Whether trees leave or come by what no commit has fixed yet: nobody decides about them until then."""
        return self._moving and not self.heirs

    @property
    def unfixed(self) -> int:
        """How many sequences of FACTS were gone past since the last commit that has fixed any."""
        return self.position(FACTS) - self.settled.get(FACTS, 0)

    def awaited(self, stream: str) -> int:
        """The last sequence of an input stream on which something rests that was handed over and can't be folded yet; 0 if none is."""
        received = self.received(stream)
        return max((upto for upto in self._waited_for(stream) if upto > received), default=0)

    def _waited_for(self, stream: str) -> Iterator[int]:
        """How far of an input stream the first and the last commits rest that can't be folded yet, by other streams."""
        for name, waiting in self._waiting.all():
            if name == FACTS or not waiting or self._is_supported(waiting[0]):
                continue
            for entry in (waiting[0], waiting[-1]):
                opened = self.opened(entry)
                if isinstance(opened, Opened) and isinstance(opened.message, Commit):
                    yield from (run.upto for run in opened.message.inputs if run.stream == stream)

    def fold_inputs(self, most: int | None = None) -> bool:
        """Fold inputs that were handed over, ahead of the next commit and at most `most`; whether more can be folded.

        A commit of another partition waits for the inputs that it rests on: an event about a workload that is not folded yet
        would be lost.
        """
        left = most
        while left is None or left > 0:
            count = 0
            self._go_past()
            for stream, waiting in self._waiting.all():
                found = self._fold_supported(stream, left) if waiting else 0
                left = None if left is None else left - found
                count += found
            if not count:
                return False
        return any(waiting and self._is_supported(waiting[0]) for _, waiting in self._waiting.all())

    def oldest_waiting(self) -> Millis | None:
        """When the oldest of the inputs that wait to be folded was stored; None where none waits that can be folded."""
        heads = (waiting[0] for _, waiting in self._waiting.all() if waiting)
        return min((one.stored for one in heads if self._is_supported(one)), default=None)

    def _fold_supported(self, stream: str, most: int | None) -> int:
        waiting, count = self._waiting.of(stream), 0
        while waiting and count != most and self._is_supported(waiting[0]):
            self._fold_run(stream, waiting[0].sequence)
            count += 1
        return count

    def _go_past(self) -> None:
        """Where nothing waits any more, what was passed over behind the last message is gone past as well."""
        for stream, waiting in self._waiting.all():
            if not waiting:
                self._note(stream, self.received(stream))

    def _is_supported(self, entry: Entry) -> bool:
        """Whether all inputs that a message rests on are folded; commits of partitions like this one do not count: it rests on none of them."""
        if family_of(entry.stream) == FACTS:
            return True
        found = self.opened(entry)
        if isinstance(found, Passed) or isinstance(found.message, Sighting):
            return True
        return all(
            family_of(run.stream) == family_of(self.partition) or run.upto <= self.position(run.stream)
            for run in found.message.inputs
        )

    def fold_ahead(self, runs: Iterable[InputRun]) -> None:
        """Fold just these runs of input ahead of the next commit."""
        for run in runs:
            self._fold_run(run.stream, run.upto)

    def missing_for(self, commit: Commit) -> InputRun | None:
        """The first input run of a commit that has not been handed over yet in full."""
        for run in sorted(commit.inputs, key=lambda one: one.stream):
            if self.received(run.stream) < run.upto:
                return run
        return None

    def fold_commit(self, entry: Entry, commit: Commit) -> None:
        """Fold a commit that was found on the partition: take back what was folded ahead, then follow its order.

        What is to become a fork follows it up to the order, and becomes that: `partition` says so then.
        Raises `ChainBroken`, `InputsWrong`, `FoldFailed`; nothing of the commit is folded then.
        """
        if not follows(commit, self.base, self.prev_hash):
            expected, found = self.prev_hash, commit.prev_hash
            raise ChainBroken(stream=self.partition, sequence=entry.sequence, expected=expected, found=found)
        self._check_inputs(entry, commit)
        self._rewind_to(self._kept_by(commit))
        if self.heirs and self._fold_to_order(commit.inputs):
            self._become_fork(entry.sequence)
            return
        self.fold_ahead(commit.inputs)
        self._fold(commit, self.control.place(entry, commit.at))
        self._note_hurried(entry, self.opened(entry))
        self.settled_as_decided(entry.sequence, entry.data, commit)

    def _check_inputs(self, entry: Entry, commit: Commit) -> None:
        named = dict(self.settled)
        for run in commit.inputs:
            problem = ""
            inherited = run.stream in self.control.lineage(self.partition)[:-1]
            if family_of(run.stream) not in _INPUTS - {family_of(self.partition)} and not inherited:
                problem = f"rests on {run.stream}, which is no input of the partition"
            elif run.upto < named.get(run.stream, 0):
                problem = f"names {run.stream} up to {run.upto}, and more of it was named before"
            if problem:
                raise InputsWrong(stream=self.partition, sequence=entry.sequence, problem=problem)
            named[run.stream] = run.upto

    def rewind(self) -> None:
        """Undo everything that no commit has fixed; those inputs wait to be folded again."""
        self.world.take_back(0)
        self._rewind_to(0)

    def _kept_by(self, commit: Commit) -> int:
        """How many of the inputs that are folded ahead stay as they are below a commit of another author.

        None do where CONTROL has said more meanwhile, for one of them may be skipped by now.
        """
        if self.heirs or self.control.position != self._heeded:
            return 0
        return self._ahead.alike(commit.inputs, self._waiting)

    def _rewind_to(self, kept: int) -> None:
        back = self._ahead.cut(kept)
        if back:
            self.world.take_back(back[0].mark if kept else 0)
        for one in reversed(back):
            self._waiting.put_back(one.entry)
        self._moving = self._moving and kept > 0

    def settled_as_decided(self, sequence: int, data: bytes, commit: Commit) -> None:
        """Make a commit final whose events were folded when they were decided, now that the log has acknowledged it."""
        self.settled.update({run.stream: run.upto for run in commit.inputs})
        self.base, self.prev_hash, self.at = sequence, bytes_hash(data), commit.at
        if commit.state_hash:
            self.marked = (sequence, commit.state_hash)
        self._all_fixed()
        self.world.settle()

    def fork_ahead(self) -> None:
        """Begin as the fork before its origin has fixed that: at an order that was handed over, else with nothing of its own.

        For who asks how things stand and decides nothing. Nothing else may be folded ahead.
        """
        if not self._fold_to_order([InputRun(stream=FACTS, upto=self.received(FACTS))]):
            keep_only(self.world, (), self.at, origin=self.partition)
        self._become_fork(self.base)

    def _fold_to_order(self, inputs: Iterable[InputRun]) -> bool:
        """Fold inputs up to the order by which the next of the heirs begins; all of them where none is among them."""
        for run in inputs:
            waiting = [one for one in self._waiting.of(FACTS) if one.sequence <= run.upto]
            for sequence, order in orders_among(waiting, self.opened, self.heirs[0]) if run.stream == FACTS else ():
                self._fold_run(FACTS, sequence - 1)
                if not why_not_forked(self.world, order):
                    return True
            self._fold_run(run.stream, run.upto)
        return False

    def _become_fork(self, fixed: int) -> None:
        """Go on as the next of the heirs; its first commit rests on the commit of the origin that has fixed the order."""
        self.settled.update({run.stream: run.upto for run in self.runs})
        self._all_fixed()
        self.world.settle()
        self._waiting.begin_at(self.partition, fixed)
        self.partition, *heirs = self.heirs
        self.world.partition, self.heirs = self.partition, tuple(heirs)
        self.base, self.prev_hash, self.marked = 0, GENESIS, (0, "")
        self.world.review_all()

    def opened(self, entry: Entry) -> Opened | Passed:
        """The decoded message, or why it does not count. Raises `MessageNotOurs`."""
        return open_message(entry, self.control)

    def decode(self, entry: Entry) -> Commit | None:
        """The commit of an entry of the partition itself, at the time that counts; None when it does not count.

        Raises `MessageNotOurs`.
        """
        found = self.opened(entry)
        if isinstance(found, Passed) or isinstance(found.message, Sighting):
            return None
        commit = found.message
        return commit if commit.at >= self.at else replace(commit, at=self.at)

    def skip(self, entry: Entry) -> None:
        """Go past a message of the partition that does not count."""
        self.rewind()
        found = self.opened(entry)
        if isinstance(found, Passed) and found.why:
            self._note_amiss(entry, AUTHOR, found.author, found.why)
            self.world.settle()
        self.base, self.prev_hash = entry.sequence, bytes_hash(entry.data)

    def _fold_run(self, stream: str, upto: int) -> None:
        waiting = self._waiting.of(stream)
        while waiting and waiting[0].sequence <= upto:
            mark = self.world.mark()
            self._fold_input(waiting[0])
            entry = waiting.popleft()
            self._ahead.add(entry, mark)
            self._note(stream, entry.sequence)
        self._note(stream, min(upto, self.received(stream)))

    def _note(self, stream: str, sequence: int) -> None:
        if sequence <= self.position(stream):
            return
        self._ahead.note(stream, sequence)

    def _all_fixed(self) -> None:
        """Nothing is folded any more that no commit has fixed."""
        self._ahead.cut(0)
        self._moving = False
        self._heeded = self.control.position

    def _fold_input(self, entry: Entry) -> None:
        found = self.opened(entry)
        if isinstance(found, Passed):
            if found.why:
                self._note_amiss(entry, AUTHOR, found.author, found.why)
            return
        message = found.message
        alone = addressee(entry.subject) if isinstance(message, Sighting) else ""
        if self.heirs and not is_for(entry.subject, reader_of(self.control.lineage(self.partition))):
            return
        if isinstance(message, Sighting) and alone and is_misrouted(self.world, message.fact, alone):
            detail = f"a {type(message.fact).__name__} is for {alone} alone, where its workload is not decided"
            self._note_amiss(entry, AUTHOR, message.author, detail)
            return
        self._fold(message, self.control.place(entry, message.at))
        self._moving = self._moving or moves_trees(self.world, message, self.partition)
        self._note_hurried(entry, found)

    def _fold(self, message: Sighting | Commit, position: LogPosition) -> None:
        mark = self.world.mark()
        try:
            if isinstance(message, Sighting):
                evolve_sighting(self.world, message, position)
            else:
                for event in message.events:
                    evolve(self.world, event, position)
        except Exception as problem:
            self.world.take_back(mark)
            raise FoldFailed(stream=position.partition, sequence=position.sequence, problem=problem) from problem

    def _note_hurried(self, entry: Entry, found: Opened | Passed) -> None:
        if isinstance(found, Opened) and found.hurried:
            self._note_amiss(entry, TIME, found.message.author, found.hurried)

    def _note_amiss(self, entry: Entry, what: str, author: str, detail: str) -> None:
        note_amiss(
            self.world.amiss,
            self.world.trail,
            stream=entry.stream,
            sequence=entry.sequence,
            what=what,
            author=author,
            detail=detail,
        )


_INPUTS = frozenset({FACTS, LOG, DEVICES})
"""The families of streams that are folded; a partition rests on those that are not its own."""
