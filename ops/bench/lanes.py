"""Both lanes in virtual time, written as services write them: sightings, commits with their inputs, chained by hash.

What comes out is a log like any other: it can be replayed, verified, explained, audited.
"""

import hashlib
from collections.abc import Sequence

from events.catalogue import Decision, Fact
from events.codec import encode
from events.commit import Commit, Sighting
from events.event import Millis
from events.subjects import CONTROL, FACTS, commit_subject, fact_subject
from ops.wiring import DEVICE_LANE, LANE, RULES
from projections.place import Place
from projections.world import World
from services.accountant.decide import Accountant
from services.admitter.decide import Admitter
from services.lane_fold import LaneFold
from services.lane_host import Decider
from services.log_port import Entry
from services.preemptor.decide import Preemptor
from services.queue_manager.decide import QueueManager


class RecordedLanes:
    """A stage that keeps a log of everything that happens on it."""

    def __init__(self, *, cards: bool = True) -> None:
        self.entries: dict[str, list[Entry]] = {name: [] for name in (CONTROL, FACTS, LANE, DEVICE_LANE)}
        self._lanes = [_Lane(LANE, (DEVICE_LANE, FACTS), (QueueManager(), Admitter(), Preemptor()))]
        if cards:
            self._lanes.append(_Lane(DEVICE_LANE, (FACTS, LANE), (Accountant(),)))

    @property
    def world(self) -> World:
        """What is true on the lane of admission."""
        return self._lanes[0].fold.world

    def tell(self, fact: Fact, at: Millis) -> None:
        """Store a sighting."""
        stored = self.entries[FACTS]
        kind = type(fact).__name__
        sequence = len(stored) + 1
        name = f"{sequence}:{kind}"
        data = encode(Sighting(id=name, at=at, author="watcher", fact=fact))
        entry = Entry(stream=FACTS, sequence=sequence, subject=fact_subject("", kind), message_id=name, data=data)
        stored.append(entry)

    def turn(self, at: Millis) -> list[Decision]:
        """Let everybody on each lane speak once."""
        said: list[Decision] = []
        for lane in self._lanes:
            said.extend(lane.turn(self.entries, at))
        return said


class _Lane:
    def __init__(self, name: str, inputs: Sequence[str], deciders: Sequence[Decider]) -> None:
        self.fold = LaneFold(name)
        self._inputs, self._deciders = tuple(inputs), tuple(deciders)

    def turn(self, entries: dict[str, list[Entry]], at: Millis) -> list[Decision]:
        fold, said = self.fold, list[Decision]()
        for name in self._inputs:
            fold.offer(name, entries[name][fold.received(name) :])
        fold.fold_inputs()
        at = max(fold.at, at)
        fold.world.advance(at)
        for decider in self._deciders:
            events = decider.decide(fold.world, Place(lane=fold.lane, sequence=fold.base + 1, at=at))
            if events:
                self._store(entries[fold.lane], decider.name, events, at)
                said.extend(events)
        if not said:
            fold.world.reviewed()
        return said

    def _store(self, stored: list[Entry], author: str, events: Sequence[Decision], at: Millis) -> None:
        fold = self.fold
        name = hashlib.sha256(f"{fold.lane} {fold.base} {fold.prev_hash}".encode()).hexdigest()[:32]
        commit = Commit(
            id=name,
            prev_hash=fold.prev_hash,
            partition=fold.lane,
            base=fold.base,
            inputs=fold.runs,
            author=author,
            epoch=fold.world.epochs.get(author, 0),
            rules=RULES,
            at=at,
            events=tuple(events),
        )
        data = encode(commit)
        sequence = fold.base + 1
        subject = commit_subject(fold.lane, author)
        stored.append(Entry(stream=fold.lane, sequence=sequence, subject=subject, message_id=name, data=data))
        fold.settled_as_decided(sequence, data, commit)
