"""The part of the world that the queue manager sees: queues, budgets, and the domains of pods that may be lost."""

from typing import Protocol

from projections.budgets.state import BudgetState
from projections.queues.state import QueueState
from projections.topology.state import TopologyState


class QueueManagerState(QueueState, TopologyState, BudgetState, Protocol):
    """Where a workload may wait and whether it keeps its quota does not depend on who is to make room for whom."""
