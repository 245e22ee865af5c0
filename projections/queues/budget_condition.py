"""The condition WithinBudget of cluster queues and local queues: how much of the budgets that count there was told to be used.

Rule: docs/rules/budgets.md#shown
"""

from typing import Protocol

from events.event import Millis
from events.timestamp import format_timestamp
from projections.budgets.amounts import in_units
from projections.budgets.budget_usage import WHOLE, BudgetUsage, allowed, limits_of, settled, told
from projections.budgets.enforcement import EXHAUSTED, in_force, used_up_message
from projections.budgets.scopes import in_words, wholes_of
from projections.budgets.state import BudgetState
from projections.calendar import end
from projections.queues.active_condition import ActiveCondition
from projections.queues.state import QueueState

WITHIN_BUDGET, THRESHOLD_REACHED = "WithinBudget", "ThresholdReached"


class BudgetedQueueState(QueueState, BudgetState, Protocol):
    """The queues, and the budgets that count in them."""


def cluster_queue_within_budget(world: BudgetedQueueState, name: str, at: Millis) -> ActiveCondition | None:
    """The condition of a cluster queue by its own budget; None where it has none."""
    return _shown(world, [f"ClusterQueue/{name}"], name, at)


def local_queue_within_budget(world: BudgetedQueueState, key: str, at: Millis) -> ActiveCondition | None:
    """The condition of a local queue by the budgets of its cluster queue and its namespace; None where neither has one."""
    queue = world.local_queues[key].cluster_queue
    return _shown(world, wholes_of(queue, key.partition("/")[0]), queue, at)


def _shown(world: BudgetState, scopes: list[str] | tuple[str, str], queue: str, at: Millis) -> ActiveCondition | None:
    """What is shown of the budget of which most is used; of one that is used up, what becomes of workloads."""
    standing = [
        (told(usage, resource), scope, resource, usage)
        for scope in scopes
        if scope in world.budgets and (usage := settled(world.budgets[scope], at))
        for resource in sorted(limits_of(usage).limits)
    ]
    if not standing:
        return None
    percent, scope, resource, usage = max(standing, key=lambda one: one[0])
    if percent >= WHOLE:
        message = used_up_message(scope, usage, resource, at)
        if not in_force(world, queue):
            message = f"The budget of {in_words(scope)} is used up, and holds nobody back: ClusterQueue {queue} requires no check of budgets"
        return ActiveCondition(False, EXHAUSTED, message)
    if percent:
        return ActiveCondition(True, THRESHOLD_REACHED, threshold_message(scope, resource, percent, usage))
    first = min((*usage.budget.thresholds, WHOLE))
    names = " and ".join(dict.fromkeys(in_words(scope) for _, scope, _, _ in standing))
    return ActiveCondition(True, WITHIN_BUDGET, f"Less than {first} % of the budget of {names} is used")


def threshold_message(scope: str, resource: str, percent: int, usage: BudgetUsage) -> str:
    """That so much of a budget is used, of how much, and when its next period begins."""
    until = format_timestamp(end(usage.budget.period, usage.at))
    return (
        f"{percent} % of the budget of {in_words(scope)} are used: of {in_units(resource, allowed(usage, resource))} "
        f"per {usage.budget.period}; the next period begins at {until}"
    )
