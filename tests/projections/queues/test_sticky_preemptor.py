"""Who comes first as a preemptor keeps no place from that when another one comes first: a saved world has the same order.

Rule: docs/rules/queues.md#preemptor-first
"""

from msgspec.structs import replace

from projections.queues.enqueue import remember_preemptor
from projections.queues.order import place_of
from projections.snapshot import tables_of, world_of
from tests.stories.small_world import Story, job, platform


def test_a_refused_workload_that_was_the_preemptor_falls_back_to_its_place_where_another_one_is_that() -> None:
    story = Story()
    story.told(*platform(), job("a"), job("b"))
    world = story.world
    line, first, second = (
        world.lines.of("cq"),
        *(replace(world.workloads[key], line="cq") for key in ("team/a", "team/b")),
    )
    world.put_workload(first)
    remember_preemptor(world, first, "cq")
    line.park_refused(world.trail, place_of(world, first, "k", "WaitingForQuota"), stamp=7)
    remember_preemptor(world, second, "cq")
    assert line.classes["k"].members == [place_of(world, first, "k", "WaitingForQuota")]
    assert line.classes["k"].stamp == 7
    again = world_of(tables_of(world)).lines.of("cq")
    assert again.classes["k"].members == line.classes["k"].members
