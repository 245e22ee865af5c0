"""What is told of budgets is what the log comes to at the moment, in the units in which budgets are written, and names no user."""

from msgspec.structs import replace
from prometheus_client.core import Metric

from events.budget import MONEY_PARTS, PRICE_PARTS, Budget, BudgetLimits, BudgetPeriod, BudgetPrice
from events.event import Millis
from ops.production.metrics.budgets import BudgetMetrics
from projections.budgets.budget_usage import PartitionUse
from projections.snapshot import tables_of, world_of
from projections.world import World
from tests.stories.small_world import GPU, Story, job, platform, queue
from tests.stories.test_budgets import CHECK, FRIDAY, HOUR, with_budget

WHERE = {"kind": "ClusterQueue", "name": "cq", "resource": GPU}


def told(world: World, at: Millis) -> dict[str, Metric]:
    return {family.name: family for family in BudgetMetrics(lambda: world, lambda: at).collect()}


def value(found: dict[str, Metric], name: str, **labels: str) -> float:
    [one] = [one.value for one in found[name].samples if one.labels == {**WHERE, **labels}]
    return one


def running(budget: Budget, *prices: BudgetPrice) -> Story:
    """A job that holds a card for an hour, and goes on to."""
    story = Story()
    story.at = FRIDAY
    story.told(*platform(), replace(CHECK, prices=prices), replace(with_budget(None), budget=budget))
    story.told(job("a")).decided()
    return story


def test_who_runs_uses_a_budget_up_while_nothing_happens() -> None:
    story = running(Budget(period=BudgetPeriod.MONTH, limits={GPU: 3}))
    assert value(told(story.world, story.at), "kuelog_budget_used") == 0
    later = told(story.world, story.at + 2 * HOUR)
    assert (value(later, "kuelog_budget_used"), value(later, "kuelog_budget_limit")) == (2, 3)


def test_a_new_period_begins_at_nothing_with_what_was_carried_over() -> None:
    story = running(Budget(period=BudgetPeriod.DAY, limits={GPU: 30}, carry_over=50))
    tomorrow = FRIDAY + 12 * HOUR
    found = told(story.world, tomorrow)
    assert (value(found, "kuelog_budget_used"), value(found, "kuelog_budget_limit")) == (0, 45)


def test_a_world_that_was_saved_and_read_again_tells_the_same() -> None:
    story = running(Budget(period=BudgetPeriod.MONTH, limits={GPU: 3}))
    again = world_of(tables_of(story.world))
    at = story.at + HOUR
    for name in ("kuelog_budget_used", "kuelog_budget_limit"):
        assert value(told(again, at), name) == value(told(story.world, at), name) > 0


def test_money_is_told_in_its_currency_and_cpu_in_cores() -> None:
    price = BudgetPrice(resource=GPU, currency="EUR", price=2 * PRICE_PARTS)
    budget = Budget(period=BudgetPeriod.MONTH, limits={"EUR": 7 * MONEY_PARTS, "cpu": 5000})
    story = running(budget, price)
    found = told(story.world, story.at + HOUR)
    assert value(found, "kuelog_budget_used", resource="EUR") == 2
    assert value(found, "kuelog_budget_limit", resource="EUR") == 7
    assert value(found, "kuelog_budget_limit", resource="cpu") == 5


def test_of_users_only_their_number_is_told() -> None:
    each = BudgetLimits(limits={GPU: 1})
    story = running(Budget(period=BudgetPeriod.MONTH, limits={GPU: 9}, each_user=each))
    assert value(told(story.world, story.at), "kuelog_budget_users_spent") == 0
    found = told(story.world, story.at + HOUR)
    assert value(found, "kuelog_budget_users_spent") == 1
    assert {len(one.labels) for family in found.values() for one in family.samples} == {3}


def test_what_another_partition_has_told_of_a_budget_that_both_share_is_used_as_well() -> None:
    """A process of one partition is to tell when a budget is used up, as it holds workloads back then."""
    story = running(Budget(period=BudgetPeriod.MONTH, limits={GPU: 3}))
    known = story.world.budgets["ClusterQueue/cq"]
    elsewhere = PartitionUse(amounts={GPU: HOUR}, running={GPU: 1})
    story.world.put_budget("ClusterQueue/cq", replace(known, heard={"LOG_1": elsewhere}))
    found = told(story.world, known.at + HOUR)
    assert value(found, "kuelog_budget_used") == 3, "an hour before, and one of each since"


def test_a_queue_without_a_budget_has_no_series() -> None:
    story = Story().told(*platform(), queue("other", nominal=1))
    assert all(not family.samples for family in told(story.world, story.at).values())
