"""Under which object each fact is told, and whether it says anything new."""

from collections.abc import Mapping

from msgspec.structs import replace

from events.catalogue import Fact
from events.control import ObjectRefused
from events.device import CardQuotaObserved, DevicesRegistered, NodeLockObserved, NodeObserved, PodObserved
from events.device_config import DeviceConfigObserved, NodeConfigsObserved
from events.pod import PodAccounted
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
from events.workload_object import WorkloadTerminating

_OF_NODES = NodeObserved | DevicesRegistered | NodeLockObserved
"""Facts about a part of a node: that it is as before does not say that all of the node can be read again."""
BESIDE = ObjectRefused | NodeObserved | NodeLockObserved | PodAccounted | WorkloadTerminating
"""That a node is there, or a pod may go, does not say that all of it can be read again."""
PARTS = ("#devices", "#lock", "#accounted", "#terminating", "#refused")
"""What is told of an object besides itself."""


def object_of(place: str) -> str:
    """The object at whose place, or at a part of it, a fact is told; whatever its name holds."""
    return next((place.removesuffix(part) for part in PARTS if place.endswith(part)), place)


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
        case CardQuotaObserved():
            return f"ResourceQuota/{fact.namespace}/{fact.name}"
        case DeviceConfigObserved() | NodeConfigsObserved():
            return f"ConfigMap/{fact.namespace}/{fact.name}"
        case RuntimeClassObserved():
            return f"RuntimeClass//{fact.name}"
        case NodeObserved():
            return f"Node//{fact.name}"
        case DevicesRegistered():
            return f"Node//{fact.node}#devices"
        case NodeLockObserved():
            return f"Node//{fact.node}#lock"
        case PodObserved():
            return f"Pod/{fact.namespace}/{fact.name}"
        case PodAccounted():
            return f"Pod/{fact.namespace}/{fact.name}#accounted"
        case WorkloadTerminating():
            return f"Workload/{fact.namespace}/{fact.name}#terminating"
        case ObjectRefused():
            return f"{fact.kind}/{fact.namespace}/{fact.name}#refused"
        case _:
            return ""


def known(facts: Mapping[str, Fact], fact: Fact) -> bool:
    """Whether it says what was told before, or what goes without saying."""
    place = place_of(fact)
    before = facts.get(place)
    if isinstance(fact, LocalQueueObserved) and isinstance(before, LocalQueueObserved):
        # Once a queue is known its past usage is kept on the log: what its status shows comes from there.
        fact = replace(fact, consumed=before.consumed, consumed_at=before.consumed_at)
    if isinstance(fact, PodObserved) and place not in facts:
        return not fact.node and not fact.workload and not fact.assigned
    if isinstance(fact, NodeLockObserved) and before is None:
        return not fact.since
    if isinstance(fact, DevicesRegistered) and place not in facts:
        return not fact.cards
    # An object that is back to what was told before has to be told again: it is not refused any more.
    lifts = not isinstance(fact, _OF_NODES) and f"{place}#refused" in facts
    return bool(place) and not lifts and before == fact
