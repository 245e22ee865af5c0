"""A trial on a folded world: facts are folded, deciders take turns until none decides anything; all of it is undone."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from events.catalogue import Decision, Fact
from events.event import Millis
from ops.production.deciders import all_deciders
from ops.production.log.streams import SOLE
from projections.evolve import evolve
from projections.log_position import LogPosition
from projections.world import World

T = TypeVar("T")
_TURNS = 60
_FAR = 1 << 40
"""Sequences of what is only tried: behind everything that is on the log."""


def tried(
    world: World, facts: Sequence[Fact], at: Millis, look: Callable[[World], T], done: Callable[[World], bool]
) -> T:
    """What `look` returns behind these facts and the decisions that follow from them, or as soon as `done` holds."""
    with world.trial(deciding=True):
        for number, fact in enumerate(facts):
            evolve(world, fact, thought_of(at, number))
        settle_down(world, at, done)
        return look(world)


def thought_of(at: Millis, number: int = 0) -> LogPosition:
    """The place of a fact that is only thought of."""
    return LogPosition(partition="FACTS", sequence=_FAR + number, at=at)


def settle_down(world: World, at: Millis, done: Callable[[World], bool]) -> list[Decision]:
    """Let the deciders take turns until none decides anything or `done` holds, for so many turns at most; what they decided."""
    deciders, found = all_deciders(), list[Decision]()
    for turn in range(_TURNS):
        decisions = [
            one.decide(world, LogPosition(partition=SOLE.sole, sequence=_FAR + turn, at=at)) for one in deciders
        ]
        found.extend(event for events in decisions for event in events)
        if not any(decisions) or done(world):
            break
    return found
