"""A budget that several partitions share: each hears what the others have used, reckons on, and holds back and lets in by all of it.

Rule: docs/rules/budgets.md#partitions
"""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from events.admission import QuotaReserved
from events.budget import Budget, BudgetLimits, BudgetPeriod, BudgetThresholdReached, BudgetUsePassedOn, BudgetUseTold
from events.catalogue import AnyEvent
from events.control import EpochStarted
from events.event import Millis
from events.partition_map import PartitionMapObserved, TreePlacement
from events.quota import AdmissionCheckObserved, CheckRule, ClusterQueueObserved, LocalQueueObserved, NamespaceObserved
from events.timestamp import parse_timestamp
from events.workload import WorkloadFinished, WorkloadParked
from ops.production.log.streams import streams_in
from ops.queries.explaining import explain
from ops.queries.replay import fold_up
from ops.sandbox.bench.day import played, small_day
from projections.budgets.budget_usage import HOUR, BudgetUsage, PartitionUse, settled, used, with_running
from projections.budgets.counting import usage_of
from projections.budgets.partitions import untold
from projections.budgets.rates import CONTROLLER
from projections.composed import composed
from projections.evolve import evolve
from projections.folds.forks import keep_only
from projections.log_position import LogPosition
from projections.snapshot import tables_of, world_of
from projections.state_hash import state_hash
from projections.world import World
from tests.stories.small_world import GPU, Story, job, platform, queue

FRIDAY = parse_timestamp("2026-01-30T12:00:00Z")
SCOPE = "Namespace/team"
POOL = "DEVICES_default"
CHECKED = (CheckRule(name="money"),)
MONTH = Budget(period=BudgetPeriod.MONTH, limits={GPU: 3}, thresholds=(100,))


def world_with(partition: str, budget: Budget, *, divided: bool = True) -> World:
    world = World()
    world.partition = partition
    told(
        world, *([PartitionMapObserved(partitions=4)] if divided else []), NamespaceObserved(name="team", budget=budget)
    )
    return world


def told(world: World, *events: AnyEvent, at: Millis = FRIDAY, stream: str = "FACTS") -> None:
    for event in events:
        evolve(world, event, LogPosition(partition=stream, sequence=1, at=at))


def standing(world: World, at: Millis, scope: str = SCOPE) -> BudgetUsage:
    found = usage_of(world.budgets, scope, at)
    assert found is not None
    return found


class Partitions:
    """Worlds of partitions of one log, and of the one that they all read."""

    def __init__(self, budget: Budget) -> None:
        self.worlds = {name: world_with(name, budget) for name in ("LOG_0", "LOG_1", "LOG_2")}
        self.pool, self.alone = world_with(POOL, budget), world_with("LOG_0", budget, divided=False)
        self.unheard: list[BudgetUsePassedOn] = []

    def hold(self, name: str, rate: int, at: Millis) -> None:
        for world in (self.worlds[name], self.alone):
            world.put_budget(SCOPE, with_running(standing(world, at), {GPU: rate}))

    def tell(self, at: Millis) -> int:
        """Each tells what there is to tell, and it is passed on; how much that was."""
        count = 0
        for name, world in self.worlds.items():
            event = untold(world, SCOPE, at)
            if event is not None:
                count += 1
                for one in (world, self.pool):
                    told(one, event, at=at, stream=name)
        for place in sorted(self.pool.budget_news):
            passed = self.pool.budget_news[place]
            told(self.pool, passed, at=at, stream=POOL)
            self.unheard.append(passed)
        assert not self.pool.budget_news
        return count

    def hear(self, name: str, at: Millis, most: int | None = None) -> None:
        told(self.worlds[name], *self.unheard[:most], at=at, stream=POOL)


STEPS = st.lists(
    st.tuples(
        st.integers(0, 40 * HOUR), st.sampled_from(["LOG_0", "LOG_1", "LOG_2"]), st.integers(-3, 5), st.booleans()
    ),
    max_size=12,
)


@given(steps=STEPS, skew=st.integers(-2000, 2000))
def test_what_partitions_use_of_a_budget_is_to_each_of_them_what_it_is_to_one_that_decides_about_all(
    steps: Sequence[tuple[int, str, int, bool]], skew: int
) -> None:
    parts, at = Partitions(Budget(period=BudgetPeriod.DAY, limits={GPU: 100})), FRIDAY
    for gap, name, rate, news in steps:
        at += gap
        parts.hold(name, rate, at)
        if news:
            parts.tell(at)
            parts.hear("LOG_1", at + skew)
    parts.tell(at)
    for name in parts.worlds:
        parts.hear(name, at + max(skew, 0))
    at += 2000
    whole = standing(parts.alone, at).amounts
    assert composed(list(parts.worlds.values())).budgets[SCOPE].heard == {}
    for later in (at, at + 100 * HOUR):
        whole = standing(parts.alone, later)
        for world in parts.worlds.values():
            assert used(standing(world, later), GPU) == whole.amounts.get(GPU, 0)
        added = standing(composed(list(parts.worlds.values())), later)
        assert added.amounts.get(GPU, 0) == whole.amounts.get(GPU, 0)


def test_nothing_is_told_while_nothing_begins_or_ends_nor_when_a_period_ends() -> None:
    parts = Partitions(Budget(period=BudgetPeriod.DAY, limits={GPU: 100}))
    assert parts.tell(FRIDAY) == 0
    parts.hold("LOG_0", 2, FRIDAY)
    assert parts.tell(FRIDAY) == 1
    assert [parts.tell(FRIDAY + hours * HOUR) for hours in (1, 5, 11, 12, 13, 200)] == [0] * 6
    parts.hold("LOG_0", -2, FRIDAY + 200 * HOUR)
    assert [parts.tell(FRIDAY + hours * HOUR) for hours in (200, 201)] == [1, 0]


def test_what_is_left_over_is_carried_by_what_all_have_used() -> None:
    parts = Partitions(Budget(period=BudgetPeriod.DAY, limits={GPU: 30}, carry_over=100))
    parts.hold("LOG_0", 1, FRIDAY)
    parts.hold("LOG_1", 1, FRIDAY)
    parts.tell(FRIDAY)
    for name in parts.worlds:
        parts.hear(name, FRIDAY)
    for days in (1, 2, 5):
        at = FRIDAY + days * 24 * HOUR
        assert {name: standing(world, at).carried for name, world in parts.worlds.items()} == dict.fromkeys(
            parts.worlds, standing(parts.alone, at).carried
        )
    assert standing(parts.alone, FRIDAY + 24 * HOUR).carried == {GPU: 6 * HOUR}


def test_news_of_a_period_that_has_not_begun_here_begin_it_and_what_was_heard_before_is_not_forgotten() -> None:
    parts = Partitions(Budget(period=BudgetPeriod.DAY, limits={GPU: 30}, carry_over=100))
    parts.hold("LOG_0", 1, FRIDAY)
    parts.tell(FRIDAY)
    parts.hear("LOG_1", FRIDAY)
    midnight = FRIDAY + 12 * HOUR
    parts.hold("LOG_0", 1, midnight + 5)
    parts.unheard.clear()
    parts.tell(midnight + 5)
    parts.hear("LOG_1", midnight - 5)
    found = standing(parts.worlds["LOG_1"], midnight + 10)
    assert (found.began, found.carried, used(found, GPU)) == (midnight, {GPU: 18 * HOUR}, 5 + 2 * 5)


def test_another_period_or_a_limit_more_is_told_anew_and_what_has_no_limit_is_not_told() -> None:
    parts = Partitions(Budget(period=BudgetPeriod.DAY, limits={GPU: 30}))
    world = parts.worlds["LOG_0"]
    parts.hold("LOG_0", 1, FRIDAY)
    world.put_budget(SCOPE, with_running(standing(world, FRIDAY), {"cpu": 5}))
    parts.tell(FRIDAY)
    assert parts.unheard[-1].running == {GPU: 1}
    later = FRIDAY + HOUR
    for budget, running, amounts in (
        (Budget(period=BudgetPeriod.DAY, limits={GPU: 30, "cpu": 9}), {"cpu": 5, GPU: 1}, {"cpu": 5 * HOUR, GPU: HOUR}),
        (Budget(period=BudgetPeriod.WEEK, limits={GPU: 30}), {GPU: 1}, {}),
    ):
        told(world, NamespaceObserved(name="team", budget=budget), at=later)
        # Nobody holds anything in this world: what it holds is put there by hand.
        world.put_budget(SCOPE, replace(standing(world, later), running={GPU: 1, "cpu": 5}))
        assert parts.tell(later) == 1 and (parts.unheard[-1].running, parts.unheard[-1].amounts) == (running, amounts)
    told(world, NamespaceObserved(name="team"), at=later)
    assert parts.tell(later) == 0 and SCOPE not in world.budgets


def test_a_fork_hears_from_its_origin_what_that_had_told_and_counts_nothing_of_it_itself() -> None:
    parts = Partitions(Budget(period=BudgetPeriod.DAY, limits={GPU: 30}))
    parts.hold("LOG_0", 2, FRIDAY)
    parts.hold("LOG_1", 3, FRIDAY)
    parts.tell(FRIDAY)
    parts.hear("LOG_0", FRIDAY)
    fork = world_of(tables_of(parts.worlds["LOG_0"]))
    fork.partition = "LOG_4"
    fork.put_budget(SCOPE, replace(standing(fork, FRIDAY), running={}))
    keep_only(fork, (), FRIDAY + HOUR, origin="LOG_0")
    found = standing(fork, FRIDAY + 2 * HOUR)
    assert (found.amounts, found.said) == ({}, PartitionUse())
    assert used(found, GPU) == used(standing(parts.worlds["LOG_0"], FRIDAY + 2 * HOUR), GPU) == 10 * HOUR


def decided(*facts: AnyEvent) -> list[Story]:
    """Two partitions whose queues the namespace team can ask both."""
    placements = tuple(TreePlacement(tree=f"queue/{name}", partition=number) for number, name in enumerate(("cq", "b")))
    stories: list[Story] = []
    for name in ("LOG_0", "LOG_1"):
        story = Story()
        story.at, story.world.partition = FRIDAY, name
        story.told(
            PartitionMapObserved(partitions=2, placements=placements),
            *(replace(one, checks=CHECKED) if isinstance(one, ClusterQueueObserved) else one for one in platform()),
            replace(queue("b", nominal=8), checks=CHECKED),
            LocalQueueObserved(namespace="team", name="lq-b", cluster_queue="b"),
            AdmissionCheckObserved(name="money", controller=CONTROLLER),
            *facts,
        ).decided()
        stories.append(story)
    return stories


def passed_on(stories: Sequence[Story]) -> None:
    """Each hears what the others have told last."""
    pool = World()
    pool.partition = POOL
    for one in stories:
        for event in one.decisions:
            if isinstance(event, BudgetUseTold):
                told(pool, event, at=one.at, stream=one.world.partition)
    for one in stories:
        one.told(*(pool.budget_news[place] for place in sorted(pool.budget_news)))


def gone_on(stories: Sequence[Story], ms: Millis) -> None:
    for one in stories:
        one.at += ms
        one.world.advance(one.at)
        one.decided()


@pytest.mark.parametrize("each", [False, True])
def test_who_comes_waits_when_two_partitions_together_have_used_the_budget_up_and_is_told_where(each: bool) -> None:
    share = replace(MONTH, limits={GPU: 100}, each_user=BudgetLimits(limits={GPU: 3}))
    stories = decided(NamespaceObserved(name="team", budget=share if each else MONTH), job("a"), job("j", queue="lq-b"))
    passed_on(stories)
    gone_on(stories, 2 * HOUR)
    for one, late in zip(stories, (job("c"), job("k", queue="lq-b")), strict=True):
        one.told(late)
        (parked,) = [event for event in one.decided() if isinstance(event, WorkloadParked)]
        assert parked.reason == "BudgetExhausted"
        assert any(isinstance(event, BudgetThresholdReached) for event in one.decisions)
        assert not any(isinstance(event, QuotaReserved) and event.workload == late.workload for event in one.decisions)
        why = explain(one.world, one.world.workloads[late.workload], one.at)
        here, there = sorted(("LOG_0", "LOG_1"), key=lambda name: name != one.world.partition)
        assert why.message.startswith(parked.message) and f"; used here in {here} 2." in why.message
        assert f"hours of nvidia.com/gpu, in {there} 2." in why.message


def test_a_partition_that_hears_nothing_goes_on_with_what_it_heard_last() -> None:
    stories = decided(NamespaceObserved(name="team", budget=MONTH), job("a"), job("j", queue="lq-b"))
    passed_on(stories)
    stories[1].told(WorkloadFinished(workload="team/j", reason="Succeeded")).decided()
    gone_on(stories, 2 * HOUR)
    (parked,) = [event for event in stories[0].told(job("c")).decided() if isinstance(event, WorkloadParked)]
    assert parked.reason == "BudgetExhausted", "it has not heard that the other one holds nothing any more"
    assert stories[1].told(job("k", queue="lq-b")).world.workloads["team/k"]
    passed_on(stories)
    assert any(isinstance(event, QuotaReserved) for event in stories[0].decided()), "who waits is let in by the news"


def test_a_namespace_at_home_in_one_partition_tells_nobody_and_neither_does_a_log_that_is_whole() -> None:
    budget = NamespaceObserved(name="other", budget=MONTH)
    own = LocalQueueObserved(namespace="other", name="lq", cluster_queue="cq")
    found = decided(budget, own, replace(job("a"), workload="other/a"))[0]
    assert found.world.namespace_homes["other"] == "LOG_0" and found.world.budgeted
    whole = Story()
    whole.told(*platform(), NamespaceObserved(name="team", budget=MONTH), job("a")).decided()
    assert whole.world.budgeted
    assert not any(isinstance(event, BudgetUseTold) for event in (*found.decisions, *whole.decisions))


def test_what_was_told_of_another_kind_of_period_and_is_heard_late_is_told_anew() -> None:
    parts = Partitions(MONTH)
    parts.hold("LOG_0", 1, FRIDAY)
    parts.hold("LOG_0", -1, FRIDAY + HOUR)
    parts.tell(FRIDAY + HOUR)
    for world in (*parts.worlds.values(), parts.pool):
        for budget in (replace(MONTH, period=BudgetPeriod.DAY), MONTH):
            told(world, NamespaceObserved(name="team", budget=budget), at=FRIDAY + HOUR)
    parts.hear("LOG_1", FRIDAY + HOUR)
    assert used(standing(parts.worlds["LOG_1"], FRIDAY + HOUR), GPU) == HOUR, "of the month, as it was begun before"
    parts.tell(FRIDAY + HOUR)
    parts.hear("LOG_1", FRIDAY + HOUR)
    assert used(standing(parts.worlds["LOG_1"], FRIDAY + HOUR), GPU) == 0
    assert parts.tell(FRIDAY + HOUR) == 0, "it is told once"


def test_a_saved_world_keeps_what_was_told_and_heard_and_what_is_to_be_passed_on() -> None:
    stories = decided(NamespaceObserved(name="team", budget=MONTH), job("a"), job("j", queue="lq-b"))
    passed_on(stories)
    parts = Partitions(MONTH)
    parts.hold("LOG_0", 1, FRIDAY)
    event = untold(parts.worlds["LOG_0"], SCOPE, FRIDAY)
    assert event is not None
    told(parts.pool, event, stream="LOG_0")
    for world in (stories[0].world, stories[1].world, parts.pool):
        again = world_of(tables_of(world))
        assert state_hash(again) == state_hash(world)
        assert (again.budgets, again.budget_news) == (world.budgets, world.budget_news)
    assert stories[0].world.budgets[SCOPE].heard and parts.pool.budget_news


def test_a_map_leaves_what_was_counted_before_it_to_the_first_partition() -> None:
    stories: list[Story] = []
    for name in ("LOG_0", "LOG_1"):
        story = Story()
        story.at, story.world.partition = FRIDAY, "LOG_0"
        story.told(*platform(), NamespaceObserved(name="team", budget=MONTH), job("a")).decided()
        story.world.partition = name
        stories.append(story.told(EpochStarted(service="watcher", epoch=1), PartitionMapObserved(partitions=2)))
    at = FRIDAY + HOUR
    first, second = (settled(one.world.budgets[SCOPE], at) for one in stories)
    assert first.amounts[GPU] and not second.amounts and not second.running
    whole = composed([one.world for one in stories])
    assert settled(whole.budgets[SCOPE], at).amounts == first.amounts


@pytest.mark.parametrize("seed", [1, 3, 7, 9, 10, 11])
def test_at_the_end_of_a_day_each_partition_knows_what_all_have_used_and_that_is_what_one_with_all_jobs_uses(
    seed: int,
) -> None:
    budget = Budget(period=BudgetPeriod.MONTH, limits={GPU: 1000, "nvidia.com/gpumem": 10**9})
    ends: list[dict[str, int]] = []
    for partitions in (1, 4):
        day = small_day(seed)
        at = next(number for number, fact in enumerate(day.platform) if isinstance(fact, NamespaceObserved))
        day.platform[at] = NamespaceObserved(name="day", budget=budget)
        entries, _ = played(day, partitions=partitions)
        worlds = [fold_up(name, entries).world for name in streams_in(entries).trees]
        last = max(world.budgets["Namespace/day"].at for world in worlds)
        for world in worlds:
            here = standing(world, last, "Namespace/day")
            ends.append({name: used(here, name) for name in budget.limits})
        whole = standing(composed(worlds), last, "Namespace/day")
        ends.append({name: whole.amounts[name] for name in budget.limits})
    assert all(one == ends[0] for one in ends) and ends[0][GPU]
    assert all(world.budgets["Namespace/day"].heard for world in worlds)
