"""Which facts concern one workload alone, so that only the partition that decides about its namespace needs them."""

from typing import TypeAlias, TypeGuard, get_args

from events.multikueue import RemoteJobRefused, RemoteJobSynced, RemoteWorkloadGone, RemoteWorkloadObserved
from events.pod import PodAccounted
from events.workload_facts import WorkloadFact
from events.workload_object import WorkloadTerminating

RemoteFact: TypeAlias = RemoteWorkloadObserved | RemoteWorkloadGone | RemoteJobSynced | RemoteJobRefused
"""What is seen of a workload in other clusters."""
RoutedFact: TypeAlias = WorkloadFact | PodAccounted | WorkloadTerminating | RemoteFact
ROUTED: tuple[type, ...] = get_args(RoutedFact)


def is_routed(fact: object) -> TypeGuard[RoutedFact]:
    """Whether a fact concerns one workload alone."""
    return isinstance(fact, ROUTED)


def namespace_of(fact: RoutedFact) -> str:
    """The namespace of the workload that a fact is about: of everything about a workload only its name never changes."""
    return fact.namespace if isinstance(fact, WorkloadTerminating) else fact.workload.partition("/")[0]
