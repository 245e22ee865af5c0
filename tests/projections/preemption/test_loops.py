"""Workloads that preempt and are preempted again and again are told as a loop, and one that is only preempted often is not."""

from collections.abc import Callable
from functools import partial

import pytest
from msgspec.structs import replace

from events.catalogue import AnyEvent
from events.preemption import PreemptionOrdered
from events.workload import WorkloadDeleted, WorkloadFinished
from projections.evolve import evolve
from projections.log_position import LogPosition
from projections.preemption.loops import IN_VAIN, PreemptionLoop, preemption_loops
from projections.world import World
from tests.services.queue_manager.waiting_room import KEY, MINUTE, submitted

OTHER, THIRD = "team/other", "team/third"


def world_with_three() -> World:
    world = World()
    for sequence, key in enumerate((KEY, OTHER, THIRD)):
        evolve(world, replace(submitted(reserved=True, admitted_at=MINUTE), workload=key, uid=key), place(sequence))
    return world


def place(sequence: int) -> LogPosition:
    return LogPosition(partition="LOG_0", sequence=sequence, at=MINUTE)


def preempt(world: World, *pairs: tuple[str, str]) -> None:
    for sequence, (preemptor, victim) in enumerate(pairs, 10):
        evolve(world, PreemptionOrdered(workload=victim, preemptor=preemptor, reason="r", message="m"), place(sequence))


def test_two_that_take_turns_are_a_loop_after_the_second_one() -> None:
    world = world_with_three()
    preempt(world, (KEY, OTHER), (OTHER, KEY), (KEY, OTHER))
    assert preemption_loops(world) == []
    preempt(world, (OTHER, KEY))
    assert preemption_loops(world) == [PreemptionLoop(by=OTHER, workload=KEY, other=OTHER, turns=2)]


def test_who_is_preempted_by_one_and_preempts_another_again_and_again_is_a_loop() -> None:
    world = world_with_three()
    preempt(world, (KEY, OTHER), (OTHER, THIRD), (KEY, OTHER))
    assert preemption_loops(world) == []
    preempt(world, (OTHER, THIRD), (KEY, OTHER))
    assert preemption_loops(world) == [PreemptionLoop(by=KEY, workload=OTHER, other=THIRD, turns=2)]


def test_one_that_is_always_the_victim_is_in_no_loop() -> None:
    world = world_with_three()
    preempt(world, *[(KEY, OTHER)] * 5, (THIRD, KEY), (OTHER, THIRD))
    assert preemption_loops(world) == []


def test_who_preempts_the_same_one_and_waits_on_is_a_loop() -> None:
    world = world_with_three()
    waits = "team/waits"
    evolve(world, replace(submitted(), workload=waits, uid=waits), place(5))
    preempt(world, *[(waits, OTHER)] * (IN_VAIN - 1))
    assert preemption_loops(world) == []
    preempt(world, (waits, OTHER))
    (found,) = preemption_loops(world)
    assert found.message == f"{waits} has preempted {OTHER} 3 times and was not let in"


@pytest.mark.parametrize("gone", [KEY, OTHER])
@pytest.mark.parametrize("end", [WorkloadDeleted, partial(WorkloadFinished, reason="Succeeded")], ids=("gone", "done"))
def test_a_loop_ends_with_either_of_the_two(end: Callable[..., AnyEvent], gone: str) -> None:
    world = world_with_three()
    preempt(world, *[(KEY, OTHER), (OTHER, KEY)] * 2)
    assert preemption_loops(world)
    evolve(world, end(workload=gone), place(30))
    assert preemption_loops(world) == []


def test_only_the_latest_preemptors_are_remembered() -> None:
    world = world_with_three()
    preempt(world, (THIRD, KEY), *[(f"team/{number}", KEY) for number in range(8)], (THIRD, KEY))
    assert len(world.workloads[KEY].stops.preempted_by) == 8
    assert world.workloads[KEY].stops.preempted_by[-1] == (THIRD, 1)
