"""How budgets stand: what is used of each, when it will be used up if all goes on so, and what those who wait would add.

Rule: docs/rules/budgets.md#forecast
"""

from collections.abc import Iterator, Mapping
from typing import Protocol

import msgspec

from events.budget import AtTheEnd, BudgetPeriod, RunningAtTheEnd
from events.event import Millis
from events.quota import ClusterQueueObserved
from projections.budgets.amounts import number_of
from projections.budgets.budget_usage import (
    HOUR,
    WHOLE,
    BudgetUsage,
    allowed,
    limits_of,
    runs_out,
    settled,
    used_at_end,
    with_running,
)
from projections.budgets.rates import prices_of, rates
from projections.budgets.scopes import whole_of
from projections.budgets.state import BudgetState
from projections.calendar import end
from projections.queues.state import QueueState
from projections.queues.waiting import asked, beside, in_line


class ReportState(QueueState, BudgetState, Protocol):
    """Budgets, and who waits for what."""


class BudgetCourse(msgspec.Struct, frozen=True, kw_only=True):
    """What comes of a budget at a rate: what will be used at the end of its period, and when it is used up."""

    rate: str
    """In an hour."""
    used_at_end: str
    percent_at_end: int
    used_up_at: Millis | None
    """None where it lasts to the end of its period; the present where it is used up."""


class BudgetReport(msgspec.Struct, frozen=True, kw_only=True):
    """One resource of a budget, or its money: amounts are unit-hours or money, as plain decimals."""

    budget: str
    resource: str
    period: BudgetPeriod
    began: Millis
    ends: Millis
    used: str
    allowed: str
    percent: int
    """Of what is allowed, cut off; 100 where nothing is."""
    carried: str
    at_end: AtTheEnd
    running: RunningAtTheEnd
    forecast: BudgetCourse
    """If those who run go on, and nobody else comes."""
    with_waiting: BudgetCourse
    """If all who wait ran beside them from now on."""


def budget_reports(world: ReportState, at: Millis) -> Iterator[BudgetReport]:
    """Every budget and every user's share, resource by resource, by name."""
    for scope in sorted(world.budgets):
        usage = settled(world.budgets[scope], at)
        more = _waiting(world, scope, usage)
        for resource in sorted(limits_of(usage).limits):
            yield BudgetReport(
                budget=scope,
                resource=resource,
                period=usage.budget.period,
                began=usage.began,
                ends=end(usage.budget.period, usage.at),
                used=number_of(resource, usage.amounts.get(resource, 0)),
                allowed=number_of(resource, allowed(usage, resource)),
                percent=_percent(usage, resource, usage.amounts.get(resource, 0)),
                carried=number_of(resource, usage.carried.get(resource, 0)),
                at_end=usage.budget.at_end,
                running=usage.budget.running,
                forecast=_course(usage, resource),
                with_waiting=_course(with_running(usage, more), resource),
            )


def _percent(usage: BudgetUsage, resource: str, used: int) -> int:
    most = allowed(usage, resource)
    return used * WHOLE // most if most else WHOLE


def _course(usage: BudgetUsage, resource: str) -> BudgetCourse:
    used = used_at_end(usage, resource)
    return BudgetCourse(
        rate=number_of(resource, usage.running.get(resource, 0) * HOUR),
        used_at_end=number_of(resource, used),
        percent_at_end=_percent(usage, resource, used),
        used_up_at=runs_out(usage, resource),
    )


def _waiting(world: ReportState, scope: str, usage: BudgetUsage) -> Mapping[str, int]:
    """What those who wait would use in an hour: of each resource in the first flavor that their queue offers."""
    kind, _, name = whole_of(scope).partition("/")
    found: dict[str, int] = {}
    for queue in world.cluster_queues.values():
        if kind == "ClusterQueue" and queue.name != name:
            continue
        keys = [
            key
            for key in (*in_line(world, queue.name), *beside(world, queue.name))
            if (kind == "ClusterQueue" or world.workloads[key].namespace == name)
            and (usage.user is None or world.workloads[key].spec.user == usage.user)
        ]
        if keys:
            for resource, amount in _rates(world, queue, keys).items():
                found[resource] = found.get(resource, 0) + amount
    return found


def _rates(world: ReportState, queue: ClusterQueueObserved, keys: list[str]) -> dict[str, int]:
    first = {
        resource: group.flavors[0].flavor for group in queue.groups if group.flavors for resource in group.resources
    }
    amounts = [(first.get(name, ""), name, amount) for name, amount in asked(world, queue, keys).items()]
    return rates(amounts, prices_of(world.cluster_queues, world.checks, queue.name))
