"""The usage of budgets: how much of each is used in its period, when it is used up or renewed, and what counts in it."""

import msgspec

from events.event import Millis
from events.quota import Budget
from projections.calendar import begin, end

HOUR: Millis = 3_600_000


class BudgetUsage(msgspec.Struct, frozen=True, kw_only=True):
    """A budget as it stood at a time: units x milliseconds since its period began, and units that are held now."""

    budget: Budget
    began: Millis
    at: Millis
    amounts: dict[str, int] = {}
    running: dict[str, int] = {}


class CountedWorkload(msgspec.Struct, frozen=True, kw_only=True):
    """What is counted for a workload, and in which budgets (`ClusterQueue/name`, `Namespace/name`)."""

    scopes: tuple[str, ...]
    usage: dict[str, int]


def settled(usage: BudgetUsage, at: Millis) -> BudgetUsage:
    """The usage at a later time; in a new period it begins at zero."""
    if at <= usage.at:
        return usage
    start = begin(usage.budget.period, at)
    amounts = dict(usage.amounts) if start <= usage.began else {}
    length = at - max(usage.at, start)
    for resource, amount in usage.running.items():
        amounts[resource] = amounts.get(resource, 0) + amount * length
    return msgspec.structs.replace(usage, began=max(start, usage.began), at=at, amounts=amounts)


def over(usage: BudgetUsage) -> list[str]:
    """The resources of which nothing is left."""
    limits = usage.budget.limits
    return [resource for resource in sorted(limits) if usage.amounts.get(resource, 0) >= limits[resource] * HOUR]


def changes_after(usage: BudgetUsage, at: Millis) -> Millis | None:
    """When it next blocks or admits workloads by time alone: it is used up, or its period ends. None for never."""
    now = settled(usage, at)
    empty = over(now)
    dues: list[Millis] = []
    for resource, limit in now.budget.limits.items():
        rate = now.running.get(resource, 0)
        if rate > 0 and resource not in empty:
            dues.append(now.at - (now.amounts.get(resource, 0) - limit * HOUR) // rate)
    if dues or empty:
        dues.append(end(now.budget.period, now.at))
    return min(dues, default=None)
