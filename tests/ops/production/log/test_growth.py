"""A log of which the beginning was rolled away grows: new partitions begin as forks without trees.

Rule: docs/rules/log.md#grown
"""

import pytest
from msgspec.structs import replace

from events.catalogue import Fact
from events.codec import decode_sighting
from events.control import ForkedFrom, LogPartitioned
from events.partition_map import PartitionForked, PartitionMapObserved
from events.quota import LocalQueueObserved
from events.subjects import CONTROL, FACTS
from events.workload import WorkloadFinished
from ops.production.log.control import say
from ops.production.log.partitioning import Division, PartitionsRefused, carry_out, division_of, rolled_away
from ops.queries.explaining import world_at
from ops.queries.point import point_at
from ops.queries.replay import fold_partition, fold_up
from ops.queries.time_travel import ends_of
from projections.state_hash import state_hash
from services.runtime.control_log import Control
from tests.services.runtime.partition.test_forks import ABOVE, BESIDE, MAP, OTHERS, Day, begun, lets_go
from tests.stories.small_world import job, platform, queue

NEW = (queue("new", nominal=2), LocalQueueObserved(namespace="fresh", name="lq-new", cluster_queue="new"))


async def rolled(*before: Fact) -> Day:
    """A day of one partition whose beginning is not on the bus any more."""
    day = Day()
    await day.tell(*before, *platform(nominal=2), *BESIDE, job("a"), OTHERS, job("b"), job("c"))
    async with day.served() as running:
        await day.decided(running, "LOG_0")
    async with day.served() as running:
        await day.tell(WorkloadFinished(workload="other/j", reason="Succeeded"))
        await day.saved("LOG_0", "DEVICES_default")
        await day.decided(running, "LOG_0", "DEVICES_default")
    for name in ("LOG_0", "DEVICES_default", FACTS):
        day.bus.memory(name).remove(
            min(label.upto.get(name, 0) for key in day.shelf.kept for label in day.shelf.kept[key]) - 1
        )
    assert day.bus.memory(FACTS).first > 1
    return day


async def division(day: Day, partitions: int | None, *places: str) -> Division:
    """What the command comes to."""
    control = Control(day.entries[CONTROL])
    gone = await rolled_away(day.bus)
    world, ends = world_at(point_at(day.entries)), ends_of(day.entries)
    return division_of(world, control.partitions, partitions, places, control, ends=ends, rolled=bool(gone))


async def divided(day: Day, found: Division) -> None:
    await carry_out(day.bus, found, 5000 + len(day.entries[FACTS]))


def asked(name: str) -> Fact:
    return replace(job(name, queue="lq-new"), workload=f"fresh/{name}")


@pytest.mark.parametrize("before", [(), (MAP,)], ids=["never divided", "mapped"])
async def test_new_partitions_of_a_rolled_log_begin_without_trees_and_take_those_that_are_first_asked(
    before: tuple[Fact, ...],
) -> None:
    day = await rolled(*before, NEW[0])
    assert (await rolled_away(day.bus)).startswith(f"{FACTS} begins at ")
    found = await division(day, 3, "queue/new=LOG_2")
    assert [(one.partition, one.origin, one.trees) for one in found.moves] == [(1, 0, ()), (2, 0, ())]
    await divided(day, found)
    async with day.served() as running:
        await day.tell(NEW[1], asked("n"))
        await day.tell(WorkloadFinished(workload="team/a", reason="Succeeded"))
        await day.decided(running, "LOG_0", "LOG_1", "LOG_2", "DEVICES_default")
        await day.saved("LOG_2")
        live = {name: state_hash(running.hosts[name].fold.world) for name in ("LOG_0", "LOG_1", "LOG_2")}
    for name, hashed in live.items():
        fold, replayed = fold_partition(name, day.entries, verify=True)
        assert not replayed.is_wrong and state_hash(fold.world) == hashed
    worlds = {name: fold_up(name, day.entries).world for name in live}
    assert [*worlds["LOG_0"].workloads] == ["team/a", "other/j", "team/b", "team/c"], "who was there goes on there"
    assert not worlds["LOG_1"].workloads and [*worlds["LOG_2"].workloads] == ["fresh/n"]
    admission = worlds["LOG_2"].workloads["fresh/n"].admission
    assert admission is not None and admission.reservation > ABOVE
    assert await lets_go(day, "LOG_0", len(day.entries["LOG_0"]) - 1, whose="LOG_2"), "it has a world of its own by now"


async def test_what_was_broken_off_is_done_again_by_the_same_command() -> None:
    day = await rolled()
    found = await division(day, 3)
    said = tuple(ForkedFrom(partition=one.partition, origin=0, above=one.above) for one in found.moves)
    await say(await day.bus.stream(CONTROL), LogPartitioned(partitions=3, forks=said), 1)
    again = await division(day, 3)
    assert again == replace(found, before=3), "it stands on CONTROL, and no order has come"
    await day.tell(PartitionMapObserved(partitions=1), *again.moves)
    last = await division(day, 3)
    assert (last.moves, last.mapped, last.fresh) == ((), 3, True), (
        "the partitions have begun, and no tree is placed there"
    )
    await divided(day, last)
    assert not (await division(day, 3)).fresh


async def test_a_tree_in_use_moves_on_a_rolled_log_that_has_grown() -> None:
    day = await rolled(MAP)
    await divided(day, await division(day, 2))
    moving = await division(day, None, "queue/cq=LOG_2")
    assert [(one.partition, one.origin, one.trees) for one in moving.moves] == [(2, 0, ("queue/cq",))]
    await divided(day, moving)
    async with day.served() as running:
        await day.decided(running, "LOG_0", "LOG_1", "LOG_2", "DEVICES_default")
    assert [key for key, one in fold_up("LOG_2", day.entries).world.workloads.items() if one.admission] == [
        "team/a",
        "team/b",
    ]
    with pytest.raises(PartitionsRefused, match="a tree in use moves into a partition that the log has not yet"):
        await division(day, None, "queue/b=LOG_1")


async def test_trees_that_move_into_a_partition_each_by_one_command_are_all_ordered_to() -> None:
    day = await begun()
    found = await division(day, None, "queue/cq=LOG_1", "queue/b=LOG_2")
    await divided(day, found)
    facts = [decode_sighting(entry.data).fact for entry in day.entries[FACTS]]
    assert [one.trees for one in facts if isinstance(one, PartitionForked)] == [("queue/cq",), ("queue/b",)]
