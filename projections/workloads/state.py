"""The part of the world that says which workloads there are, and whom deciders have to look at."""

from typing import Protocol

from events.event import Millis
from events.quota import ClusterQueueObserved
from projections.configuration import Configuration
from projections.sorted_keys import SortedKeys
from projections.trail import Trail, Trial
from projections.work_queue import WorkQueue
from projections.workloads.lifecycle import Workload
from projections.workloads.terminating import Terminating


class WorkloadState(Configuration, Protocol):
    """The records of all workloads, beside the configuration that they are under."""

    trail: Trail
    """Takes back whatever is changed through it."""
    workloads: dict[str, Workload]
    by_local_queue: dict[str, SortedKeys]
    """Keys of the workloads that name each local queue."""
    chains: dict[str, dict[str, None]]
    """The slices of each elastic job, by the key of the first."""
    variants: dict[str, dict[str, None]]
    """The variants of each workload that has some, by its key."""
    parts: dict[str, dict[str, None]]
    """The workloads of each object that has several, by the UID of the object."""
    work: WorkQueue
    """Workloads to be looked at: a hint."""
    terminating: dict[str, Terminating]
    """Workload objects of jobs that somebody has deleted and that still bear Kueue's finalizer, by workload."""
    rejected: dict[str, int]
    """By workload the sequence of the last decision that the cluster did not take, where none was applied since."""
    second_passes: dict[str, None]
    """Workloads that hold quota and need domains for pods of theirs, to be looked at in the cycles of their tree."""

    def trial(self, *, deciding: bool = False) -> Trial:
        """`with world.trial():` whatever is tried within is taken back."""
        ...

    def put_workload(self, workload: Workload) -> None:
        """Set the workload's record and have it looked at again, wherever it waits or holds something."""
        ...

    def look_again(self, due: Millis, cluster_queue: str = "") -> None:
        """Have all deciders take a turn then, and look at this queue's tree: something falls due."""
        ...

    def cluster_queue_of(self, workload: Workload) -> ClusterQueueObserved | None:
        """The cluster queue that the workload's local queue leads to, if both are there."""
        ...

    def review_at(self, due: Millis, workload: str) -> None:
        """Have a workload looked at then: something about it falls due."""
        ...
