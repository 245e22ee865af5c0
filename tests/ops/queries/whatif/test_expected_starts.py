"""Starts that are foreseen are those of a fork that runs on; asking changes nothing and takes no longer than it may."""

from collections.abc import Callable, Iterator

import pytest

from events.event import Millis
from ops.queries.explaining import world_at
from ops.queries.point import Point, point_at
from ops.queries.stored import in_order
from ops.queries.whatif.change import ForkChanges
from ops.queries.whatif.course import RecordedCourse
from ops.queries.whatif.expected_starts import ExpectedStarts, expected_starts
from ops.queries.whatif.fork import Fork, RunPlan
from ops.queries.whatif.run_times import RunTimes
from ops.sandbox.bench.day import played, small_day
from projections.explanation.read_models import state_of
from projections.state_hash import state_hash
from projections.world import World
from services.runtime.log_port import Entry

AT = "+3h"
LONG_S = 600.0
Log = dict[str, list[Entry]]


class AsRecorded(RunTimes):
    """Knows how long everybody will run."""

    def __init__(self, course: RecordedCourse) -> None:
        super().__init__()
        self._course = course

    @property
    def known(self) -> int:
        return len(self._course.runs)

    def course(self) -> RecordedCourse:
        return self._course


def ticking(step: float = 0.0) -> Callable[[], float]:
    """A clock that goes on by so much each time it is asked."""
    ticks: Iterator[int] = iter(range(1_000_000))
    return lambda: next(ticks) * step


def foreseen(
    world: World, at: Millis, times: RunTimes, *, patience_s: float = LONG_S, step: float = 0.0
) -> ExpectedStarts:
    return expected_starts(world, at, times, patience_s=patience_s, clock=ticking(step))


def waiting(world: World) -> set[str]:
    return {key for key, one in world.workloads.items() if state_of(one).word == "pending"}


@pytest.fixture(scope="module", params=[6, 20, 22])
def log(request: pytest.FixtureRequest) -> Log:
    return played(small_day(request.param))[0]


@pytest.fixture
def point(log: Log) -> Point:
    return point_at(log, AT)


def test_they_are_the_admissions_of_a_fork_in_which_nobody_else_comes(log: Log, point: Point) -> None:
    fork = Fork(log, AT, ForkChanges())
    world = world_at(point)
    told = fork.play(RunPlan(name="a", recorded=False)).outcomes
    found = foreseen(world, point.at, AsRecorded(Fork(log, AT, ForkChanges()).course))
    assert found.upto is None
    first = {key for key in waiting(world) if world.workloads[key].admitted_at is None}
    assert {key: at for key, at in found.starts.items() if key in first} == {
        key: told[key].admitted for key in first if told[key].admitted is not None
    }


def test_the_world_is_as_it_was_and_the_answer_is_the_same_again(log: Log, point: Point) -> None:
    world, times = world_at(point), AsRecorded(Fork(log, AT, ForkChanges()).course)
    before = state_hash(world)
    found = foreseen(world, point.at, times)
    assert state_hash(world) == before
    world.leave_cards()
    assert foreseen(world, point.at, times) == found


def test_it_stops_when_its_time_is_up_and_says_how_far_it_came(log: Log, point: Point) -> None:
    world, times = world_at(point), AsRecorded(Fork(log, AT, ForkChanges()).course)
    whole = foreseen(world, point.at, times)
    part = foreseen(world, point.at, times, patience_s=6, step=1)
    assert part.upto is not None
    assert part.starts.items() < whole.starts.items()
    assert all(at <= (part.upto or at) for at in part.starts.values())


def test_without_any_run_time_nothing_is_said_about_who_waits_for_anothers_end(point: Point) -> None:
    world = world_at(point)
    found = foreseen(world, point.at, RunTimes())
    assert found.known_runs == 0
    assert all(at <= point.at for at in found.starts.values())


def test_run_times_are_the_same_in_the_order_of_time_and_stream_by_stream(log: Log) -> None:
    by_time, by_stream = RunTimes(), RunTimes()
    told = list(in_order(log))
    for one in told:
        by_time.note(one.event, one.at)
    for one in sorted(told, key=lambda one: one.entry.stream == "FACTS"):
        by_stream.note(one.event, one.at)
    assert by_time.known == by_stream.known > 0
    assert by_time.course().every == by_stream.course().every
    assert by_time.course().every == sorted(Fork(log, "", ForkChanges()).course.runs.values())


def test_who_runs_longer_than_those_alike_is_not_taken_to_end_at_once() -> None:
    course = RecordedCourse(known={("a/q", 0): [10, 20, 30]}, every=[10, 20, 30], classes={"a/w": ("a/q", 0)})
    assert [course.run_of("a/w", 50, elapsed=elapsed) for elapsed in (0, 15, 25)] == [20, 30, 30]
    assert course.run_of("a/w", 50, elapsed=40) == 80
