"""What is counted in budgets: held quota x time and what it costs, from reservation to release, exact and without sampling.

Rule: docs/rules/budgets.md#counted

Between two events usage is constant, so nothing is sampled; where no budget is, nothing is counted.
"""

from collections.abc import Iterable, Mapping

import msgspec

from events.budget import Budget, BudgetRenewed, BudgetThresholdReached, BudgetUsePassedOn, BudgetUseTold
from events.catalogue import AnyEvent
from events.control import ObjectRemoved
from events.event import Millis
from events.quota import AdmissionCheckObserved, ClusterQueueObserved, NamespaceObserved
from projections.budgets.budget_usage import (
    NOTHING_USED,
    BudgetUsage,
    CountedWorkload,
    limits_of,
    reached,
    settled,
    told,
    with_running,
)
from projections.budgets.rates import prices_of, rates
from projections.budgets.scopes import scopes_of, shares_of, whole_of
from projections.budgets.state import BudgetState
from projections.calendar import begin
from projections.quota.holders import QuotaHolders


def keep_budgets(world: BudgetState, event: AnyEvent, at: Millis) -> None:
    """Bring what is counted in line with what an event has changed; where there is no budget this costs nothing."""
    if not world.budgets and not isinstance(event, ClusterQueueObserved | NamespaceObserved):
        return
    match event:
        case ClusterQueueObserved():
            holders = list(world.holders(event.name))
            _set(world, f"ClusterQueue/{event.name}", event.budget, at, holders)
            _follow_all(world, holders, at)
        case NamespaceObserved():
            _set(world, f"Namespace/{event.name}", event.budget, at, _of_namespace(world.holding, event.name))
        case ObjectRemoved(kind="ClusterQueue" | "Namespace"):
            _set(world, f"{event.kind}/{event.name}", None, at, ())
        case AdmissionCheckObserved() | ObjectRemoved(kind="AdmissionCheck"):
            _follow_all(world, list(world.budgeted), at)  # Its prices may be others.
        case BudgetThresholdReached() | BudgetRenewed() | BudgetUseTold() | BudgetUsePassedOn():
            pass
        case _:
            key = getattr(event, "workload", None)
            if isinstance(key, str):
                follow(world, key, at)


def follow(world: BudgetState, key: str, at: Millis) -> None:
    """Count for a workload what it holds now."""
    before, now = world.budgeted.get(key), _standing(world, key)
    if now == before:
        return
    for counted, sign in ((before, -1), (now, 1)):
        for scope in counted.scopes if counted is not None else ():
            usage = usage_of(world.budgets, scope, at)
            if usage is not None and counted is not None:
                world.put_budget(scope, with_running(usage, counted.usage, sign))
    if now is None:
        world.trail.drop(world.budgeted, key)
    else:
        world.trail.put(world.budgeted, key, now)


def usage_of(budgets: Mapping[str, BudgetUsage], scope: str, at: Millis) -> BudgetUsage | None:
    """How a budget stands at a time; of a user's share of which nothing was used yet, nothing is used."""
    known, whole = budgets.get(scope), whole_of(scope)
    if known is not None or whole == scope:
        return settled(known, at) if known is not None else None
    budget = budgets[whole].budget if whole in budgets else None
    if budget is None or budget.each_user is None:
        return None
    return BudgetUsage(budget=budget, user=scope.rpartition("/")[2], began=begin(budget.period, at), at=at)


def tell_threshold(world: BudgetState, event: BudgetThresholdReached, at: Millis) -> None:
    """It is told how much of a budget is used."""
    usage = usage_of(world.budgets, event.budget, at)
    if usage is None:
        return
    before = usage.told if usage.told_of == usage.began else {}
    known = msgspec.structs.replace(usage, told={**before, event.resource: event.percent}, told_of=usage.began)
    world.put_budget(event.budget, known)


def tell_renewal(world: BudgetState, event: BudgetRenewed, at: Millis) -> None:
    """It is told that a budget has a new period, in which nothing was told yet."""
    usage = usage_of(world.budgets, event.budget, at)
    if usage is not None and event.budget in world.budgets:
        world.put_budget(event.budget, msgspec.structs.replace(usage, told={}, told_of=0))


def _set(world: BudgetState, whole: str, budget: Budget | None, at: Millis, holders: Iterable[str]) -> None:
    known = world.budgets.get(whole)
    if known is None and budget is None:
        return
    shares = shares_of(world.budgets, whole)
    if budget is None:
        for scope in (whole, *shares):
            world.trail.drop(world.budgets, scope)
    elif known is None:
        world.put_budget(whole, BudgetUsage(budget=budget, began=begin(budget.period, at), at=at))
    elif known.budget != budget:
        for scope in (whole, *shares):
            world.put_budget(scope, _changed(settled(world.budgets[scope], at), budget))
    else:
        return
    _follow_all(world, [*holders, *(key for key, one in world.budgeted.items() if whole in one.scopes)], at)
    if budget is not None and budget.each_user is None:
        for scope in shares:
            world.trail.drop(world.budgets, scope)
    world.review_budget(whole)


def _follow_all(world: BudgetState, keys: Iterable[str], at: Millis) -> None:
    for key in sorted(set(keys)):
        follow(world, key, at)


def _changed(usage: BudgetUsage, budget: Budget) -> BudgetUsage:
    """Another budget: what was spent still counts, unless the period is another one; what is not reached any more is told anew."""
    if usage.budget.period is not budget.period:
        return msgspec.structs.replace(
            usage,
            budget=budget,
            # A fact may be older than what was counted up to.
            began=begin(budget.period, usage.at),
            amounts={},
            carried={},
            told={},
            told_of=0,
            heard={},
            said=NOTHING_USED if usage.said == NOTHING_USED else None,
        )
    now = msgspec.structs.replace(usage, budget=budget)
    still = {resource: min(told(now, resource), reached(now, resource)) for resource in limits_of(now).limits}
    return msgspec.structs.replace(now, told={name: percent for name, percent in still.items() if percent})


def _standing(world: BudgetState, key: str) -> CountedWorkload | None:
    workload = world.workloads.get(key)
    if workload is None or workload.admission is None:
        return None
    queue = workload.admission.cluster_queue
    held = world.holders(queue).usage.get(key)
    scopes = scopes_of(world.budgets, workload, queue)
    if held is None or not scopes:
        return None
    names = world.quota.columns.names
    amounts = [(*names[column], amount) for column, amount in held.items()]
    return CountedWorkload(scopes=scopes, usage=rates(amounts, prices_of(world.cluster_queues, world.checks, queue)))


def _of_namespace(holding: Mapping[str, QuotaHolders], namespace: str) -> list[str]:
    prefix = f"{namespace}/"
    return [key for holders in holding.values() for key in holders if key.startswith(prefix)]
