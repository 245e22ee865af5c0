"""Budgets that several partitions share: what each tells of what it has counted, and what it has heard of the others.

Rule: docs/rules/budgets.md#partitions

Only a namespace that is at home in no partition has workloads in several; a queue is decided in one.
"""

from collections.abc import Collection
from typing import Protocol

import msgspec

from events.budget import BudgetUsePassedOn, BudgetUseTold
from events.event import Millis
from events.subjects import DEVICES, family_of
from projections.budgets.budget_usage import NOTHING_USED, BudgetUsage, PartitionUse, limits_of, over, reckoned, settled
from projections.budgets.counting import usage_of
from projections.budgets.scopes import whole_of
from projections.budgets.state import BudgetState
from projections.log_position import LogPosition
from projections.partitions.homes import is_divided
from projections.partitions.state import PartitionState


class SharedBudgetState(PartitionState, BudgetState, Protocol):
    """Budgets, and where the workloads are decided that count in them."""


def untold(world: SharedBudgetState, scope: str, at: Millis) -> BudgetUseTold | None:
    """What there is to tell of a budget: what was counted here, where it is not what the others reckon it to be."""
    known = world.budgets.get(scope)
    if known is None or not is_shared(world, scope):
        return None
    usage = settled(known, at)
    now = counted_here(usage)
    if now == usage.said:
        return None
    return BudgetUseTold(budget=scope, at=usage.at, began=usage.began, amounts=now.amounts, running=now.running)


def note_told(world: SharedBudgetState, event: BudgetUseTold, position: LogPosition) -> None:
    """What was told is what the others reckon on; the partition that they all read has to pass it on."""
    if family_of(world.partition) == DEVICES:
        passed = BudgetUsePassedOn(
            budget=event.budget,
            partition=position.partition,
            decided=position.sequence,
            at=event.at,
            began=event.began,
            amounts=event.amounts,
            running=event.running,
        )
        world.trail.put(world.budget_news, _place(passed), passed)
        return
    usage = usage_of(world.budgets, event.budget, event.began)
    if usage is not None:
        world.put_budget(event.budget, msgspec.structs.replace(usage, said=_as_of(usage, event)))


def hear(world: SharedBudgetState, event: BudgetUsePassedOn, at: Millis) -> None:
    """What another partition has counted counts here as well, and those are looked at whom that holds back or lets in."""
    if family_of(world.partition) == DEVICES:
        if world.budget_news.get(_place(event)) == event:
            world.trail.drop(world.budget_news, _place(event))
        return
    # What is counted here stays at its own time: clocks differ. But news of a period that has not begun here begin it.
    before = usage_of(world.budgets, event.budget, event.began)
    if event.partition == world.partition or before is None:
        return
    others = {**before.heard, event.partition: _as_of(before, event)}
    heard = {name: others[name] for name in sorted(others) if others[name] != NOTHING_USED}
    now = msgspec.structs.replace(before, heard=heard)
    world.put_budget(event.budget, now)
    if over(settled(now, at)) != over(settled(before, at)):
        world.review_budget(event.budget)


def budgeted_namespaces(world: BudgetState) -> set[str]:
    """The namespaces that have a budget."""
    return {name for scope in world.budgets if (name := _namespace_of(scope))}


def let_go_of_use(world: BudgetState, namespaces: Collection[str], at: Millis, *, counted_in: str) -> None:
    """What was used of their budgets until here is counted on by another partition: added up it counts once. This one has told nothing of it."""
    for scope in sorted(world.budgets):
        usage = usage_of(world.budgets, scope, at) if _namespace_of(scope) in namespaces else None
        if usage is not None:
            heard = {**usage.heard, counted_in: usage.said} if usage.said not in (None, NOTHING_USED) else usage.heard
            left = msgspec.structs.replace(usage, amounts={}, heard=heard, said=NOTHING_USED)
            world.put_budget(scope, left)


def used_by_partition(world: SharedBudgetState, scope: str, resource: str, at: Millis) -> dict[str, int]:
    """How much of a budget is used in each partition that has used any, as far as it is known here; this one comes first."""
    usage = usage_of(world.budgets, scope, at)
    if usage is None:
        return {}
    found = {world.partition: usage.amounts.get(resource, 0)}
    return {**found, **{name: one.amounts[resource] for name, one in usage.heard.items() if resource in one.amounts}}


def is_shared(world: PartitionState, scope: str) -> bool:
    """Whether other partitions may have workloads that count in a budget."""
    namespace = _namespace_of(scope)
    return is_divided(world) and bool(namespace) and not world.namespace_homes.get(namespace)


def counted_here(usage: BudgetUsage) -> PartitionUse:
    """What was counted of a budget in the partition itself, of what it limits."""
    limited = sorted(limits_of(usage).limits)
    return PartitionUse(
        amounts={name: amount for name in limited if (amount := usage.amounts.get(name, 0))},
        running={name: amount for name in limited if (amount := usage.running.get(name, 0))},
    )


def _as_of(usage: BudgetUsage, event: BudgetUseTold | BudgetUsePassedOn) -> PartitionUse:
    """What was told, reckoned to the time of the budget here, which may also be the earlier one."""
    use = PartitionUse(amounts=event.amounts, running=event.running)
    if event.began == usage.began:
        return reckoned(use, usage.at - event.at)
    return reckoned(use, usage.at - usage.began, from_nothing=True)


def _namespace_of(scope: str) -> str:
    """The namespace whose budget it is, or a user's share of it; empty for that of a queue."""
    kind, _, name = whole_of(scope).partition("/")
    return name if kind == "Namespace" else ""


def _place(event: BudgetUsePassedOn) -> str:
    return f"{event.partition} {event.budget}"
