"""What is foreseen of budgets: exact at the rate of those who run, and of those who wait beside them."""

import pytest
from msgspec.structs import replace

from events.quota import CheckRule, FlavorObserved, LocalQueueObserved, NamespaceObserved, QueueingStrategy
from projections.budgets.budget_usage import HOUR
from projections.explanation.budget_report import BudgetReport, budget_reports
from projections.state_hash import state_hash
from services.watcher.fields.budget_text import budget, budget_limits, prices
from tests.stories.small_world import GPU, Story, job, queue
from tests.stories.test_budget_rules import CHECK, FEBRUARY, WHOLE, begun, of_user, with_budget


def reports(told: Story) -> dict[tuple[str, str], BudgetReport]:
    before = state_hash(told.world)
    found = {(one.budget, one.resource): one for one in budget_reports(told.world, told.at)}
    assert state_hash(told.world) == before
    return found


def test_it_is_used_up_when_those_who_run_go_on() -> None:
    check = replace(CHECK, prices=prices("nvidia.com/gpu=2.5 EUR"))
    told = begun(budget("100 EUR, nvidia.com/gpu=200h per month"), job("a", count=2), check=check)
    told.decided()
    told.at = told.world.budgets[WHOLE].at
    told.later(HOUR)
    found = reports(told)
    money: BudgetReport = found[WHOLE, "EUR"]
    assert (money.used, money.allowed, money.percent, money.forecast.rate) == ("5", "100", 5, "5")
    assert money.forecast.used_up_at == told.at + 19 * HOUR
    cards: BudgetReport = found[WHOLE, GPU]
    assert cards.forecast.used_up_at is None and cards.ends == FEBRUARY
    left = FEBRUARY - told.at
    assert float(cards.forecast.used_at_end) == round(2 + 2 * left / HOUR, 6)
    told.later(19 * HOUR)
    spent = reports(told)[WHOLE, "EUR"]
    assert (spent.percent, spent.forecast.used_up_at) == (100, told.at)


def test_who_waits_is_foreseen_to_run_in_the_first_flavor() -> None:
    found = replace(budget("1000 EUR per month"), each_user=budget_limits("500 EUR"))
    check = replace(CHECK, prices=prices("nvidia.com/gpu=9 EUR, nvidia.com/gpu@v100=1 EUR"))
    told = begun(found, of_user("a", "ann", count=2), check=check)
    told.told(with_budget(found, nominal=2)).decided()
    told.told(of_user("b", "ann"), of_user("c", "ben", count=2)).decided()
    seen = reports(told)
    rates = {name: (one.forecast.rate, one.with_waiting.rate) for (name, _), one in seen.items()}
    assert rates == {WHOLE: ("2", "5"), f"{WHOLE}/users/ann": ("2", "3")}


@pytest.mark.parametrize("strategy", QueueingStrategy)
def test_who_waits_in_line_or_beside_it_is_foreseen_in_the_first_of_several_flavors(strategy: QueueingStrategy) -> None:
    found = budget("1000 EUR per month")
    check = replace(CHECK, prices=prices("nvidia.com/gpu@v100=1 EUR, nvidia.com/gpu@other=9 EUR"))
    told = begun(found, FlavorObserved(name="other"), check=check)
    full = with_budget(found, nominal=1)
    (group,) = full.groups
    (v100,) = group.flavors
    groups = (replace(group, flavors=(v100, replace(v100, flavor="other"))),)
    told.told(replace(full, groups=groups, strategy=strategy), job("large", count=3)).decided()
    assert reports(told)[WHOLE, "EUR"].with_waiting.rate == "3"


def test_who_waits_in_another_queue_or_namespace_is_foreseen_only_where_it_counts() -> None:
    found = budget("nvidia.com/gpu=1000h per month")
    elsewhere = job("b", count=2)
    told = begun(
        found,
        NamespaceObserved(name="team", budget=found),
        NamespaceObserved(name="other"),
        LocalQueueObserved(namespace="other", name="lq", cluster_queue="cq"),
        queue("beside", nominal=0),
        LocalQueueObserved(namespace="team", name="beside", cluster_queue="beside"),
    )
    told.told(with_budget(found, nominal=0))
    told.told(job("a"), replace(elsewhere, workload="other/b"), job("c", count=4, queue="beside")).decided()
    rates = {name: one.with_waiting.rate for (name, _), one in reports(told).items()}
    assert rates == {WHOLE: "3", "Namespace/team": "5"}


def test_a_queue_without_a_budget_has_no_report() -> None:
    told = begun(budget("1 EUR per day"))
    assert [one.budget for one in budget_reports(told.world, told.at)] == [WHOLE]
    told.told(replace(queue("cq", nominal=8), checks=(CheckRule(name="money"),)))
    assert not list(budget_reports(told.world, told.at))
