"""The part of the world that says where trees are decided, and which workloads are decided elsewhere."""

from typing import Protocol

from events.partition_map import PartitionForked, PartitionMapObserved
from events.workload_facts import WorkloadFact
from projections.quota.state import QuotaState
from projections.workloads.state import WorkloadState


class PartitionState(QuotaState, Protocol):
    """The map, the homes of queues, and what is known of workloads that are not decided here."""

    partition: str
    """The partition that folds this world; empty where a world is folded for all of them."""
    partition_map: dict[str, PartitionMapObserved]
    """The map in force under the empty key; nothing while all trees are in the first partition."""
    homes: dict[str, str]
    """By cluster queue the partition that decides about it, since a namespace with workloads leads to it."""
    namespace_homes: dict[str, str]
    """By namespace the one partition that decides about all its workloads, given with the first of them and kept; empty where
    its local queues lead to several, and each workload is decided where its queue is."""
    forks: dict[str, PartitionForked]
    """By partition that began as a fork of another one, the order by which it did."""
    elsewhere: dict[str, None]
    """Workloads that are decided in other partitions."""
    unplaced: dict[str, tuple[WorkloadFact, ...]]
    """By workload what was observed of it, while no queue says yet where it is decided; the first partition looks after it until then."""


class PlacedState(PartitionState, WorkloadState, Protocol):
    """That, and the workloads that are decided here."""
