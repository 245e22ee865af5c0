"""When those who wait will start, if what is known goes on: the deciders play on in virtual time, and all of it is undone."""

import time
from collections.abc import Callable

import msgspec

from events.admission import WorkloadAdmitted
from events.catalogue import Decision, Fact
from events.event import Millis
from ops.queries.whatif.run import VirtualRun
from ops.queries.whatif.run_times import RunTimes
from ops.queries.whatif.stage import OneWorld
from projections.world import World

_GUESSED = 50
"""Of the run times of a class the middle one is taken."""


class ExpectedStarts(msgspec.Struct, frozen=True, kw_only=True):
    """A guess: nobody else comes, and jobs run as long as those of their queue and priority did."""

    at: Millis
    """As of when."""
    known_runs: int
    """How many run times it rests on."""
    upto: Millis | None
    """Up to which moment it was played; None when until nobody else would start."""
    starts: dict[str, Millis]
    """By workload that waits."""


class _Watched:
    """A stage that takes note of who is admitted."""

    def __init__(self, world: World) -> None:
        self._stage = OneWorld(world, trial=True)
        self.admitted: dict[str, Millis] = {}

    @property
    def world(self) -> World:
        """What is true there."""
        return self._stage.world

    def observe(self, fact: Fact, at: Millis) -> None:
        """A fact was observed."""
        self._stage.observe(fact, at)

    def turn(self, at: Millis) -> list[Decision]:
        """Let every decider decide once; what they decided."""
        decisions = self._stage.turn(at)
        for event in decisions:
            if isinstance(event, WorkloadAdmitted):
                self.admitted.setdefault(event.workload, at)
        return decisions


def expected_starts(
    world: World, at: Millis, times: RunTimes, *, patience_s: float, clock: Callable[[], float] = time.monotonic
) -> ExpectedStarts:
    """When each workload that waits would be admitted. The world is left as it was.

    It takes about `patience_s` at most, then it says how far it has come. Where no run time is known, nothing is said about
    anybody who would have to wait for another's end.
    """
    waiting = {key for key, one in world.workloads.items() if not (one.admitted or one.finished)}
    end = clock() + patience_s
    with world.trial(deciding=True):
        world.review_all()
        stage = _Watched(world)
        run = VirtualRun(stage, times.course(), (), at=at, quantile=_GUESSED)
        goes_on = True
        while waiting - stage.admitted.keys() and goes_on and clock() < end:
            goes_on = run.go_on(1)
            if not times.known and run.now > at:
                goes_on = False
        cut_short = goes_on and bool(waiting - stage.admitted.keys())
        starts = {
            key: start for key, start in stage.admitted.items() if key in waiting and (times.known or start <= at)
        }
        return ExpectedStarts(at=at, known_runs=times.known, upto=run.now if cut_short else None, starts=starts)
