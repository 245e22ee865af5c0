"""Budgets of queues and namespaces: what has been held in the period so far, and whether that uses them up.

Rule: docs/rules/checks.md#budget

A budget counts held quota x time, from reservation to release. It binds where the cluster queue requires a check of
kuelog's budget controller: a workload that asks for a used up resource waits until the period ends or the budget is raised. Between two
events usage is constant, so nothing is sampled; where no budget is, nothing is counted.
"""

from collections.abc import Iterable, Mapping

import msgspec

from events.catalogue import AnyEvent
from events.control import ObjectRemoved
from events.event import Millis
from events.quota import AdmissionCheckObserved, Budget, ClusterQueueObserved, NamespaceObserved
from events.timestamp import format_timestamp
from projections.budgets.budget_usage import BudgetUsage, CountedWorkload, over, settled
from projections.budgets.state import BudgetState
from projections.calendar import begin, end
from projections.quota.holders import QuotaHolders
from projections.workloads.lifecycle import Workload, asks_for_cards

CONTROLLER = "kuelog.io/budget"
"""The controller of the built-in check."""
EXHAUSTED = "BudgetExhausted"
"""The reason for which workloads are parked, or lose quota not yet used, when a budget is used up."""

_MILLI = 1000


class UsedUp(msgspec.Struct, frozen=True):
    """A budget of which nothing is left, and until when."""

    message: str
    until: Millis


def keep_budgets(world: BudgetState, event: AnyEvent, at: Millis) -> None:
    """Bring what is counted in line with what an event has changed; where there is no budget this costs nothing."""
    if not world.budgets and not isinstance(event, ClusterQueueObserved | NamespaceObserved):
        return
    match event:
        case ClusterQueueObserved():
            _set(world, f"ClusterQueue/{event.name}", event.budget, at, list(world.holders(event.name)))
        case NamespaceObserved():
            _set(world, f"Namespace/{event.name}", event.budget, at, _of_namespace(world.holding, event.name))
        case ObjectRemoved(kind="ClusterQueue" | "Namespace"):
            _set(world, f"{event.kind}/{event.name}", None, at, ())
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
            spent = world.budgets.get(scope)
            if spent is not None and counted is not None:
                world.put_budget(scope, _running(settled(spent, at), counted.usage, sign))
    if now is None:
        world.trail.drop(world.budgeted, key)
    else:
        world.trail.put(world.budgeted, key, now)


def own_checks(
    cluster_queues: Mapping[str, ClusterQueueObserved], checks: Mapping[str, AdmissionCheckObserved], cluster_queue: str
) -> list[str]:
    """The budget checks of a queue, which kuelog answers itself."""
    queue = cluster_queues.get(cluster_queue)
    if queue is None or not queue.checks:
        return []
    found = (checks.get(rule.name) for rule in queue.checks)
    return sorted(check.name for check in found if check is not None and check.controller == CONTROLLER)


def used_up(world: BudgetState, workload: Workload, cluster_queue: str, at: Millis) -> UsedUp | None:
    """The budget for want of which the workload has to wait: the one that is renewed last."""
    if not world.budgets or not own_checks(world.cluster_queues, world.checks, cluster_queue):
        return None
    found = [
        one
        for scope in _scopes(world.budgets, workload, cluster_queue)
        for one in (_used_up(scope, settled(world.budgets[scope], at), workload, at),)
        if one is not None
    ]
    return max(found, key=lambda one: one.until, default=None)


def _used_up(scope: str, usage: BudgetUsage, workload: Workload, at: Millis) -> UsedUp | None:
    budget = usage.budget
    for resource in over(usage):
        if asks_for_cards(workload, frozenset({resource})):
            hours = budget.limits[resource]
            kind, _, name = scope.partition("/")
            until = end(budget.period, at)
            # Without the amount used: it grows while workloads run on, and the message is not to change each time.
            message = (
                f"The budget of {kind} {name} is used up: {_hours(resource, hours)} hours of {resource} per {budget.period}; "
                f"workloads wait until {format_timestamp(until)}"
            )
            return UsedUp(message, until)
    return None


def _hours(resource: str, hours: int) -> int:
    """Unit-hours as they are written in a budget: CPU in cores, not in milli-units."""
    return hours // _MILLI if resource == "cpu" else hours


def _set(world: BudgetState, scope: str, budget: Budget | None, at: Millis, holders: Iterable[str]) -> None:
    known = world.budgets.get(scope)
    if budget is None:
        if known is None:
            return
        world.trail.drop(world.budgets, scope)
    elif known is None:
        start = begin(budget.period, at)
        world.put_budget(scope, BudgetUsage(budget=budget, began=start, at=at))
    elif known.budget != budget:
        world.put_budget(scope, _changed(settled(known, at), budget, at))
    else:
        return
    counted = [key for key, one in world.budgeted.items() if scope in one.scopes]
    for key in sorted({*holders, *counted}):
        follow(world, key, at)
    world.review_budget(scope)


def _changed(usage: BudgetUsage, budget: Budget, at: Millis) -> BudgetUsage:
    """Another budget: what was spent still counts, unless the period is another one."""
    if usage.budget.period is budget.period:
        return msgspec.structs.replace(usage, budget=budget)
    return msgspec.structs.replace(usage, budget=budget, began=begin(budget.period, at), amounts={})


def _standing(world: BudgetState, key: str) -> CountedWorkload | None:
    workload = world.workloads.get(key)
    if workload is None or workload.admission is None:
        return None
    held = world.holders(workload.admission.cluster_queue).usage.get(key)
    scopes = _scopes(world.budgets, workload, workload.admission.cluster_queue)
    if held is None or not scopes:
        return None
    usage: dict[str, int] = {}
    for column, amount in held.items():
        resource = world.quota.columns.names[column][1]
        usage[resource] = usage.get(resource, 0) + amount
    return CountedWorkload(scopes=scopes, usage=dict(sorted(usage.items())))


def _scopes(budgets: Mapping[str, BudgetUsage], workload: Workload, cluster_queue: str) -> tuple[str, ...]:
    both = (f"ClusterQueue/{cluster_queue}", f"Namespace/{workload.namespace}")
    return tuple(scope for scope in both if scope in budgets)


def _running(spent: BudgetUsage, usage: dict[str, int], sign: int) -> BudgetUsage:
    running = dict(spent.running)
    for resource, amount in usage.items():
        running[resource] = running.get(resource, 0) + sign * amount
    kept = {resource: running[resource] for resource in sorted(running) if running[resource]}
    return msgspec.structs.replace(spent, running=kept)


def _of_namespace(holding: Mapping[str, QuotaHolders], namespace: str) -> list[str]:
    prefix = f"{namespace}/"
    return [key for holders in holding.values() for key in holders if key.startswith(prefix)]
