"""What a division comes to: which trees stay, which are placed, and which can't be placed any more."""

import pytest
from msgspec.structs import replace

from events.catalogue import AnyEvent
from events.commit import Sighting
from events.control import ObjectRemoved
from events.object_version import ObjectVersion
from events.partition_map import PartitionMapObserved, TreePlacement
from events.quota import FlavorObserved, LocalQueueObserved
from events.subjects import CONTROL, FACTS
from ops.production.log.memory import MemoryBus
from ops.production.log.partitioning import PartitionsRefused, divide, division_of
from ops.production.log.streams import DEVICE_PARTITION
from projections.evolve import evolve_sighting
from projections.log_position import LogPosition
from projections.state_hash import state_hash
from projections.world import World
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


def test_a_tree_to_which_a_namespace_with_workloads_leads_can_be_placed_where_it_is_and_nowhere_else() -> None:
    world = whole(PLACED, *platform(), job("a"), *BESIDE)
    assert division_of(world, 3, 3, ["queue/cq=LOG_1"]).staying == {"queue/cq": ("LOG_1",)}
    why = "queue/cq is decided in LOG_1 already, and trees can't be moved yet: name trees that no namespace with workloads leads to"
    with pytest.raises(PartitionsRefused, match=why):
        division_of(world, 3, 3, ["queue/cq=LOG_2"])


def test_a_tree_whose_quota_is_held_stays_though_nothing_leads_to_it_any_more() -> None:
    closed = ObjectRemoved(kind="LocalQueue", namespace="team", name="lq")
    world = whole(*platform(), job("a"), decided=True)
    assert world.holders("cq")
    story = Story()
    story.world = world
    story.told(closed)
    with pytest.raises(PartitionsRefused, match="queue/cq is decided in LOG_0 already"):
        division_of(world, 1, 3, ["queue/cq=LOG_2"])
    assert division_of(world, 1, 3, []).staying == {"queue/cq": ("LOG_0",)}


def test_a_tree_whose_workloads_were_told_before_there_were_versions_stays() -> None:
    world = whole(*platform(), job("a"))
    about = ObjectVersion(kind="ClusterQueue", name="cq", version=7)
    told = Sighting(id="s", at=5000, author="watcher", about=about, fact=queue("cq", nominal=8))
    evolve_sighting(world, told, LogPosition(partition="FACTS", sequence=9, at=5000))
    with pytest.raises(PartitionsRefused, match="queue/cq is decided in LOG_0 already"):
        division_of(world, 1, 3, ["queue/cq=LOG_2"])


def test_of_a_tree_that_is_split_all_partitions_are_named_that_decide_about_its_queues() -> None:
    asked = (*BESIDE, replace(job("j"), workload="other/j"))
    joined = (queue("cq", nominal=8, cohort="both"), queue("b", nominal=8, cohort="both"))
    placed = PartitionMapObserved(
        partitions=3, placements=(*PLACED.placements, TreePlacement(tree="queue/b", partition=2))
    )
    world = whole(placed, *platform(), FlavorObserved(name="v100"), job("a"), *asked, *joined)
    assert division_of(world, 3, 3, []).staying == {"cohort/both": ("LOG_1", "LOG_2")}
    with pytest.raises(PartitionsRefused, match="cohort/both is decided in LOG_1 and LOG_2 already"):
        division_of(world, 3, 3, ["cohort/both=LOG_2"])


@pytest.mark.parametrize("rolled", [FACTS, DEVICE_PARTITION])
async def test_a_log_of_which_the_beginning_was_rolled_away_gets_no_new_partitions_and_is_left_as_it_is(
    rolled: str,
) -> None:
    bus = MemoryBus()
    stream = bus.memory(rolled)
    await stream.publish([Message("kuelog.facts._cluster.X", b"1", "a"), Message("kuelog.facts._cluster.X", b"2", "b")])
    stream.remove(1)
    with pytest.raises(PartitionsRefused, match=f"{rolled} begins at 2: what was before was rolled away"):
        await divide(bus, 2, 1000)
    assert "LOG_1" not in bus.streams and not bus.memory(CONTROL).entries and len(stream.entries) == 2
    await divide(MemoryBus(), 2, 1000)
