"""The world of all partitions: nothing is missing of it, nothing is there twice, and what is done to it changes no partition."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from events.budget import Budget, BudgetPeriod
from events.catalogue import AnyEvent
from events.control import ObjectProblem, ObjectRefused
from events.partition_map import PartitionMapObserved, TreePlacement
from events.quota import LocalQueueObserved, NamespaceObserved
from ops.production.log.streams import streams_in
from ops.queries.replay import fold_up
from ops.sandbox.bench.day import played, small_day
from projections.budgets.budget_usage import PartitionUse, used
from projections.budgets.counting import usage_of
from projections.composed import composed
from projections.fair_sharing.ledger import UsageRecord
from projections.state_hash import state_hash
from projections.world import World
from tests.stories.small_world import Story, job, platform, queue

PARTITIONS = ("LOG_0", "LOG_1")
PLACED = PartitionMapObserved(
    partitions=2, placements=(TreePlacement(tree="queue/cq", partition=0), TreePlacement(tree="queue/b", partition=1))
)
QUEUES = [
    PLACED,
    *platform(),
    queue("b", nominal=8),
    LocalQueueObserved(namespace="team", name="lq-b", cluster_queue="b"),
]


def decided(*facts: AnyEvent) -> list[Story]:
    stories: list[Story] = []
    for name in PARTITIONS:
        story = Story()
        story.world.partition = name
        story.told(*facts).decided()
        stories.append(story)
    return stories


def whole(stories: Sequence[Story]) -> World:
    return composed([one.world for one in stories])


@pytest.mark.parametrize("seed", [0, 1, 3, 7, 8, 11])
def test_it_is_the_world_in_which_the_cards_of_all_are_given(seed: int) -> None:
    entries, _ = played(small_day(seed), partitions=4)
    streams = streams_in(entries)
    assert len(streams.trees) == 4
    parts = [fold_up(name, entries).world for name in streams.trees]
    assert max(len(one.workloads) for one in parts) <= len(composed(parts).workloads)
    assert state_hash(composed(parts)) == state_hash(fold_up(streams.pool, entries).world)


def test_one_partition_is_composed_already() -> None:
    world = World()
    assert composed([world]) is world


def test_each_workload_is_taken_from_its_partition_with_its_quota_and_its_cards() -> None:
    found = whole(decided(*QUEUES, job("a"), job("j", queue="lq-b")))
    assert {key: one.admission.cluster_queue for key, one in found.workloads.items() if one.admission} == {
        "team/a": "cq",
        "team/j": "b",
    }
    assert {name: list(found.holders(name)) for name in ("cq", "b")} == {"cq": ["team/a"], "b": ["team/j"]}
    assert {one.workload for one in found.cards.holdings.values()} == {"team/a", "team/j"}


def test_what_is_tried_on_it_changes_no_partition() -> None:
    stories = decided(*QUEUES, job("a"), job("j", queue="lq-b"))
    before = [state_hash(one.world) for one in stories]
    again = Story()
    again.world = whole(stories)
    again.told(job("k"), job("l", queue="lq-b")).decided()
    assert len(again.world.workloads) == 4
    assert [state_hash(one.world) for one in stories] == before


def test_a_budget_of_a_namespace_is_what_all_partitions_have_counted() -> None:
    budget = Budget(period=BudgetPeriod.MONTH, limits={"nvidia.com/gpu": 100})
    facts = [*QUEUES, NamespaceObserved(name="team", budget=budget)]
    stories = decided(*facts, job("a"), job("j", queue="lq-b"))
    used = [usage_of(one.world.budgets, "Namespace/team", 3_600_000) for one in stories]
    together = usage_of(whole(stories).budgets, "Namespace/team", 3_600_000)
    assert together is not None and all(one is not None and one.amounts for one in used)
    name = "nvidia.com/gpu"
    assert together.amounts[name] == sum(one.amounts[name] for one in used if one is not None)


def test_what_a_partition_that_is_not_among_them_has_told_of_a_budget_counts_once() -> None:
    budget = Budget(period=BudgetPeriod.MONTH, limits={"nvidia.com/gpu": 100})
    stories = decided(*QUEUES, NamespaceObserved(name="team", budget=budget))
    use = PartitionUse(amounts={"nvidia.com/gpu": 5})
    for story, other in zip(stories, ("LOG_1", "LOG_0"), strict=True):
        known = story.world.budgets["Namespace/team"]
        story.world.put_budget("Namespace/team", replace(known, heard={other: use, "LOG_2": use}))
    assert used(whole(stories).budgets["Namespace/team"], "nvidia.com/gpu") == 5


def test_a_job_that_is_understood_by_now_is_not_refused_any_more() -> None:
    problem = ObjectProblem(field="spec", message="not understood")
    refused = ObjectRefused(kind="Job", namespace="team", name="j", problems=(problem,))
    assert "Job/team/j" in whole(decided(*QUEUES, refused)).refused
    assert "Job/team/j" not in whole(decided(*QUEUES, refused, job("j", queue="lq-b"))).refused


@pytest.mark.parametrize("place", [0, 1])
def test_the_past_usage_of_a_queue_is_what_its_own_partition_has_counted(place: int) -> None:
    stories = decided(*QUEUES, job("a"))
    name = ("lq", "lq-b")[place]
    assert f"team/{name}" in stories[0].world.local_queues
    for number, story in enumerate(stories):
        story.world.ledgers[f"team/{name}"] = UsageRecord(at=number, running={"cpu": number})
    assert whole(stories).ledgers[f"team/{name}"].at == place
