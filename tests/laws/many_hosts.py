"""Services of both partitions, two of each, in one thread: they fold late, lose races, start anew, and write one log.

At every turn the law is held against it: whoever starts now on the log alone, without any shortcut, says the same bytes.
"""

import random
from collections.abc import Callable, Iterable, Sequence

from events.authors import AUTHORS
from events.catalogue import Decision, Fact
from events.codec import decode_commit, encode
from events.commit import Commit, InputRun, Sighting
from events.event import Millis
from events.hash_chain import bytes_hash
from events.subjects import CONTROL, FACTS, commit_subject, fact_subject
from projections.log_position import LogPosition
from projections.snapshot import tables_of, world_of
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
INPUTS = {PARTITION: (CARDS, FACTS), CARDS: (FACTS, PARTITION)}
MAKERS: dict[str, tuple[str, Callable[[], Decider]]] = {
    "queue-manager": (PARTITION, QueueManager),
    "admitter": (PARTITION, Admitter),
    "preemptor": (PARTITION, Preemptor),
    "multikueue": (PARTITION, MultiKueue),
    "accountant": (CARDS, Accountant),
}
_AUTHOR_OF = {kind: one.name for one in AUTHORS.values() if one.family == FACTS for kind in one.says}
Log = dict[str, list[Entry]]


class Host:
    """One process with one decider or several of one partition."""

    def __init__(self, log: Log, partition: str, names: Sequence[str]) -> None:
        self.log, self.partition, self.names = log, partition, tuple(names)
        self.start()

    def start(self) -> None:
        """Begin on the log alone."""
        self.fold = PartitionFold(self.partition)
        self.deciders = {name: MAKERS[name][1]() for name in self.names}
        self.silent = 0

    def catch_up(self, most: int | None) -> None:
        """Fold what others have decided, then so many inputs."""
        follow(self.fold, self.log, len(self.log[self.partition]))
        for name in INPUTS[self.partition]:
            self.fold.offer(name, self.log[name][self.fold.received(name) :])
        self.fold.fold_inputs(most)


def follow(fold: PartitionFold, log: Log, upto: int) -> None:
    """Fold the commits of a partition up to a sequence."""
    for entry in log[fold.partition][fold.base : upto]:
        commit = fold.decode(entry)
        assert commit is not None
        for name in INPUTS[fold.partition]:
            fold.offer(name, log[name][fold.received(name) :])
        fold.fold_commit(entry, commit)


class Hosts:
    """All of them, and the law. `fresh` says how often somebody is begun from zero; else a follower that never decided."""

    def __init__(self, seed: int, *, fresh: float = 0.1, races: float = 0.1, restarts: float = 0.05) -> None:
        self.chance = random.Random(seed)
        self.log: Log = {name: [] for name in (CONTROL, FACTS, PARTITION, CARDS)}
        self.at: Millis = 1_795_000_000_000
        self.fresh, self.races, self.restarts = fresh, races, restarts
        together = self.chance.random() < 0.4
        names = (
            [("queue-manager", "admitter", "preemptor")]
            if together
            else [("queue-manager",), ("admitter",), ("preemptor",)]
        )
        self.hosts = [Host(self.log, PARTITION, each) for each in (*names, *names)]
        self.hosts += [Host(self.log, CARDS, ("accountant",)) for _ in range(2)]
        self.followers = {partition: PartitionFold(partition) for partition in INPUTS}
        self.turns = self.compared = 0

    def join(self, names: Iterable[str]) -> None:
        """Two replicas more of each of these services."""
        self.hosts += [Host(self.log, MAKERS[name][0], (name,)) for name in names for _ in range(2)]

    @property
    def world(self) -> World:
        """What is true on the partition of admission by its last commit."""
        follower = self.followers[PARTITION]
        self._follow(follower, len(self.log[PARTITION]), ())
        return follower.world

    def tell(self, *facts: Fact) -> None:
        for fact in facts:
            stored, kind = self.log[FACTS], type(fact).__name__
            name = f"f{len(stored) + 1}"
            data = encode(Sighting(id=name, at=self.at, author=_AUTHOR_OF[type(fact)], fact=fact))
            stored.append(
                Entry(
                    stream=FACTS, sequence=len(stored) + 1, subject=fact_subject("", kind), message_id=name, data=data
                )
            )

    def rest(self, most: int = 500) -> None:
        """Let them speak in any order until nobody seems to have anything to say, which they come to."""
        silent = 0
        for _ in range(most):
            silent = 0 if self.turn() else silent + 1
            if silent > 2 * len(self.hosts):
                return
        raise AssertionError("the deciders never come to rest")

    def turn(self) -> bool:
        """Somebody speaks, or something befalls him; whether anything was written."""
        host = self.chance.choice(self.hosts)
        if self.chance.random() < self.restarts:
            host.start()
        name = self.chance.choice(host.names)
        return self.speak(host, name, self.chance.choice((None, None, 1, 3)))

    def speak(self, host: Host, name: str, most: int | None) -> bool:
        self.turns += 1
        host.catch_up(most)
        fold = host.fold
        world, at = fold.world, max(fold.at, self.at)
        world.advance(at)
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
            again = [encode(event) for event in MAKERS[name][1]().decide(world, position)]
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
            restored = PartitionFold(fold.partition, world_of(tables_of(settled.world)))
            assert state_hash(restored.world) == state_hash(settled.world)
            assert indexes(restored.world) == indexes(settled.world)
            restored.restore(base=settled.base, prev_hash=settled.prev_hash, at=settled.at, settled=settled.settled)
            self._follow(restored, fold.base, fold.runs)
            yield "from a snapshot", restored.world

    def _follow(self, fold: PartitionFold, base: int, runs: Sequence[InputRun]) -> None:
        fold.rewind()
        if fold.base > base:  # Whoever decides now is behind.
            partition = fold.partition
            fold.__init__(partition)
        follow(fold, self.log, base)
        for name in INPUTS[fold.partition]:
            fold.offer(name, self.log[name][fold.received(name) :])
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
