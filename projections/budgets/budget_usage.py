"""The usage of budgets: how much of each is used in its period, when it is used up or renewed, and what counts in it.

Amounts are units x milliseconds, money millionths of its currency an hour x milliseconds: whole numbers, so no sum depends on its
order, and a limit of so many hours, or of so much money, is that number times an hour.
"""

from collections.abc import Mapping

import msgspec

from events.budget import Budget, BudgetLimits, BudgetPeriod
from events.event import Millis
from projections.calendar import begin, end

HOUR: Millis = 3_600_000
WHOLE = 100
"""Per cent."""
_CODE = 3


class PartitionUse(msgspec.Struct, frozen=True, kw_only=True):
    """What one partition has counted of a budget in its period, and what is held there; nothing of what is left out."""

    amounts: dict[str, int] = {}
    running: dict[str, int] = {}


NOTHING_USED = PartitionUse()


class BudgetUsage(msgspec.Struct, frozen=True, kw_only=True):
    """A budget, or a user's share of it, as it stood at a time: what was used since its period began, and what is held now.

    On a divided log that is what this partition has counted itself, and beside it what it has heard of others.
    """

    budget: Budget
    user: str | None = None
    """Whose share of it this is; None for the whole."""
    began: Millis
    at: Millis
    amounts: dict[str, int] = {}
    running: dict[str, int] = {}
    carried: dict[str, int] = {}
    """What periods before have left over."""
    told: dict[str, int] = {}
    """The highest threshold that was told, in per cent, by resource."""
    told_of: Millis = 0
    """When the period began in which it was told."""
    heard: dict[str, PartitionUse] = {}
    """By other partition what it has told of this budget, reckoned on to this time: what is held there goes on until it says otherwise."""
    said: PartitionUse | None = NOTHING_USED
    """What this partition has told the others, reckoned on as they do; None where that was of another kind of period, and may still be on its way."""


class CountedWorkload(msgspec.Struct, frozen=True, kw_only=True):
    """What is counted for a workload, and in which budgets (`ClusterQueue/name`, `Namespace/name`)."""

    scopes: tuple[str, ...]
    usage: dict[str, int]


def is_currency(resource: str) -> bool:
    """Whether a limit is one of money: a currency's code, which is no name of a resource."""
    return len(resource) == _CODE and resource.isascii() and resource.isalpha() and resource.isupper()


def limits_of(usage: BudgetUsage) -> BudgetLimits:
    """The limits of the whole, or of each user."""
    budget = usage.budget
    if usage.user is None:
        return BudgetLimits(limits=budget.limits, scale=budget.scale)
    return budget.each_user or BudgetLimits(limits={})


def allowed(usage: BudgetUsage, resource: str) -> int:
    """What may be used in the period: the limit, what was carried over, and what was approved of for it."""
    more = sum(
        _amount(one.more, resource)
        for one in usage.budget.approved
        if one.began == usage.began and one.user == (usage.user or "")
    )
    return _amount(limits_of(usage), resource) + usage.carried.get(resource, 0) + more


def settled(usage: BudgetUsage, at: Millis) -> BudgetUsage:
    """The usage at a later time; in a new period it begins at zero, with what may be carried over.

    Rule: docs/rules/budgets.md#periods
    """
    if at <= usage.at:
        return usage
    start = begin(usage.budget.period, at)
    renewed = start > usage.began
    since = start if renewed else usage.at
    changes: dict[str, object] = {"began": start, "carried": _carried_over(usage, start)} if renewed else {}
    if usage.heard or usage.said not in (None, NOTHING_USED):
        changes["heard"] = {name: reckoned(one, at - since, from_nothing=renewed) for name, one in usage.heard.items()}
        changes["said"] = usage.said and reckoned(usage.said, at - since, from_nothing=renewed)
    amounts = _grown({} if renewed else usage.amounts, usage.running, at - since)
    return msgspec.structs.replace(usage, at=at, amounts=amounts, **changes)


def reckoned(use: PartitionUse, length: Millis, *, from_nothing: bool = False) -> PartitionUse:
    """The use of a partition so much later, if those who run there go on; in a new period from nothing."""
    amounts = _grown({} if from_nothing else use.amounts, use.running, length)
    kept = {resource: amounts[resource] for resource in sorted(amounts) if amounts[resource]}
    return PartitionUse(amounts=kept, running=use.running)


def used(usage: BudgetUsage, resource: str) -> int:
    """What is used of it in the period, here and in all other partitions that share it."""
    return usage.amounts.get(resource, 0) + sum(one.amounts.get(resource, 0) for one in usage.heard.values())


def with_running(usage: BudgetUsage, rates: Mapping[str, int], sign: int = 1) -> BudgetUsage:
    """The usage with so much more held from its time on, or with the sign -1 so much less."""
    running = dict(usage.running)
    for resource, amount in rates.items():
        running[resource] = running.get(resource, 0) + sign * amount
    kept = {resource: running[resource] for resource in sorted(running) if running[resource]}
    return msgspec.structs.replace(usage, running=kept)


def used_at_end(usage: BudgetUsage, resource: str) -> int:
    """What will be used of it at the end of its period, if those who run go on as they do."""
    return used(usage, resource) + _held(usage, resource) * (end(usage.budget.period, usage.at) - usage.at)


def over(usage: BudgetUsage) -> list[str]:
    """The resources of which nothing is left."""
    return [
        resource for resource in sorted(limits_of(usage).limits) if used(usage, resource) >= allowed(usage, resource)
    ]


def reached(usage: BudgetUsage, resource: str) -> int:
    """The highest threshold that is reached, in per cent; 0 for none."""
    there, most = used(usage, resource) * WHOLE, allowed(usage, resource)
    return max((one for one in _thresholds(usage.budget) if there >= most * one), default=0)


def told(usage: BudgetUsage, resource: str) -> int:
    """The highest threshold that was told in the period that goes on."""
    return usage.told.get(resource, 0) if usage.told_of == usage.began else 0


def runs_out(usage: BudgetUsage, resource: str, percent: int = WHOLE) -> Millis | None:
    """When so much of it is used, if those who run go on as they do; None for never in this period, its own time where it is so already."""
    missing = allowed(usage, resource) * percent - used(usage, resource) * WHOLE
    if missing <= 0:
        return usage.at
    rate = _held(usage, resource) * WHOLE
    if rate <= 0:
        return None
    due = usage.at - (-missing // rate)
    return due if due < end(usage.budget.period, usage.at) else None


def changes_after(usage: BudgetUsage, at: Millis) -> Millis | None:
    """When there is next something to decide or to tell by time alone: a threshold, its end, a new period. None for never."""
    now = settled(usage, at)
    dues = [
        due
        for resource in limits_of(now).limits
        for percent in _thresholds(now.budget)
        if (due := runs_out(now, resource, percent)) is not None and due > now.at
    ]
    # Who runs on may reach in the next period what he does not in this one.
    runs_on = any(_held(now, resource) for resource in limits_of(now).limits)
    if runs_on or now.told or over(now):
        dues.append(end(now.budget.period, now.at))
    return min(dues, default=None)


def _held(usage: BudgetUsage, resource: str) -> int:
    return usage.running.get(resource, 0) + sum(one.running.get(resource, 0) for one in usage.heard.values())


def _thresholds(budget: Budget) -> tuple[int, ...]:
    return tuple(sorted({*budget.thresholds, WHOLE}))


def _amount(limits: BudgetLimits, resource: str) -> int:
    found = limits.limits.get(resource, 0) * HOUR
    return found if is_currency(resource) else found // limits.scale


def _grown(amounts: dict[str, int], running: dict[str, int], length: Millis) -> dict[str, int]:
    found = dict(amounts)
    for resource, amount in running.items():
        found[resource] = found.get(resource, 0) + amount * length
    return found


def _carried_over(usage: BudgetUsage, start: Millis) -> dict[str, int]:
    """What is left over for the period that begins then; where several have passed meanwhile, those who run ran in all of them."""
    if not usage.budget.carry_over:
        return {}
    over_then = end(usage.budget.period, usage.at)
    found = {
        resource: _left_over(usage, resource, usage.carried.get(resource, 0), used_at_end(usage, resource))
        for resource in limits_of(usage).limits
    }
    while over_then < start:
        later = end(usage.budget.period, over_then)
        # Days and weeks are alike: what many of them leave over is what one leaves, so many times.
        times = 1 if usage.budget.period is BudgetPeriod.MONTH else (start - over_then) // (later - over_then)
        found = {
            resource: _left_over(usage, resource, left, _held(usage, resource) * (later - over_then), times)
            for resource, left in found.items()
        }
        over_then = over_then + times * (later - over_then)
    return {resource: left for resource, left in found.items() if left}


def _left_over(usage: BudgetUsage, resource: str, carried: int, spent: int, times: int = 1) -> int:
    limit = _amount(limits_of(usage), resource)
    most = limit * usage.budget.carry_over // WHOLE
    return min(max(carried + times * (limit - spent), 0), most)
