"""The part of the world that says who holds how much quota."""

from typing import Protocol

from projections.quota.holders import QuotaHolders
from projections.quota.tree import QuotaTree
from projections.workloads.state import WorkloadState


class QuotaState(WorkloadState, Protocol):
    """The quota trees, and the workloads that hold their quota."""

    quota: QuotaTree
    holding: dict[str, QuotaHolders]
    """Workloads that hold quota, by cluster queue; none where nobody ever did."""

    def holders(self, cluster_queue: str) -> QuotaHolders:
        """The workloads that hold quota of a cluster queue."""
        ...
