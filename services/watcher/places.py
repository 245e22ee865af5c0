"""Under which object each fact is told."""

from events.catalogue import Fact
from events.control import ObjectRefused
from events.device import DevicesRegistered, NodeObserved, PodObserved
from events.provisioning import ProvisioningConfigObserved, ProvisioningRequestObserved
from events.quota import (
    AdmissionCheckObserved,
    ClusterQueueObserved,
    CohortObserved,
    FlavorObserved,
    LimitRangeObserved,
    LocalQueueObserved,
    NamespaceObserved,
    PriorityClassObserved,
    RuntimeClassObserved,
)


def place_of(fact: Fact) -> str:  # noqa: C901, PLR0911 - one case per fact
    """Under which object a fact is told; empty for facts about workloads."""
    match fact:
        case ClusterQueueObserved():
            return f"ClusterQueue//{fact.name}"
        case CohortObserved():
            return f"Cohort//{fact.name}"
        case LocalQueueObserved():
            return f"LocalQueue/{fact.namespace}/{fact.name}"
        case FlavorObserved():
            return f"ResourceFlavor//{fact.name}"
        case PriorityClassObserved():
            return f"{'WorkloadPriorityClass' if fact.workload else 'PriorityClass'}//{fact.name}"
        case NamespaceObserved():
            return f"Namespace//{fact.name}"
        case AdmissionCheckObserved():
            return f"AdmissionCheck//{fact.name}"
        case ProvisioningConfigObserved():
            return f"ProvisioningRequestConfig//{fact.name}"
        case ProvisioningRequestObserved():
            return f"ProvisioningRequest/{fact.namespace}/{fact.name}"
        case LimitRangeObserved():
            return f"LimitRange/{fact.namespace}/{fact.name}"
        case RuntimeClassObserved():
            return f"RuntimeClass//{fact.name}"
        case NodeObserved():
            return f"Node//{fact.name}"
        case DevicesRegistered():
            return f"Node//{fact.node}#devices"
        case PodObserved():
            return f"Pod/{fact.namespace}/{fact.name}"
        case ObjectRefused():
            return f"{fact.kind}/{fact.namespace}/{fact.name}#refused"
        case _:
            return ""
