"""Where queues are decided: every partition that folds the same facts finds the same home, and keeps only what is decided in it."""

from collections.abc import Sequence

from msgspec.structs import replace

from events.catalogue import AnyEvent
from events.commit import Sighting
from events.control import ObjectRemoved
from events.object_version import ObjectVersion
from events.partition_map import PartitionMapObserved, TreePlacement
from events.pod import PodAccounted
from events.quota import CohortObserved, FlavorObserved, LocalQueueObserved
from events.workload import PodsReady, WorkloadChanged, WorkloadDeleted, WorkloadParked
from projections.evolve import evolve_sighting
from projections.log_position import LogPosition
from projections.object_versions import REMEMBERED
from projections.partitions.homes import hashed, owned_trees, owns_queue, owns_tree
from projections.snapshot import tables_of, world_of
from projections.state_hash import state_hash
from tests.stories.small_world import Story, job, platform, queue

PARTITIONS = ("LOG_0", "LOG_1", "LOG_2")


def placing(**trees: int) -> PartitionMapObserved:
    placements = tuple(TreePlacement(tree=f"queue/{name}", partition=number) for name, number in trees.items())
    return PartitionMapObserved(partitions=len(PARTITIONS), placements=placements)


def folded(partition: str, *facts: AnyEvent) -> Story:
    story = Story()
    story.world.partition = partition
    return story.told(*facts)


def with_door(name: str, *, cohort: str = "") -> list[AnyEvent]:
    return [
        queue(name, nominal=8, cohort=cohort),
        LocalQueueObserved(namespace="team", name=f"lq-{name}", cluster_queue=name),
    ]


def owners(facts: Sequence[AnyEvent], tree: str) -> list[str]:
    """The partitions in which a tree is decided; whoever asks for all trees at once is told the same."""
    found: list[str] = []
    for name in PARTITIONS:
        world = folded(name, *facts).world
        trees = world.quota.trees()
        assert owned_trees(world, trees) == [one for one in trees if owns_tree(world, one)]
        found += [name] * owns_tree(world, tree)
    return found


def holders(facts: Sequence[AnyEvent], key: str) -> list[str]:
    return [name for name in PARTITIONS if key in folded(name, *facts).world.workloads]


def test_until_there_is_a_map_every_tree_is_decided_in_the_one_partition() -> None:
    world = folded("LOG_0", *platform(), job("a")).world
    assert owns_tree(world, "queue/cq") and owns_queue(world, "cq") and not world.homes
    assert "team/a" in world.workloads


def test_a_tree_is_where_the_map_says() -> None:
    facts = [placing(cq=2), *platform(), job("i")]
    assert owners(facts, "queue/cq") == ["LOG_2"]
    assert {folded(name, *facts).world.homes["cq"] for name in PARTITIONS} == {"LOG_2"}


def test_a_tree_that_the_map_does_not_name_is_where_its_hash_says_on_every_machine() -> None:
    known = PartitionMapObserved(partitions=16)
    assert [hashed(known, tree) for tree in ("queue/cq", "cohort/research", "cohort/production")] == [
        "LOG_7",
        "LOG_8",
        "LOG_10",
    ]


def test_queues_that_join_a_tree_are_where_it_is() -> None:
    facts = [placing(b=1), *with_door("a", cohort="team"), *with_door("b", cohort="team"), job("i", queue="lq-a")]
    assert len(owners(facts, "cohort/team")) == 1
    homes = folded("LOG_0", *facts).world.homes
    assert homes["a"] == homes["b"]


def test_trees_that_share_a_topology_are_in_one_partition() -> None:
    racked = FlavorObserved(name="v100", topology="site")
    facts = [placing(a=2, b=1), racked, *with_door("a"), *with_door("b"), job("i", queue="lq-a")]
    assert owners(facts, "queue/a") == owners(facts, "queue/b") == ["LOG_2"]


def test_trees_that_come_to_share_a_topology_across_partitions_are_nobody_s() -> None:
    facts = [placing(a=2, b=1), FlavorObserved(name="v100"), *with_door("a"), *with_door("b"), job("i", queue="lq-a")]
    assert owners(facts, "queue/a") == ["LOG_2"]
    shared = [*facts, FlavorObserved(name="v100", topology="site")]
    assert owners(shared, "queue/a") == owners(shared, "queue/b") == []


def test_a_queue_keeps_its_home_when_it_moves_and_nobody_admits_in_a_tree_that_is_split() -> None:
    facts = [placing(a=1, b=2), FlavorObserved(name="v100"), *with_door("a"), *with_door("b"), job("j", queue="lq-a")]
    moved = [*facts, queue("a", nominal=8, cohort="both"), queue("b", nominal=8, cohort="both")]
    assert owners(moved, "cohort/both") == []
    story = folded("LOG_1", *moved)
    assert owns_queue(story.world, "a") and not owns_queue(story.world, "b")
    assert [type(one).__name__ for one in story.decided()] == ["WorkloadQueued"]


def test_queues_that_nobody_can_have_asked_go_into_another_tree_and_are_where_that_is() -> None:
    facts = [placing(a=1, b=2), FlavorObserved(name="v100"), *with_door("a"), *with_door("b")]
    assert {name: folded(name, *facts).world.homes for name in PARTITIONS} == dict.fromkeys(PARTITIONS, {})
    together = [*facts, queue("a", nominal=8, cohort="both"), queue("b", nominal=8, cohort="both")]
    assert len(owners([*together, job("j", queue="lq-a")], "cohort/both")) == 1
    foreign = LocalQueueObserved(namespace="other", name="lq", cluster_queue="b")
    used = [*facts, job("j", queue="lq-a"), foreign, queue("new", nominal=8)]
    used += [LocalQueueObserved(namespace="other", name="lq-new", cluster_queue="new")]
    joined = [*used, queue("new", nominal=8, cohort="both"), queue("b", nominal=8, cohort="both")]
    story = folded("LOG_2", *joined)
    assert "new" not in story.world.homes and owners(joined, "cohort/both") == ["LOG_2"]


def test_a_tree_that_nobody_can_have_asked_is_placed_by_the_map_of_the_day_when_it_is() -> None:
    facts = [placing(a=1), *with_door("a"), placing(a=2)]
    assert owners([*facts, job("i", queue="lq-a")], "queue/a") == ["LOG_2"]
    assert owners([placing(a=1), *with_door("a"), job("i", queue="lq-a"), placing(a=2)], "queue/a") == ["LOG_1"]


def test_a_queue_has_its_home_as_soon_as_a_namespace_with_workloads_leads_to_it() -> None:
    facts = [placing(a=1, b=2), FlavorObserved(name="v100"), *with_door("a"), job("i", queue="lq-a")]
    for later in (
        with_door("b"),
        with_door("b")[::-1],
    ):
        assert [folded(name, *facts, *later).world.homes.get("b") for name in PARTITIONS] == ["LOG_2"] * 3


def seen(partition: str, *facts: AnyEvent) -> Story:
    """As `folded`, with the version of an object behind each fact, as watchers report them."""
    story = folded(partition)
    for number, fact in enumerate(facts, start=1):
        kind = type(fact).__name__.removesuffix("Observed")
        namespace = getattr(fact, "namespace", "") or getattr(fact, "workload", "").partition("/")[0]
        about = ObjectVersion(kind=kind, namespace=namespace, name=f"n{number}", version=number)
        sighting = Sighting(
            id=f"s{number}",
            at=1000,
            author="watcher",
            about=None if isinstance(fact, PartitionMapObserved) else about,
            fact=fact,  # pyright: ignore[reportArgumentType] - a test tells facts alone
        )
        evolve_sighting(story.world, sighting, LogPosition(partition="FACTS", sequence=number, at=1000))
    return story


def test_a_log_on_which_nobody_has_asked_for_anything_is_divided_with_the_queues_that_are_there() -> None:
    for name in PARTITIONS:
        world = seen(name, *platform(), placing(cq=2)).world
        assert not world.homes and not world.namespace_homes
        assert seen(name, *platform(), placing(cq=2), job("a")).world.homes == {"cq": "LOG_2"}
        assert seen(name, *platform(), job("a"), placing(cq=2), job("b")).world.homes == {"cq": "LOG_0"}


def test_a_log_in_use_is_divided_with_the_trees_that_nobody_can_have_asked_where_the_map_places_them() -> None:
    beside = [queue("b", nominal=8), LocalQueueObserved(namespace="other", name="lq-b", cluster_queue="b")]
    theirs = replace(job("j", queue="lq-b"), workload="other/j")
    for name in PARTITIONS:
        in_use = [*platform(), job("a"), *beside]
        assert seen(name, *in_use, placing(b=2), theirs).world.homes == {"cq": "LOG_0", "b": "LOG_2"}
        assert seen(name, *in_use, placing(new=2), theirs).world.homes == {"cq": "LOG_0", "b": "LOG_0"}
        assert seen(name, *in_use, theirs, placing(b=2)).world.homes == {"cq": "LOG_0", "b": "LOG_0"}


def test_a_queue_that_nothing_leads_to_any_more_when_the_log_is_divided_stays_with_those_that_hold_its_quota() -> None:
    closed = ObjectRemoved(kind="LocalQueue", namespace="team", name="lq")
    opened = LocalQueueObserved(namespace="other", name="lq", cluster_queue="cq")
    divided = PartitionMapObserved(partitions=16)
    assert hashed(divided, "queue/cq") != "LOG_0"
    facts = [*platform(), job("a"), closed, divided, opened, replace(job("b"), workload="other/b")]
    assert owners(facts, "queue/cq") == ["LOG_0"]


def test_a_cohort_that_is_known_before_its_queues_can_be_asked_is_counted_in() -> None:
    placed = PartitionMapObserved(partitions=3, placements=(TreePlacement(tree="cohort/root", partition=1),))
    facts = [placed, queue("a", nominal=8, cohort="team"), CohortObserved(name="team", parent="root")]
    doors = [LocalQueueObserved(namespace="team", name="lq", cluster_queue="a"), job("i", queue="lq")]
    assert owners([*facts, *doors], "cohort/root") == ["LOG_1"]


def test_trees_that_were_there_before_the_map_stay_where_they_are() -> None:
    facts = [*platform(), placing(cq=2), *with_door("new")]
    assert owners(facts, "queue/cq") == ["LOG_0"]
    later = [*platform(), placing(new=2), *with_door("new"), job("i", queue="lq-new")]
    assert owners(later, "queue/new") == ["LOG_2"]


def test_a_workload_that_was_there_before_the_map_is_decided_in_the_first_partition_alone() -> None:
    facts = [*platform(), job("a"), placing(cq=2), job("b")]
    assert holders(facts, "team/a") == holders(facts, "team/b") == ["LOG_0"]
    assert [name for name in PARTITIONS if folded(name, *facts).decided()] == ["LOG_0"]
    later = [*facts, PodsReady(workload="team/a", ready=True), WorkloadDeleted(workload="team/a")]
    assert holders(later, "team/a") == [] and not folded("LOG_2", *later).world.elsewhere.get("team/a")


def test_a_namespace_keeps_its_partition_and_what_asks_for_a_queue_of_another_one_is_told_so() -> None:
    facts = [placing(a=1, b=2), FlavorObserved(name="v100"), *with_door("a"), job("i", queue="lq-a")]
    facts += [queue("b", nominal=8), LocalQueueObserved(namespace="other", name="lq-b", cluster_queue="b")]
    facts += [LocalQueueObserved(namespace="team", name="lq-b", cluster_queue="b"), job("j", queue="lq-b")]
    assert holders(facts, "team/i") == holders(facts, "team/j") == ["LOG_1"]
    assert [folded(name, *facts).world.namespace_homes for name in PARTITIONS] == [{"team": "LOG_1"}] * 3
    parked = [one for one in folded("LOG_1", *facts).decided() if isinstance(one, WorkloadParked)]
    assert [one.message for one in parked] == [
        "ClusterQueue b is decided in LOG_2, and all of namespace team in LOG_1: submit the job in another namespace"
    ]
    assert not folded("LOG_0", *facts).decided() and not folded("LOG_2", *facts).decided()


def test_a_queue_that_nothing_places_is_where_the_namespace_is_that_asks_first() -> None:
    facts = [placing(a=1), FlavorObserved(name="v100"), *with_door("a"), job("i", queue="lq-a"), *with_door("new")]
    assert owners(facts, "queue/new") == ["LOG_1"]
    assert holders([*facts, job("j", queue="lq-new")], "team/j") == ["LOG_1"]


def test_what_is_known_of_objects_of_other_partitions_is_not_kept() -> None:
    facts = [placing(a=1), FlavorObserved(name="v100"), *with_door("a"), job("i", queue="lq-a")]
    about = ObjectVersion(kind="Job", namespace="team", name="j", uid="u", version=7)
    sighting = Sighting(id="x", at=0, author="watcher", about=about, fact=job("j", queue="lq-a"))
    kept: list[str] = []
    for name in PARTITIONS:
        story = folded(name, *facts)
        evolve_sighting(story.world, sighting, LogPosition(partition="FACTS", sequence=9, at=0))
        kept += [name] if about.place in story.world.versions.known else []
    assert kept == ["LOG_1"]


def test_what_is_gone_is_forgotten_at_the_same_fact_whoever_has_heard_of_other_ends() -> None:
    facts = [placing(a=1), FlavorObserved(name="v100"), *with_door("a"), job("i", queue="lq-a")]
    gone = ObjectVersion(kind="LocalQueue", namespace="team", name="lq-z", version=9, gone=True)
    ended = ObjectVersion(kind="Job", namespace="team", name="j", version=10, gone=True)
    old = ObjectVersion(kind="LocalQueue", namespace="team", name="lq-z", version=8)
    late = 3 * REMEMBERED
    told = [
        (gone, ObjectRemoved(kind="LocalQueue", namespace="team", name="lq-z"), 0),
        (ended, WorkloadDeleted(workload="team/i"), late),
        (old, LocalQueueObserved(namespace="team", name="lq-z", cluster_queue="a"), late),
    ]
    for name in PARTITIONS:
        world = folded(name, *facts).world
        for about, fact, at in told:
            sighting = Sighting(id="x", at=at, author="watcher", about=about, fact=fact)
            evolve_sighting(world, sighting, LogPosition(partition="FACTS", sequence=9, at=at))
        assert "team/lq-z" in world.local_queues, name


def test_a_workload_is_folded_in_the_partition_of_its_queue_and_nowhere_else() -> None:
    facts = [placing(cq=1), *platform(), job("a")]
    assert holders(facts, "team/a") == ["LOG_1"]
    assert [name for name in PARTITIONS if folded(name, *facts).decided()] == ["LOG_1"]
    assert holders([*facts, WorkloadDeleted(workload="team/a")], "team/a") == []
    assert not folded("LOG_0", *facts, WorkloadDeleted(workload="team/a")).world.elsewhere


def test_the_partition_of_cards_folds_the_workloads_of_all() -> None:
    facts = [placing(cq=1), *platform(), job("a")]
    assert "team/a" in folded("DEVICES_default", *facts).world.workloads


def test_a_workload_without_a_queue_is_parked_by_the_first_partition_until_its_queue_has_a_home() -> None:
    early = [placing(cq=1), job("a"), WorkloadChanged(workload="team/a", spec=replace(job("a").spec, priority=7))]
    assert holders(early, "team/a") == ["LOG_0"]
    first = folded("LOG_0", *early)
    assert [type(one) for one in first.decided()] == [WorkloadParked]
    first.told(*platform())
    assert "team/a" not in first.world.workloads
    assert holders([*early, *platform()], "team/a") == ["LOG_1"]
    assert folded("LOG_1", *early, *platform()).world.workloads["team/a"].spec.priority == 7


def test_a_workload_that_asks_for_a_queue_of_another_partition_stays_and_is_told_so() -> None:
    facts = [placing(a=1, b=2), FlavorObserved(name="v100"), *with_door("a"), *with_door("b"), job("j", queue="lq-a")]
    changed = replace(job("j").spec, queue="lq-b")
    facts += [WorkloadChanged(workload="team/j", spec=changed), replace(job("j"), spec=changed)]
    assert holders(facts, "team/j") == ["LOG_1"]
    (parked,) = folded("LOG_1", *facts).decided()
    assert isinstance(parked, WorkloadParked)
    assert parked.message == "ClusterQueue b is decided in LOG_2, and the workload in LOG_1: submit the job anew"


def test_the_end_of_a_pod_is_taken_care_of_where_its_workload_is() -> None:
    ended = PodAccounted(workload="team/a", namespace="team", name="p", uid="u")
    facts = [placing(cq=1), *platform(), job("a"), ended]
    assert [name for name in PARTITIONS if folded(name, *facts).world.accounted] == ["LOG_1"]


def test_a_saved_world_knows_what_is_decided_where() -> None:
    for name in PARTITIONS:
        world = folded(name, placing(cq=1), *platform(), job("a"), job("b", queue="unknown")).world
        world.settle()
        again = world_of(tables_of(world))
        assert (again.homes, again.elsewhere, again.unplaced) == (world.homes, world.elsewhere, world.unplaced)
        assert state_hash(again) == state_hash(world)
