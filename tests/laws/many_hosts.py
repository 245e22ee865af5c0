"""Services of all partitions, two of each, in one thread: they fold late, lose races, start anew, and write one log.

At every turn the law is held against it: whoever starts now on the log alone, without any shortcut, says the same bytes.
"""

import random
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from events.authors import AUTHORS
from events.catalogue import Decision, Fact
from events.codec import decode_commit, encode
from events.commit import Commit, InputRun, Sighting
from events.event import Millis
from events.hash_chain import bytes_hash
from events.routing import is_routed, namespace_of
from events.subjects import (
    CONTROL,
    FACTS,
    LOG,
    commit_subject,
    decisions_stream,
    fact_subject,
    family_of,
    routed_subject,
)
from projections.composed import composed
from projections.log_position import LogPosition
from projections.partitions.homes import knows_its_trees
from projections.snapshot import tables_as_json, world_from_json
from projections.state_hash import state_hash
from projections.world import World
from services.accountant.decide import Accountant
from services.admitter.decide import Admitter
from services.multikueue.decide import MultiKueue
from services.preemptor.decide import Preemptor
from services.queue_manager.decide import QueueManager
from services.runtime.log_port import Entry
from services.runtime.partition.fold import PartitionFold
from services.runtime.partition.host import Decider

PARTITION, CARDS = "LOG_0", "DEVICES_default"
MAKERS: dict[str, Callable[[], Decider]] = {
    "queue-manager": QueueManager,
    "admitter": Admitter,
    "preemptor": Preemptor,
    "multikueue": MultiKueue,
    "accountant": Accountant,
}
_AUTHOR_OF = {kind: one.name for one in AUTHORS.values() if one.family == FACTS for kind in one.says}
Log = dict[str, list[Entry]]


class SavedBase(NamedTuple):
    """The world of a partition as it was behind one of its commits, as it is stored on the bus."""

    tables: bytes
    base: int
    prev_hash: str
    at: Millis
    settled: dict[str, int]

    def begun(self, partition: str) -> PartitionFold:
        """A fold that goes on from there."""
        fold = PartitionFold(partition, world_from_json(self.tables))
        fold.restore(base=self.base, prev_hash=self.prev_hash, at=self.at, settled=self.settled)
        return fold


def saved(fold: PartitionFold) -> SavedBase:
    """The world of a fold that has folded nothing ahead of its last commit."""
    return SavedBase(b"".join(tables_as_json(fold.world)), fold.base, fold.prev_hash, fold.at, dict(fold.settled))


class Host:
    """One process with one decider or several of one partition, whose clock may be behind."""

    def __init__(self, log: Log, partition: str, names: Sequence[str], behind: Millis = 0) -> None:
        self.log, self.partition, self.names, self.behind = log, partition, tuple(names), behind
        self.start()

    def start(self, base: SavedBase | None = None) -> None:
        """Begin on the log alone, or where somebody has saved the world."""
        self.fold = PartitionFold(self.partition) if base is None else base.begun(self.partition)
        self.deciders = {name: MAKERS[name]() for name in self.names}
        self.silent = 0

    def catch_up(self, most: int | None) -> None:
        """Fold what others have decided, then so many inputs."""
        follow(self.fold, self.log, len(self.log[self.partition]))
        offer(self.fold, self.log)
        self.fold.fold_inputs(most)


def follow(fold: PartitionFold, log: Log, upto: int) -> None:
    """Fold the commits of a partition up to a sequence."""
    for entry in log[fold.partition][fold.base : upto]:
        commit = fold.decode(entry)
        assert commit is not None
        offer(fold, log)
        fold.fold_commit(entry, commit)


def offer(fold: PartitionFold, log: Log) -> None:
    """Hand over all there is of the inputs."""
    for name, stored in log.items():
        if name not in (CONTROL, fold.partition):
            fold.offer(name, stored[fold.received(name) :])


class Hosts:
    """All of them, and the law. `fresh` says how often somebody is begun from zero; else a follower that never decided."""

    def __init__(self, seed: int, *, fresh: float = 0.1, races: float = 0.1, restarts: float = 0.05) -> None:
        self.chance = random.Random(seed)
        self.log: Log = {name: [] for name in (CONTROL, FACTS, PARTITION, CARDS)}
        self.at: Millis = 1_795_000_000_000
        self.fresh, self.races, self.restarts = fresh, races, restarts
        self.replicas = random.Random(f"{seed}/replicas")
        """Draws what befalls replicas besides: where they begin, and how far their clocks are behind."""
        self.late = self.replicas.random() < 0.3
        self.routed = self.replicas.random() < 0.5
        """Whether facts about a workload are told to the partition alone that decides about its namespace."""
        self.saved: dict[str, SavedBase] = {}
        together = self.chance.random() < 0.4
        self.names: list[tuple[str, ...]] = (
            [("queue-manager", "admitter", "preemptor")]
            if together
            else [("queue-manager",), ("admitter",), ("preemptor",)]
        )
        self.hosts = [self._host(PARTITION, each) for each in (*self.names, *self.names)]
        self.hosts += [self._host(CARDS, ("accountant",)) for _ in range(2)]
        self.followers = {partition: PartitionFold(partition) for partition in (PARTITION, CARDS)}
        self.turns = self.compared = 0
        self._seen: tuple[int, World] | None = None

    @property
    def trees(self) -> tuple[str, ...]:
        """The partitions of trees."""
        return tuple(name for name in self.log if family_of(name) == LOG)

    def divide(self, partitions: int) -> None:
        """So many partitions of trees, each with replicas of its own."""
        for name in (decisions_stream(str(number)) for number in range(1, partitions)):
            self.log[name] = []
            self.followers[name] = PartitionFold(name)
            self.hosts += [self._host(name, each) for each in (*self.names, *self.names)]

    def join(self, names: Iterable[str]) -> None:
        """Two replicas more of each of these services."""
        self.hosts += [self._host(each, (name,)) for name in names for each in self.trees for _ in range(2)]

    def _host(self, partition: str, names: Sequence[str]) -> Host:
        return Host(self.log, partition, names, self.replicas.choice((0, 0, 3, 2_000, 90_000)) if self.late else 0)

    @property
    def world(self) -> World:
        """What is true by the last commit of the partition of trees; where there are several, by all that is on the log."""
        stored = sum(map(len, self.log.values()))
        if self._seen is None or self._seen[0] != stored or len(self.trees) == 1:
            self._seen = stored, composed([self._settled(name) for name in self.trees])
        return self._seen[1]

    def home(self, workload: str) -> str:
        """The partition in which a workload is decided."""
        return next((name for name in self.trees if workload in self._settled(name).workloads), PARTITION)

    def decision(self, workload: str, sequence: int) -> str:
        """A decision about a workload, as it is named."""
        return f"{self.home(workload)}/{sequence}"

    def _settled(self, partition: str) -> World:
        follower = self.followers[partition]
        self._follow(follower, len(self.log[partition]), ())
        if len(self.trees) > 1:  # One that has nothing to say would never be seen.
            follower.fold_inputs()
        return follower.world

    def tell(self, *facts: Fact) -> None:
        for fact in facts:
            stored, kind = self.log[FACTS], type(fact).__name__
            alone = self.world.namespace_homes.get(namespace_of(fact), "") if self.routed and is_routed(fact) else ""
            subject = routed_subject(alone, kind) if alone else fact_subject("", kind)
            name = f"f{len(stored) + 1}"
            data = encode(Sighting(id=name, at=self.at, author=_AUTHOR_OF[type(fact)], fact=fact))
            stored.append(Entry(stream=FACTS, sequence=len(stored) + 1, subject=subject, message_id=name, data=data))

    def rest(self, most: int = 500) -> None:
        """Let them speak in any order until nobody seems to have anything to say, which they come to."""
        silent = 0
        for _ in range(most):
            silent = 0 if self.turn() else silent + 1
            if silent > 2 * len(self.hosts):
                return
        raise AssertionError("the deciders never come to rest")

    def settle(self, most: int = 50) -> None:
        """Let each of them speak in turn, undisturbed and on all that is there, until nobody has anything to say."""
        self.races = 0.0
        for _ in range(most):
            if not any([self.speak(host, name, None) for host in self.hosts for name in host.names]):
                return
        raise AssertionError("the deciders go on and on")

    def turn(self) -> bool:
        """Somebody speaks, or something befalls him; whether anything was written."""
        host = self.chance.choice(self.hosts)
        if self.chance.random() < self.restarts:
            host.start(self.saved.get(host.partition) if self.replicas.random() < 0.5 else None)
        name = self.chance.choice(host.names)
        return self.speak(host, name, self.chance.choice((None, None, 1, 3)))

    def speak(self, host: Host, name: str, most: int | None) -> bool:
        self.turns += 1
        host.catch_up(most)
        fold = host.fold
        world, at = fold.world, max(fold.at, self.at - host.behind)
        world.advance(at)
        if not knows_its_trees(world):
            return False
        mark = world.mark()
        place = LogPosition(partition=fold.partition, sequence=fold.base + 1, at=at)
        events = host.deciders[name].decide(world, place)
        self.compare(fold, name, place, events)
        host.silent = 0 if events else host.silent + 1
        if host.silent >= len(host.names) and self.chance.random() < 0.8:
            world.leave_cards()
        if not events:
            return False
        if self.chance.random() < self.races:
            world.take_back(mark)
            return True
        data = self.commit(fold, name, events, at)
        fold.settled_as_decided(fold.base + 1, data, decode_commit(data))
        if self.replicas.random() < 0.05:
            self.saved[fold.partition] = saved(fold)
        return True

    def commit(self, fold: PartitionFold, author: str, events: Sequence[Decision], at: Millis) -> bytes:
        stored = self.log[fold.partition]
        commit = Commit(
            id=f"{fold.partition}{len(stored) + 1}",
            prev_hash=fold.prev_hash,
            partition=fold.partition,
            base=fold.base,
            inputs=fold.runs,
            author=author,
            epoch=0,
            rules="1",
            at=at,
            events=tuple(events),
        )
        data = encode(commit)
        stored.append(
            Entry(
                stream=fold.partition,
                sequence=fold.base + 1,
                subject=commit_subject(fold.partition, author),
                message_id=commit.id,
                data=data,
            )
        )
        return data

    def compare(self, fold: PartitionFold, name: str, position: LogPosition, events: Sequence[Decision]) -> None:
        """The same place is decided about on the log alone."""
        said = [encode(event) for event in events]
        for kind, world in self.others(fold):
            world.advance(position.at)
            mark = world.mark()
            again = [encode(event) for event in MAKERS[name]().decide(world, position)]
            world.take_back(mark)
            self.compared += 1
            assert said == again, (
                f"{kind}: {name} at {position.partition}/{position.sequence}\n  said  {said}\n  again {again}"
            )

    def others(self, fold: PartitionFold) -> Iterable[tuple[str, World]]:
        follower = self.followers[fold.partition]
        self._follow(follower, fold.base, fold.runs)
        follower.world.shortcuts = False
        yield "without shortcuts", follower.world
        roll = self.chance.random()
        if roll < self.fresh / 2:
            other = PartitionFold(fold.partition)
            self._follow(other, fold.base, fold.runs)
            yield "from zero", other.world
            other = PartitionFold(fold.partition)
            self._follow(other, fold.base, fold.runs)
            other.world.shortcuts = False
            yield "from zero, without shortcuts", other.world
        elif roll < self.fresh:
            settled = PartitionFold(fold.partition)
            self._follow(settled, fold.base, ())
            restored = saved(settled).begun(fold.partition)
            assert state_hash(restored.world) == state_hash(settled.world)
            assert indexes(restored.world) == indexes(settled.world)
            self._follow(restored, fold.base, fold.runs)
            yield "from a snapshot", restored.world

    def _follow(self, fold: PartitionFold, base: int, runs: Sequence[InputRun]) -> None:
        fold.rewind()
        if fold.base > base:  # Whoever decides now is behind.
            partition = fold.partition
            fold.__init__(partition)
        follow(fold, self.log, base)
        offer(fold, self.log)
        fold.fold_ahead(runs)


def indexes(world: World) -> dict[str, dict[str, list[str]]]:
    """What is kept beside the tables so that things are found by others: it says no more than they do."""
    kept = {
        "doors": world.local_queues_of,
        "by_local_queue": world.by_local_queue,
        "provisioning_of": world.provisioning_of,
        "holding": world.holding,
    }
    return {name: {key: sorted(table[key]) for key in sorted(table) if [*table[key]]} for name, table in kept.items()}


__all__ = ["Host", "Hosts", "bytes_hash"]
