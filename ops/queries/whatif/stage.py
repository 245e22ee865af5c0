"""Where a run takes place: it takes in facts, and the deciders take turns on it."""

from typing import Protocol

from events.catalogue import Decision, Fact
from events.event import Millis
from ops.production.deciders import all_deciders
from ops.production.log.streams import SOLE
from projections.evolve import evolve
from projections.log_position import LogPosition
from projections.world import World

FAR = 1 << 40
"""Sequences of facts that are only thought of: behind everything that is on a log."""


class Stage(Protocol):
    """A world that takes in facts, and on which deciders take turns."""

    @property
    def world(self) -> World:
        """What is true on the partition of admission."""
        ...

    def observe(self, fact: Fact, at: Millis) -> None:
        """A fact was observed."""
        ...

    def turn(self, at: Millis) -> list[Decision]:
        """Let every decider decide once; what they decided."""
        ...


class OneWorld:
    """The deciders of both partitions on one world, as services in one process take turns; nothing is stored.

    Within a trial nothing is settled: all of it can be undone.
    """

    def __init__(self, world: World, sequence: int = 0, *, trial: bool = False) -> None:
        self.world, self._trial = world, trial
        self._sequence, self._facts = sequence, 0
        self._deciders = all_deciders()

    def observe(self, fact: Fact, at: Millis) -> None:
        """Fold a fact."""
        self._facts += 1
        evolve(self.world, fact, LogPosition(partition="FACTS", sequence=FAR + self._facts, at=at))

    def turn(self, at: Millis) -> list[Decision]:
        """Let each decider decide once; what they decided."""
        world, decisions = self.world, list[Decision]()
        world.advance(at)
        for decider in self._deciders:
            events = decider.decide(world, LogPosition(partition=SOLE.sole, sequence=self._sequence + 1, at=at))
            if events:
                self._sequence += 1
                decisions.extend(events)
        if not self._trial:
            world.settle()
        if not decisions:
            world.leave_cards()
        return decisions
