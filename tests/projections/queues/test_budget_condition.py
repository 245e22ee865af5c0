"""How queues show their budgets: by what was told of them, and nothing where there is none."""

from msgspec.structs import replace

from events.budget import AtTheEnd, Budget, BudgetPeriod
from events.quota import NamespaceObserved
from projections.budgets.budget_usage import HOUR
from projections.queues.active_condition import ActiveCondition
from projections.queues.budget_condition import cluster_queue_within_budget, local_queue_within_budget
from projections.queues.status import QueueStatus
from services.applier.queue_status.status_patches import QueuePlace, Statuses, status_patch
from tests.stories.small_world import GPU, Story, job
from tests.stories.test_budget_rules import FEBRUARY, WHOLE, begun, with_budget

TEN = Budget(period=BudgetPeriod.MONTH, limits={GPU: 10}, thresholds=(50, 80, 100))
QUEUE: QueuePlace = ("ClusterQueue", "", "cq")
DOOR: QueuePlace = ("LocalQueue", "team", "lq")


def shown(told: Story) -> tuple[ActiveCondition | None, ActiveCondition | None]:
    queue = cluster_queue_within_budget(told.world, "cq", told.at)
    return queue, local_queue_within_budget(told.world, "team/lq", told.at)


def within(told: Story, place: QueuePlace) -> ActiveCondition | None:
    status = Statuses().changed(told.world, told.at)[place]
    assert isinstance(status, QueueStatus)
    return status.within_budget


def running(found: Budget = TEN) -> Story:
    told = begun(found, job("a", count=2))
    told.decided()
    told.at = told.world.budgets[WHOLE].at
    return told


def test_each_threshold_and_the_end_change_what_is_shown_and_time_between_them_does_not() -> None:
    told = running()
    fresh = ActiveCondition(True, "WithinBudget", "Less than 50 % of the budget of ClusterQueue cq is used")
    assert shown(told) == (fresh, fresh)
    told.later(2 * HOUR)
    assert shown(told) == (fresh, fresh), "40 % are no threshold"
    told.later(HOUR // 2)
    half = (
        "50 % of the budget of ClusterQueue cq are used: of 10 hours of nvidia.com/gpu per month; "
        "the next period begins at 2026-02-01T00:00:00Z"
    )
    reached = ActiveCondition(True, "ThresholdReached", half)
    assert shown(told) == (reached, reached)
    told.later(HOUR)
    assert shown(told) == (reached, reached)
    told.later(2 * HOUR)
    spent = ActiveCondition(
        False,
        "BudgetExhausted",
        "The budget of ClusterQueue cq is used up: 10 hours of nvidia.com/gpu per month; workloads wait until 2026-02-01T00:00:00Z",
    )
    assert shown(told) == (spent, spent)
    told.later(FEBRUARY - told.at)
    assert shown(told) == (fresh, fresh)


def test_a_queue_without_a_budget_shows_nothing_and_does_not_go_on_to_when_it_is_taken_away() -> None:
    told = running()
    assert within(told, QUEUE) == within(told, DOOR) != None  # noqa: E711
    status = Statuses().changed(told.world, told.at)[QUEUE]
    patch = status_patch(QUEUE, status, {}, told.at)
    assert patch is not None
    assert [one["type"] for one in patch["status"]["conditions"]] == ["Active", "WithinBudget"]
    told.told(with_budget(None))
    gone = Statuses().changed(told.world, told.at)[QUEUE]
    last = status_patch(QUEUE, gone, patch, told.at)
    assert last is not None and [one["type"] for one in last["status"]["conditions"]] == ["Active"]
    assert shown(told) == (None, None)


def test_a_status_is_written_again_when_a_threshold_is_told_and_not_before() -> None:
    told, statuses = running(), Statuses()
    statuses.changed(told.world, told.at)
    told.later(2 * HOUR)
    assert not statuses.changed(told.world, told.at)
    told.later(HOUR // 2)
    assert set(statuses.changed(told.world, told.at)) == {QUEUE, DOOR}


def test_a_local_queue_shows_the_budget_of_its_namespace_beside_that_of_its_cluster_queue() -> None:
    told = running()
    told.told(NamespaceObserved(name="team", budget=replace(TEN, limits={GPU: 2}, period=BudgetPeriod.WEEK)))
    told.later(HOUR)
    queue, door = shown(told)
    assert queue is not None and queue.reason == "WithinBudget"
    assert door is not None and (door.active, door.reason) == (False, "BudgetExhausted")
    assert "Namespace team is used up: 2 hours" in door.message


def test_a_budget_that_binds_nobody_says_so() -> None:
    told = running(replace(TEN, limits={GPU: 1}))
    told.told(replace(with_budget(told.world.cluster_queues["cq"].budget), checks=()))
    told.later(HOUR)
    queue, _ = shown(told)
    assert queue is not None and not queue.active
    assert queue.message.endswith("holds nobody back: ClusterQueue cq requires no check of budgets")


def test_what_becomes_of_workloads_at_the_end_is_in_its_words() -> None:
    told = running(replace(TEN, at_end=AtTheEnd.WARN))
    told.later(5 * HOUR)
    queue, _ = shown(told)
    assert queue is not None and "workloads get in all the same" in queue.message
