"""The part of the world that says how much of each budget is used."""

from typing import Protocol

from events.budget import BudgetUsePassedOn
from projections.budgets.budget_usage import BudgetUsage, CountedWorkload
from projections.quota.state import QuotaState
from projections.work_queue import WorkQueue


class BudgetState(QuotaState, Protocol):
    """The budgets of queues and namespaces, by their names (`scopes.py`)."""

    budgets: dict[str, BudgetUsage]
    budgeted: dict[str, CountedWorkload]
    """What is counted there, by workload."""
    budget_news: dict[str, BudgetUsePassedOn]
    """Where that is decided: what a partition has told of a budget that it shares, and the others have to hear; by partition and budget."""
    budget_work: WorkQueue
    """Budgets of which there may be something to tell: a hint."""

    def put_budget(self, scope: str, usage: BudgetUsage) -> None:
        """Set the usage of a budget, and review it when it is used up or renewed."""
        ...

    def review_budget(self, scope: str) -> None:
        """Have all workloads looked at that a budget may let in or hold back."""
        ...
