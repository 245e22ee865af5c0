"""What budgets are named, and in which of them a workload counts.

The budget of a queue is `ClusterQueue/name`, that of a namespace `Namespace/name`; a user's share of either has `/users/name` behind it.
"""

from collections.abc import Iterable, Mapping

from projections.budgets.budget_usage import BudgetUsage
from projections.workloads.lifecycle import Workload

_USERS = "/users/"


def wholes_of(cluster_queue: str, namespace: str) -> tuple[str, str]:
    """The budgets that whoever is in this queue and namespace would count in."""
    return f"ClusterQueue/{cluster_queue}", f"Namespace/{namespace}"


def share_of(whole: str, user: str) -> str:
    """The scope of one user's share of a budget."""
    return f"{whole}{_USERS}{user}"


def whole_of(scope: str) -> str:
    """The budget that it is, or that it is a share of."""
    return scope.partition(_USERS)[0]


def in_words(scope: str) -> str:
    """A scope as messages name it: the budget, or the user and the budget."""
    whole, share, user = scope.partition(_USERS)
    kind, _, name = whole.partition("/")
    return f"{kind} {name}" if not share else f"user {user or '(none named)'} in {kind} {name}"


def scopes_of(budgets: Mapping[str, BudgetUsage], workload: Workload, cluster_queue: str) -> tuple[str, ...]:
    """The budgets that a workload counts in, and its user's shares of them."""
    found: list[str] = []
    for whole in wholes_of(cluster_queue, workload.namespace):
        if whole in budgets:
            found.append(whole)
            if budgets[whole].budget.each_user is not None:
                found.append(share_of(whole, workload.spec.user))
    return tuple(found)


def shares_of(budgets: Iterable[str], whole: str) -> list[str]:
    """The shares of a budget that are counted."""
    return [scope for scope in budgets if scope.startswith(f"{whole}{_USERS}")]
