"""The part of the world that the applier sees: all that jobs and pods in the cluster show, and the pods that may go."""

from typing import Protocol

from events.partition_map import PartitionForked
from events.pod import PodAccounted
from projections.checks.state import DispatchState
from projections.devices.state import DeviceState
from projections.queues.budget_condition import BudgetedQueueState
from projections.topology.state import TopologyState
from projections.work_queue import WorkQueue


class PlanState(DeviceState, DispatchState, Protocol):
    """What the objects of a workload show: what was decided about it, its cards, and the clusters that it was sent to."""

    forks: dict[str, PartitionForked]
    """By partition that began as a fork of another one, the order by which it did."""


class ApplierState(TopologyState, BudgetedQueueState, Protocol):
    """Workloads, cards, domains and budgets as decided, beside the pods that are accounted for."""

    accounted: dict[str, PodAccounted]
    """Pods whose finalizer may be removed, by `namespace/name`."""
    pod_work: WorkQueue
    """Those of them to be looked at: a hint."""
