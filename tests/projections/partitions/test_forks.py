"""A tree that moves: what is counted for its workloads is counted on in one place, and once.

Rule: docs/rules/log.md#moved
"""

from msgspec.structs import replace

from events.budget import Budget, BudgetPeriod
from events.control import EpochStarted
from events.partition_map import PartitionForked, PartitionMapObserved
from events.quota import LocalQueueObserved, NamespaceObserved
from projections.budgets.counting import usage_of
from projections.composed import composed
from projections.partitions.lineage import decided_in, lineage
from projections.snapshot import tables_of, world_of
from projections.state_hash import state_hash
from tests.stories.small_world import Story, job, platform, queue

ORDER = PartitionForked(partition=1, origin=0, above=1000, trees=("queue/cq",))
BUDGET = Budget(period=BudgetPeriod.DAY, limits={"nvidia.com/gpu": 100})


def story(partition: str) -> Story:
    """A day of both trees in the first partition, as that has it; what follows is folded as by another one."""
    found = Story()
    found.world.partition = "LOG_0"
    found.told(
        PartitionMapObserved(partitions=1),
        *platform(),
        NamespaceObserved(name="team", budget=BUDGET),
        NamespaceObserved(name="other", budget=BUDGET),
        queue("b", nominal=8),
        LocalQueueObserved(namespace="other", name="lq-b", cluster_queue="b"),
        job("a"),
        replace(job("j", queue="lq-b"), workload="other/j"),
    ).decided()
    found.told(*(EpochStarted(service="watcher", epoch=number) for number in range(1, 9)))
    found.world.partition = partition
    return found


def test_what_was_used_of_a_budget_is_counted_on_by_the_one_that_has_the_namespace_and_added_up_counts_once() -> None:
    stays, moves, alone = story("LOG_0"), story("LOG_1"), story("LOG_0")
    for one in (stays, moves):
        one.told(ORDER).told(*(EpochStarted(service="watcher", epoch=number) for number in range(9, 20)))
    alone.told(*(EpochStarted(service="watcher", epoch=number) for number in range(8, 20)))
    whole = composed([stays.world, moves.world])
    for scope in ("Namespace/team", "Namespace/other"):
        added, before = usage_of(whole.budgets, scope, alone.at), usage_of(alone.world.budgets, scope, alone.at)
        assert added is not None and before is not None and before.amounts
        assert (added.amounts, added.running) == (before.amounts, before.running), scope
    assert usage_of(moves.world.budgets, "Namespace/team", moves.at) == usage_of(
        alone.world.budgets, "Namespace/team", alone.at
    )


def test_a_saved_world_says_of_whom_a_partition_is_a_fork_and_is_as_before_where_none_is() -> None:
    assert "forks" not in repr(tables_of(story("LOG_0").world).divided).replace("forks=UNSET", "")
    world = story("LOG_1").told(ORDER).world
    again = world_of(tables_of(world))
    again.partition = "LOG_1"
    assert state_hash(again) == state_hash(world) and again.forks == {"LOG_1": ORDER}
    assert lineage(again.forks, "LOG_1") == ("LOG_0", "LOG_1")
    assert [decided_in(again.forks, "LOG_1", one) for one in (7, 1000, 1001)] == ["LOG_0", "LOG_0", "LOG_1"]
