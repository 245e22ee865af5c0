"""The Events on queues about budgets: once for each threshold, the end and each new period, where its users look."""

from msgspec.structs import replace

from events.budget import Budget, BudgetLimits, BudgetPeriod
from events.quota import ClusterQueueObserved, LocalQueueObserved, NamespaceObserved
from projections.budgets.budget_usage import HOUR
from services.applier.events.budget_events import BudgetEvents
from services.applier.events.cluster_events import ClusterEvent, event_of
from tests.stories.small_world import GPU, Story, job
from tests.stories.test_budget_rules import FEBRUARY, WHOLE, begun, of_user, with_budget

TEN = Budget(period=BudgetPeriod.MONTH, limits={GPU: 10}, thresholds=(80, 100))


def running(found: Budget = TEN, user: str = "") -> Story:
    told = begun(found, of_user("a", user, count=2) if user else job("a", count=2))
    told.decided()
    told.at = told.world.budgets[WHOLE].at
    return told


def said(notices: BudgetEvents, told: Story) -> list[tuple[str, str, str]]:
    return [(one.kind, one.name, one.reason) for one in notices.news(told.world)]


def test_each_threshold_and_the_end_and_the_next_period_are_told_once_where_users_look() -> None:
    told, notices = running(), BudgetEvents()
    assert said(notices, told) == []
    told.later(4 * HOUR)
    both = [("ClusterQueue", "cq"), ("LocalQueue", "lq")]
    assert said(notices, told) == [(*one, "BudgetThresholdReached") for one in both]
    told.told(job("b"))
    told.decided()
    assert said(notices, told) == [], "that more is held is no threshold"
    told.later(HOUR)
    spent = list(notices.news(told.world))
    assert [(one.kind, one.name, one.reason, one.warning) for one in spent] == [
        (*one, "BudgetExhausted", True) for one in both
    ]
    assert spent[0].message.startswith(
        "The budget of ClusterQueue cq is used up: 10 hours of nvidia.com/gpu per month;"
    )
    told.later(FEBRUARY - told.at)
    assert said(notices, told) == [(*one, "BudgetRenewed") for one in both]


def test_after_a_restart_the_same_events_have_the_same_names() -> None:
    told = running()
    told.later(4 * HOUR)
    before = list(BudgetEvents().news(told.world))
    told.world.review_all()
    after_restart = list(BudgetEvents().news(told.world))
    assert names(before) == names(after_restart) and len(set(names(before))) == 2


def names(told: list[ClusterEvent]) -> list[str]:
    return [event_of(one)["metadata"]["name"] for one in told]


def test_a_threshold_that_is_reached_again_after_a_raise_is_another_event() -> None:
    told, notices = running(), BudgetEvents()
    told.later(4 * HOUR)
    first = list(notices.news(told.world))
    told.told(with_budget(replace(TEN, limits={GPU: 20})))
    told.decided()
    assert said(notices, told) == []
    told.later(4 * HOUR)
    second = list(notices.news(told.world))
    assert [one.reason for one in second] == ["BudgetThresholdReached"] * 2
    assert not set(names(first)) & set(names(second))


def test_the_budget_of_a_namespace_is_told_on_its_local_queues() -> None:
    told, notices = running(replace(TEN, limits={GPU: 1000})), BudgetEvents()
    told.told(NamespaceObserved(name="team", budget=replace(TEN, limits={GPU: 2})))
    told.told(LocalQueueObserved(namespace="team-b", name="lq", cluster_queue="cq"))
    list(notices.news(told.world))
    told.later(HOUR)
    assert said(notices, told) == [("LocalQueue", "lq", "BudgetExhausted")]


def test_the_share_of_a_user_is_told_on_the_queues_that_the_user_is_in() -> None:
    shared = replace(TEN, limits={GPU: 1000}, each_user=BudgetLimits(limits={GPU: 2}))
    told, notices = running(shared, user="ann"), BudgetEvents()
    told.told(LocalQueueObserved(namespace="team", name="unused", cluster_queue="cq"))
    list(notices.news(told.world))
    told.later(HOUR)
    spent = list(notices.news(told.world))
    assert [(one.kind, one.name) for one in spent] == [("ClusterQueue", "cq"), ("LocalQueue", "lq")]
    assert "user ann in ClusterQueue cq" in spent[0].message


def test_a_budget_that_binds_nobody_is_no_end() -> None:
    told, notices = running(), BudgetEvents()
    queue = told.world.cluster_queues["cq"]
    assert isinstance(queue, ClusterQueueObserved)
    told.told(replace(queue, checks=()))
    told.later(5 * HOUR)
    assert {reason for _, _, reason in said(notices, told)} == {"BudgetThresholdReached"}


def test_the_end_of_a_budget_that_holds_nobody_back_is_told_as_a_threshold() -> None:
    told, notices = running(replace(TEN, limits={GPU: 2})), BudgetEvents()
    told.told(replace(told.world.cluster_queues["cq"], checks=()))
    list(notices.news(told.world))
    told.later(HOUR)
    spent = list(notices.news(told.world))
    assert {one.reason for one in spent} == {"BudgetThresholdReached"}
    assert spent[-1].message.startswith("100 % of the budget of ClusterQueue cq are used")
