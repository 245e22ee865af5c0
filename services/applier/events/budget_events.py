"""The Events on queues about budgets: each threshold that is reached, the end, and the next period.

Rule: docs/rules/budgets.md#shown
"""

from collections.abc import Iterator

from events.configuration import KUEUE_API
from events.timestamp import format_timestamp
from projections.budgets.budget_usage import WHOLE, BudgetUsage, allowed, told
from projections.budgets.enforcement import EXHAUSTED, in_force, used_up_message
from projections.budgets.scopes import in_words, whole_of
from projections.queues.budget_condition import BudgetedQueueState, threshold_message
from services.applier.events.cluster_events import ClusterEvent

REACHED, RENEWED = "BudgetThresholdReached", "BudgetRenewed"
Bearer = tuple[str, str, str, str]
"""Kind, namespace, name and UID of an object."""


class BudgetEvents:
    """Notices what is told of budgets. After a restart it is told again, under the same names: the API server takes it once."""

    def __init__(self) -> None:
        self._known: dict[str, BudgetUsage] = {}

    def news(self, world: BudgetedQueueState) -> Iterator[ClusterEvent]:
        """The Events on what was told since the last look; called after each turn of the partition."""
        for scope in world.budget_work.take("applier"):
            before, now = self._known.get(scope), world.budgets.get(scope)
            if now is None:
                self._known.pop(scope, None)
                continue
            self._known[scope] = now
            if before is not None and (before.told, before.told_of) == (now.told, now.told_of):
                continue
            yield from _told(world, scope, before, now)


def _told(
    world: BudgetedQueueState, scope: str, before: BudgetUsage | None, now: BudgetUsage
) -> Iterator[ClusterEvent]:
    bearers = list(_bearers(world, scope))
    if before is not None and before.told and before.told_of < now.began and not now.told:
        message = f"A new period of the budget of {in_words(scope)} has begun at {format_timestamp(now.began)}"
        yield from (_event(one, scope, f"{now.began}", now, RENEWED, message, warning=False) for one in bearers)
    for resource in now.told:
        percent = told(now, resource)
        if not percent or (before is not None and percent == told(before, resource) and before.began == now.began):
            continue
        over = percent >= WHOLE and any(in_force(world, queue) for queue in _queues(world, bearers))
        message = (
            used_up_message(scope, now, resource, now.at) if over else threshold_message(scope, resource, percent, now)
        )
        identity = f"{now.began}/{resource}/{percent}/{allowed(now, resource)}"
        reason = EXHAUSTED if over else REACHED
        yield from (_event(one, scope, identity, now, reason, message, warning=True) for one in bearers)


def _bearers(world: BudgetedQueueState, scope: str) -> Iterator[Bearer]:
    """The cluster queue whose budget it is, and the local queues that its users look at; of a user's share those that the user is in."""
    whole = whole_of(scope)
    kind, _, name = whole.partition("/")
    if kind == "ClusterQueue" and name in world.cluster_queues:
        yield "ClusterQueue", "", name, world.cluster_queues[name].uid
    if scope != whole:
        held = (world.workloads[key].local_queue for key, one in world.budgeted.items() if scope in one.scopes)
        doors = sorted({*held})
    elif kind == "ClusterQueue":
        doors = sorted(world.local_queues_of.get(name, ()))
    else:
        doors = sorted(key for key in world.local_queues if key.startswith(f"{name}/"))
    for key in doors:
        found = world.local_queues.get(key)
        if found is not None:
            yield "LocalQueue", found.namespace, found.name, found.uid


def _queues(world: BudgetedQueueState, bearers: list[Bearer]) -> Iterator[str]:
    for kind, namespace, name, _ in bearers:
        yield name if kind == "ClusterQueue" else world.local_queues[f"{namespace}/{name}"].cluster_queue


def _event(
    bearer: Bearer, scope: str, identity: str, usage: BudgetUsage, reason: str, message: str, *, warning: bool
) -> ClusterEvent:
    kind, namespace, name, uid = bearer
    return ClusterEvent(
        api_version=KUEUE_API,
        kind=kind,
        namespace=namespace,
        name=name,
        uid=uid,
        identity=f"{scope}/{identity}",
        at=usage.at,
        reason=reason,
        message=message,
        warning=warning,
    )
