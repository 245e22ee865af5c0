"""What a division comes to: which trees stay, which are placed, and which can't be placed any more."""

import pytest
from msgspec.structs import replace

from events.catalogue import AnyEvent
from events.commit import Sighting
from events.control import ForkedFrom, ObjectRemoved
from events.object_version import ObjectVersion
from events.partition_map import PartitionForked, PartitionMapObserved, TreePlacement
from events.quota import FlavorObserved, LocalQueueObserved, TopologyObserved
from events.subjects import CONTROL, FACTS
from ops.production.log.memory import MemoryBus
from ops.production.log.partitioning import divide, division_of
from ops.production.log.streams import DEVICE_PARTITION
from ops.production.log.tree_moves import PartitionsRefused
from projections.evolve import evolve_sighting
from projections.log_position import LogPosition
from projections.state_hash import state_hash
from projections.world import World
from services.runtime.control_log import Control
from services.runtime.log_port import Message
from tests.stories.small_world import Story, job, platform, queue

PLACED = PartitionMapObserved(partitions=3, placements=(TreePlacement(tree="queue/cq", partition=1),))
BESIDE = (queue("b", nominal=8), LocalQueueObserved(namespace="other", name="lq", cluster_queue="b"))


def whole(*facts: AnyEvent, decided: bool = False) -> World:
    """The world that answers for the whole log, as the first partition of an undivided log has it."""
    story = Story()
    story.world.partition = "LOG_0"
    story.told(*facts)
    if decided:
        story.decided()
    return story.world


def test_a_tree_that_is_set_up_and_was_asked_for_nothing_can_be_placed_and_placed_anew() -> None:
    world = whole(PLACED, *platform(), job("a"), *BESIDE)
    before = state_hash(world)
    found = division_of(world, 3, 3, ["queue/b=LOG_2"])
    assert found.staying == {"queue/cq": ("LOG_1",)} and found.fresh
    assert TreePlacement(tree="queue/b", partition=2) in found.placements
    again = whole(
        PLACED, *platform(), job("a"), PartitionMapObserved(partitions=3, placements=found.placements), *BESIDE
    )
    assert TreePlacement(tree="queue/b", partition=0) in division_of(again, 3, 3, ["queue/b=LOG_0"]).placements
    assert state_hash(world) == before, "to look changes nothing"


def test_a_tree_in_use_can_be_placed_where_it_is_and_moves_only_into_a_partition_that_is_new() -> None:
    world = whole(PLACED, *platform(), job("a"), *BESIDE)
    found = division_of(world, 3, 3, ["queue/cq=LOG_1"])
    assert found.staying == {"queue/cq": ("LOG_1",)} and not found.moves
    why = "queue/cq is in use, and a tree in use moves into a partition that the log has not yet: write queue/cq=LOG_3"
    with pytest.raises(PartitionsRefused, match=why):
        division_of(world, 3, 3, ["queue/cq=LOG_2"])
    before = state_hash(world)
    found = division_of(world, 3, None, ["queue/cq=LOG_3", "queue/b=LOG_2"], ends={"LOG_1": 700_000_000})
    (order,) = found.moves
    assert order == PartitionForked(partition=3, origin=1, above=2_000_000_000, trees=("queue/cq",))
    assert (found.partitions, found.mapped) == (4, 3), "trees that come later have no hash there"
    assert TreePlacement(tree="queue/b", partition=2) in found.placements and found.fresh and not found.staying
    assert state_hash(world) == before, "to look changes nothing"


def test_a_log_that_is_whole_is_divided_by_moving_a_tree_away() -> None:
    world = whole(*platform(), job("a"), *BESIDE)
    seen = ObjectVersion(kind="Job", namespace="team", name="a", version=9)
    told = Sighting(id="s", at=5000, author="watcher", about=seen, fact=job("a"))
    evolve_sighting(world, told, LogPosition(partition="FACTS", sequence=9, at=5000))
    found = division_of(world, 1, None, ["queue/cq=LOG_1"], ends={"LOG_0": 17})
    assert [(one.partition, one.origin, one.above) for one in found.moves] == [(1, 0, 1_000_000_000)]
    assert (found.partitions, found.mapped, found.placements) == (2, 1, ())


def test_moving_and_dividing_further_are_two_steps() -> None:
    world = whole(PLACED, *platform(), job("a"), *BESIDE)
    why = "queue/cq is in use and moves, and LOG_4 is to be new besides: write kuelog log partition 5 first"
    with pytest.raises(PartitionsRefused, match=why):
        division_of(world, 3, 6, ["queue/cq=LOG_3"])


def test_a_tree_that_was_asked_for_nothing_is_placed_in_a_fork_only_once_that_has_begun() -> None:
    world = whole(PLACED, *platform(), job("a"), *BESIDE)
    why = "queue/b was asked for nothing yet, and LOG_3 has not begun: move queue/cq there first, and place queue/b in LOG_3 then"
    with pytest.raises(PartitionsRefused, match=why):
        division_of(world, 3, None, ["queue/cq=LOG_3", "queue/b=LOG_3"])
    why = "LOG_3 is to begin as a fork of LOG_1 and has not: move a tree of that there first"
    for places in (["queue/b=LOG_3"], ["queue/cq=LOG_4", "queue/b=LOG_3"]):
        with pytest.raises(PartitionsRefused, match=why):
            division_of(world, 4, None, places, forked(3, 1))
    order = PartitionForked(partition=3, origin=1, above=1_000_000_000, trees=("queue/cq",))
    begun = whole(PLACED, *platform(), job("a"), *BESIDE, order)
    found = division_of(begun, 4, None, ["queue/b=LOG_3"], forked(3, 1))
    assert TreePlacement(tree="queue/b", partition=3) in found.placements and not found.moves


def forked(partition: int, origin: int, above: int = 1_000_000_000) -> Control:
    control = Control()
    control.partitions = partition + 1
    control.forks = {f"LOG_{partition}": ForkedFrom(partition=partition, origin=origin, above=above)}
    return control


def test_a_move_that_was_broken_off_before_its_order_is_done_again_with_the_numbers_that_were_said() -> None:
    world = whole(PLACED, *platform(), job("a"), *BESIDE)
    known = forked(3, 1, above=5_000_000_000)
    found = division_of(world, 4, None, ["queue/cq=LOG_3"], known, ends={"LOG_1": 17})
    assert [(one.partition, one.above) for one in found.moves] == [(3, 5_000_000_000)] and found.mapped == 3
    with pytest.raises(PartitionsRefused, match="LOG_3 begins as a fork of LOG_0, and queue/cq is decided in LOG_1"):
        division_of(world, 4, None, ["queue/cq=LOG_3"], forked(3, 0))
    with pytest.raises(PartitionsRefused, match="LOG_3 is to begin as a fork of LOG_1 and has not: move a tree"):
        division_of(world, 4, 8, [], known)
    assert not division_of(world, 4, 4, [], known).fresh


def test_what_would_be_torn_apart_is_named_with_what_to_do() -> None:
    shared = LocalQueueObserved(namespace="team", name="both", cluster_queue="b")
    (beside,) = (one for one in BESIDE if one is not BESIDE[1])
    in_topology = (
        TopologyObserved(name="racks", levels=("rack",)),
        FlavorObserved(name="v100", topology="racks"),
    )
    one_home = PartitionMapObserved(
        partitions=3,
        placements=(TreePlacement(tree="queue/b", partition=1), TreePlacement(tree="queue/cq", partition=1)),
    )
    asked = (*BESIDE, replace(job("j"), workload="other/j"))
    for facts, why in (
        ((one_home, *platform(), beside, shared, job("a")), "namespace team leads to ClusterQueue cq and to ClusterQueue b of queue/b"),
        ((PLACED, *platform(), beside, shared, job("a")), "LocalQueue team/lq leads to ClusterQueue cq, and its namespace had queues of several"),
        ((one_home, *in_topology, *platform(), *asked, job("a"), *in_topology), "queue/b places pods by the same topology as the trees that move"),
    ):  # fmt: skip
        with pytest.raises(PartitionsRefused, match=why):
            division_of(whole(*facts), 3, None, ["queue/cq=LOG_3"])


def test_trees_that_are_apart_do_not_move_together_and_those_of_one_topology_do() -> None:
    apart = PartitionMapObserved(
        partitions=3, placements=(*PLACED.placements, TreePlacement(tree="queue/b", partition=2))
    )
    asked = (*BESIDE, replace(job("j"), workload="other/j"))
    world = whole(apart, *platform(), *asked, job("a"))
    with pytest.raises(PartitionsRefused, match="trees of LOG_1 and LOG_2 can't move to LOG_3 together"):
        division_of(world, 3, None, ["queue/cq=LOG_3", "queue/b=LOG_3"])
    found = division_of(world, 3, None, ["queue/cq=LOG_3", "queue/b=LOG_4"])
    assert [(one.partition, one.origin, one.trees) for one in found.moves] == [
        (3, 1, ("queue/cq",)),
        (4, 2, ("queue/b",)),
    ]


def test_a_tree_whose_quota_is_held_stays_though_nothing_leads_to_it_any_more() -> None:
    closed = ObjectRemoved(kind="LocalQueue", namespace="team", name="lq")
    world = whole(*platform(), job("a"), decided=True)
    assert world.holders("cq")
    story = Story()
    story.world = world
    story.told(closed)
    with pytest.raises(
        PartitionsRefused, match="workload team/a is in ClusterQueue cq, and namespace team does not move"
    ):
        division_of(world, 1, None, ["queue/cq=LOG_1"])
    assert division_of(world, 1, 3, []).staying == {"queue/cq": ("LOG_0",)}


def test_a_tree_whose_workloads_were_told_before_there_were_versions_stays() -> None:
    world = whole(*platform(), job("a"))
    about = ObjectVersion(kind="ClusterQueue", name="cq", version=7)
    told = Sighting(id="s", at=5000, author="watcher", about=about, fact=queue("cq", nominal=8))
    evolve_sighting(world, told, LogPosition(partition="FACTS", sequence=9, at=5000))
    with pytest.raises(PartitionsRefused, match="queue/cq can't be moved from LOG_0: no queue of queue/cq is decided"):
        division_of(world, 1, None, ["queue/cq=LOG_1"])


def test_of_a_tree_that_is_split_all_partitions_are_named_that_decide_about_its_queues() -> None:
    asked = (*BESIDE, replace(job("j"), workload="other/j"))
    joined = (queue("cq", nominal=8, cohort="both"), queue("b", nominal=8, cohort="both"))
    placed = PartitionMapObserved(
        partitions=3, placements=(*PLACED.placements, TreePlacement(tree="queue/b", partition=2))
    )
    world = whole(placed, *platform(), FlavorObserved(name="v100"), job("a"), *asked, *joined)
    assert division_of(world, 3, 3, []).staying == {"cohort/both": ("LOG_1", "LOG_2")}
    with pytest.raises(PartitionsRefused, match="cohort/both is split among LOG_1 and LOG_2, and a split tree"):
        division_of(world, 3, None, ["cohort/both=LOG_3"])


@pytest.mark.parametrize("rolled", [FACTS, DEVICE_PARTITION])
async def test_new_partitions_are_refused_if_the_beginning_was_rolled_away_meanwhile_and_the_log_is_left_as_it_is(
    rolled: str,
) -> None:
    bus = MemoryBus()
    stream = bus.memory(rolled)
    await stream.publish([Message("kuelog.facts._cluster.X", b"1", "a"), Message("kuelog.facts._cluster.X", b"2", "b")])
    stream.remove(1)
    with pytest.raises(PartitionsRefused, match=f"{rolled} begins at 2: what was before was rolled away meanwhile"):
        await divide(bus, 2, 1000)
    assert "LOG_1" not in bus.streams and not bus.memory(CONTROL).entries and len(stream.entries) == 2
    await divide(MemoryBus(), 2, 1000)
