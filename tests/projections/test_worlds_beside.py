"""What several worlds of a process hold alike is held once, and each is what it would be alone."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from ops.sandbox.bench.waiting import WaitingLoad, WaitingRun
from projections.snapshot import tables_of, world_of
from projections.state_hash import state_hash
from projections.workloads.in_cluster import InCluster
from projections.world import World

QUEUES = 3


@pytest.fixture(scope="module", name="worlds")
def _worlds() -> list[World]:
    """Those of admission and of cards, as one process holds them, with jobs that run and jobs that wait."""
    run = WaitingRun(WaitingLoad(workloads=60, queues=QUEUES, more=1))
    run.run()
    return run.partitions.worlds


def held_once(worlds: Sequence[World]) -> bool:
    """Whether all hold the same records and places in line, which are not only alike."""
    first, *others = worlds
    records = all(first.workloads[key] is other.workloads[key] for other in others for key in first.workloads)
    places = [
        first.lines.refused_place(one.line, one.key) is other.lines.refused_place(one.line, one.key)
        for other in others
        for one in first.workloads.values()
        if first.lines.of(one.line).refused_as(one.key) is not None
    ]
    return records and bool(places) and all(places)


def test_workloads_and_their_places_in_line_are_held_once(worlds: list[World]) -> None:
    assert len(worlds) > 1 and held_once(worlds)
    first, *others = (world.versions.known for world in worlds)
    assert first and all(first[place] is other[place] for other in others for place in first)


def test_saved_worlds_hold_them_once_as_soon_as_they_stand_beside_each_other_and_are_what_they_were(
    worlds: list[World],
) -> None:
    before = [state_hash(world) for world in worlds]
    again = [world_of(tables_of(world)) for world in worlds]
    assert not held_once(again)
    for world in again:
        world.stand_beside(one for one in again if one is not world)
    assert held_once(again)
    assert [state_hash(world) for world in again] == before
    assert [tables_of(world) for world in again] == [tables_of(world) for world in worlds]


def test_what_one_world_only_tries_changes_nothing_in_the_others(worlds: list[World]) -> None:
    first, second = worlds
    key = min(first.workloads)
    known = first.workloads[key]
    with first.trial():
        first.put_workload(replace(known, in_cluster=InCluster(start_failed="tried")))
        assert second.workloads[key] is known
        second.put_workload(replace(known))
        assert second.workloads[key] == known
    assert first.workloads[key] is known
    second.put_workload(replace(known))
    assert second.workloads[key] is known
