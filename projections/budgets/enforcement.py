"""What a budget that is used up means for workloads, and what there is to tell of budgets.

Rule: docs/rules/budgets.md#at-the-end

A budget binds where the cluster queue requires a check of kuelog's budget controller.
"""

from collections.abc import Iterator

import msgspec

from events.budget import AtTheEnd, BudgetRenewed, BudgetThresholdReached, RunningAtTheEnd
from events.event import Millis
from events.timestamp import format_timestamp
from projections.budgets.amounts import in_units
from projections.budgets.budget_usage import BudgetUsage, allowed, limits_of, over, reached, settled, told, used
from projections.budgets.counting import usage_of
from projections.budgets.rates import own_checks, priced, prices_of
from projections.budgets.scopes import in_words, scopes_of, whole_of
from projections.budgets.state import BudgetState
from projections.calendar import end
from projections.workloads.lifecycle import Workload, asks_for_any

EXHAUSTED = "BudgetExhausted"
"""The reason for which workloads are parked, stopped, or lose quota not yet used, when a budget is used up."""


class UsedUp(msgspec.Struct, frozen=True):
    """A budget of which nothing is left, until when, and what becomes of workloads."""

    message: str
    until: Millis
    at_end: AtTheEnd
    running: RunningAtTheEnd
    scope: str
    resource: str


def used_up(world: BudgetState, workload: Workload, cluster_queue: str, at: Millis) -> UsedUp | None:
    """The budget for want of which the workload has to wait: the one that is renewed last."""
    found = [one for one in _used_up(world, workload, cluster_queue, at) if one.at_end is not AtTheEnd.WARN]
    return max(found, key=lambda one: one.until, default=None)


def stopped_by(world: BudgetState, workload: Workload, cluster_queue: str, at: Millis) -> UsedUp | None:
    """The budget because of whose end a workload has to stop that runs."""
    found = [one for one in _used_up(world, workload, cluster_queue, at) if one.running is RunningAtTheEnd.STOP]
    return max(found, key=lambda one: one.until, default=None)


def warned_of(world: BudgetState, workload: Workload, cluster_queue: str, at: Millis) -> UsedUp | None:
    """The budget that is used up and lets workloads in all the same."""
    found = [one for one in _used_up(world, workload, cluster_queue, at) if one.at_end is AtTheEnd.WARN]
    return max(found, key=lambda one: one.until, default=None)


def news_of(world: BudgetState, scope: str, at: Millis) -> Iterator[BudgetThresholdReached | BudgetRenewed]:
    """What there is to tell of a budget: a new period after one in which something was told, or the thresholds that are reached.

    Rule: docs/rules/budgets.md#thresholds
    """
    known = world.budgets.get(scope)
    if known is None:
        return
    usage = settled(known, at)
    if usage.told and usage.told_of < usage.began:
        yield BudgetRenewed(budget=scope, began=usage.began, carried=usage.carried)
        return
    for resource in sorted(limits_of(usage).limits):
        percent = reached(usage, resource)
        if percent > told(usage, resource):
            yield BudgetThresholdReached(
                budget=scope,
                resource=resource,
                percent=percent,
                used=used(usage, resource),
                allowed=allowed(usage, resource),
                began=usage.began,
            )


def _used_up(world: BudgetState, workload: Workload, cluster_queue: str, at: Millis) -> Iterator[UsedUp]:
    if not world.budgets or not in_force(world, cluster_queue):
        return
    prices = prices_of(world.cluster_queues, world.checks, cluster_queue)
    for scope in scopes_of(world.budgets, workload, cluster_queue):
        usage = usage_of(world.budgets, scope, at)
        if usage is None:
            continue
        for resource in over(usage):
            if asks_for_any(workload, priced(prices, resource) or frozenset({resource})):
                message, until = used_up_message(scope, usage, resource, at), end(usage.budget.period, at)
                yield UsedUp(message, until, usage.budget.at_end, usage.budget.running, scope, resource)
                break


def in_force(world: BudgetState, cluster_queue: str) -> bool:
    """Whether budgets bind in a queue: whether it requires a check of kuelog's budget controller."""
    return bool(own_checks(world.cluster_queues, world.checks, cluster_queue))


def used_up_message(scope: str, usage: BudgetUsage, resource: str, at: Millis) -> str:
    """That nothing is left of a budget, and what becomes of workloads until when."""
    budget, until = usage.budget, end(usage.budget.period, at)
    more = allowed(usage, resource) - allowed(_bare(usage), resource)
    extra = f" and {in_units(resource, more)} carried over or approved" if more else ""
    # Without the amount used: it grows while workloads run on, and the message is not to change each time.
    message = (
        f"The budget of {in_words(scope)} is used up: {in_units(resource, allowed(_bare(usage), resource))} "
        f"per {budget.period}{extra}; "
    )
    match budget.at_end:
        case AtTheEnd.HOLD:
            message += f"workloads wait until {format_timestamp(until)}"
        case AtTheEnd.WARN:
            message += f"workloads get in all the same; the next period begins at {format_timestamp(until)}"
        case AtTheEnd.ASK:
            kind, _, name = whole_of(scope).partition("/")
            message += (
                f"workloads wait until {format_timestamp(until)}, or until somebody approves of more "
                f"(kuelog budget approve {kind.lower()}/{name})"
            )
    return message


def _bare(usage: BudgetUsage) -> BudgetUsage:
    """The usage without what comes on top of the limit."""
    return msgspec.structs.replace(usage, carried={}, budget=msgspec.structs.replace(usage.budget, approved=()))
