"""What is seen of workloads in other clusters: kept where they are decided, and by all as long as nobody knows where that is."""

from collections.abc import Sequence

from msgspec.structs import replace

from events.catalogue import AnyEvent
from events.multikueue import ClusterChosen, RemoteWorkloadGone, RemoteWorkloadObserved
from events.quota import LocalQueueObserved
from events.workload import WorkloadDeleted
from projections.partitions.homes import is_placed_here
from tests.projections.partitions.test_homes import PARTITIONS, placing, seen
from tests.stories.small_world import job, platform, queue

MAP = placing(a=1, b=2, cq=0)
A, B = "red/a", "blue/b"
CLUSTER: tuple[AnyEvent, ...] = (
    *platform(),
    queue("a", nominal=8),
    queue("b", nominal=8),
    LocalQueueObserved(namespace="red", name="lq-a", cluster_queue="a"),
    LocalQueueObserved(namespace="blue", name="lq-b", cluster_queue="b"),
    LocalQueueObserved(namespace="both", name="lq-a", cluster_queue="a"),
    LocalQueueObserved(namespace="both", name="lq-b", cluster_queue="b"),
)


def asked(key: str, tree: str) -> AnyEvent:
    return replace(job("j", queue=f"lq-{tree}"), workload=key)


def copy(key: str) -> RemoteWorkloadObserved:
    return RemoteWorkloadObserved(cluster="w1", workload=key, uid=f"uid-{key}", version=1)


def keepers(facts: Sequence[AnyEvent], key: str) -> list[str]:
    return [name for name in PARTITIONS if key in seen(name, *facts).world.remotes]


def carers(facts: Sequence[AnyEvent], key: str) -> list[str]:
    return [name for name in PARTITIONS if is_placed_here(seen(name, *facts).world, key)]


def test_what_is_seen_in_other_clusters_is_kept_by_the_partition_in_which_its_namespace_is_at_home() -> None:
    facts = [MAP, *CLUSTER, asked(A, "a"), asked(B, "b"), copy(A), copy(B)]
    assert keepers(facts, A) == ["LOG_1"] and keepers(facts, B) == ["LOG_2"]
    gone = [*facts, RemoteWorkloadGone(cluster="w1", workload=A)]
    assert keepers(gone, A) == [] and keepers(gone, B) == ["LOG_2"]


def test_a_copy_that_is_seen_before_its_workload_is_kept_until_that_has_its_place() -> None:
    facts = [MAP, *CLUSTER, copy(A)]
    assert keepers(facts, A) == [*PARTITIONS]
    assert keepers([*facts, asked(A, "a")], A) == ["LOG_1"]


def test_what_is_left_of_a_workload_that_is_gone_is_the_care_of_its_namespace_s_home() -> None:
    facts = [MAP, *CLUSTER, asked(A, "a"), copy(A), WorkloadDeleted(workload=A)]
    assert keepers(facts, A) == ["LOG_1"] and carers(facts, A) == ["LOG_1"]


def test_in_a_namespace_of_several_partitions_a_copy_is_the_care_of_its_workload_s_and_of_the_first_once_that_is_gone() -> (
    None
):
    key = "both/j"
    facts = [MAP, *CLUSTER, asked("both/other", "a"), asked("red/x", "a"), asked("blue/x", "b")]
    lives = [*facts, asked(key, "b"), copy(key)]
    assert seen("LOG_0", *lives).world.namespace_homes["both"] == ""
    assert carers(lives, key) == ["LOG_2"] and "LOG_2" in keepers(lives, key)
    gone = [*lives, WorkloadDeleted(workload=key)]
    assert carers(gone, key) == ["LOG_0"] and "LOG_0" in keepers(gone, key), "whoever cares for it knows of it"


def test_a_log_that_sends_jobs_elsewhere_is_divided_and_the_first_partition_goes_on_with_them() -> None:
    chosen = ClusterChosen(workload="team/j", check="mk", cluster="w1")
    facts = [*CLUSTER, job("j"), chosen, copy("team/j"), MAP]
    worlds = {name: seen(name, *facts).world for name in PARTITIONS}
    assert [name for name, one in worlds.items() if "team/j" in one.dispatches] == ["LOG_0"]
    assert [name for name, one in worlds.items() if "team/j" in one.remotes] == ["LOG_0"]
    assert carers(facts, "team/j") == ["LOG_0"]
