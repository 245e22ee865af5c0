"""All partitions in virtual time, written as services write them: sightings, commits with their inputs, chained by hash.

What comes out is a log like any other: it can be replayed, verified, explained, audited.
"""

from collections.abc import Callable, Sequence

from events.catalogue import Decision, Fact
from events.codec import encode
from events.commit import Sighting
from events.control import LogPartitioned
from events.event import Millis
from events.object_version import ObjectVersion
from events.partition_map import PartitionMapObserved
from events.subjects import CONTROL, FACTS, commit_subject, fact_subject
from ops.production.deciders import quota_deciders
from ops.production.log.control import OPERATOR, said
from ops.production.log.streams import SOLE, LogStreams
from ops.production.wiring import RULES
from projections.log_position import LogPosition
from projections.world import World, hold_once
from services.accountant.decide import Accountant
from services.runtime.log_port import Entry
from services.runtime.partition.commit_making import commit_of
from services.runtime.partition.fold import PartitionFold
from services.runtime.partition.host import MOST_AHEAD, Decider
from services.runtime.partition.roles import Keeper

Mark = Callable[[PartitionFold], str]


class WrittenPartitions:
    """A stage on which everything that happens becomes a message of a log, which is handed to `keep` in its order."""

    def __init__(
        self,
        keep: Callable[[Entry], None],
        *,
        cards: bool = True,
        streams: LogStreams = SOLE,
        mark: Mark = lambda _: "",
        keepers: Sequence[Keeper] = (),
    ) -> None:
        self._keep, self._facts = keep, 0
        made = [_Partition(name, streams.inputs(name), quota_deciders(), self._store) for name in streams.trees]
        if cards:
            made.append(_Partition(streams.pool, streams.inputs(streams.pool), (Accountant(),), self._store))
        for one in made:
            one.mark, one.keepers = mark, keepers
        hold_once({one.fold.partition: one.fold.world for one in made})
        self._partitions, self._of_one = made, len(streams.trees) == 1

    @property
    def world(self) -> World:
        """What is true on the partition of admission; where there are several, on that of cards, which folds them all."""
        return self._partitions[0 if self._of_one else -1].fold.world

    @property
    def worlds(self) -> list[World]:
        """What is true on each partition, those of trees first."""
        return [one.fold.world for one in self._partitions]

    def observe(self, fact: Fact, at: Millis, *, author: str = "watcher", about: ObjectVersion | None = None) -> None:
        """Store a sighting."""
        self._facts += 1
        kind = type(fact).__name__
        name = f"{self._facts}:{kind}"
        data = encode(Sighting(id=name, at=at, author=author, about=about, fact=fact))
        subject = fact_subject("", kind)
        self._store(Entry(stream=FACTS, sequence=self._facts, subject=subject, message_id=name, data=data))

    def turn(self, at: Millis) -> list[Decision]:
        """Let every decider of each partition decide once; what they decided."""
        decisions: list[Decision] = []
        for partition in self._partitions:
            decisions.extend(partition.turn(at))
        return decisions

    def _store(self, entry: Entry) -> None:
        self._keep(entry)
        for partition in self._partitions:
            partition.hear(entry)


class RecordedPartitions(WrittenPartitions):
    """A stage that keeps a log of everything that happens on it."""

    def __init__(self, *, cards: bool = True, streams: LogStreams = SOLE) -> None:
        self.entries: dict[str, list[Entry]] = {name: [] for name in streams.every}
        super().__init__(lambda entry: self.entries[entry.stream].append(entry), cards=cards, streams=streams)

    def divide(self, partitions: int, at: Millis) -> None:
        """Place the trees that come from now on among so many partitions."""
        commit = said(LogPartitioned(partitions=partitions), at)
        subject = commit_subject(CONTROL, OPERATOR)
        self._store(Entry(stream=CONTROL, sequence=1, subject=subject, message_id=commit.id, data=encode(commit)))
        self.observe(PartitionMapObserved(partitions=partitions), at)


class _Partition:
    def __init__(
        self, name: str, inputs: Sequence[str], deciders: Sequence[Decider], store: Callable[[Entry], None]
    ) -> None:
        self.fold = PartitionFold(name)
        self.mark: Mark = lambda _: ""
        self.keepers: Sequence[Keeper] = ()
        self._inputs, self._deciders, self._store = tuple(inputs), tuple(deciders), store

    def hear(self, entry: Entry) -> None:
        """Something was stored."""
        if entry.stream in self._inputs:
            self.fold.offer(entry.stream, (entry,))

    def turn(self, at: Millis) -> list[Decision]:
        fold, decisions = self.fold, list[Decision]()
        fold.fold_inputs()
        at = max(fold.at, at)
        fold.world.advance(at)
        for decider in self._deciders:
            place = self._next_place(at)
            events = decider.decide(fold.world, place)
            if events:
                self._append(decider.name, events, place)
                decisions.extend(events)
        if not decisions:
            if fold.ahead >= MOST_AHEAD:
                self._append(self._deciders[-1].name, (), self._next_place(at))
            fold.world.leave_cards()
        return decisions

    def _next_place(self, at: Millis) -> LogPosition:
        return LogPosition(partition=self.fold.partition, sequence=self.fold.base + 1, at=at)

    def _append(self, author: str, events: Sequence[Decision], place: LogPosition) -> None:
        fold = self.fold
        commit = commit_of(fold, author, events, place, rules=RULES, replica="", mark=self.mark(fold))
        data, sequence = encode(commit), fold.base + 1
        subject = commit_subject(fold.partition, author)
        self._store(Entry(stream=fold.partition, sequence=sequence, subject=subject, message_id=commit.id, data=data))
        fold.settled_as_decided(sequence, data, commit)
        for keeper in self.keepers:
            keeper(fold)
