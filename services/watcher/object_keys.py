"""The object under which each fact is reported, and whether a fact says anything new."""

from collections.abc import Mapping

from msgspec.structs import replace

from events.catalogue import Fact
from events.claims import ResourceClaimObserved, ResourceSliceObserved
from events.configuration import ConfigurationObserved
from events.control import ObjectRefused
from events.device import (
    CardQuotaObserved,
    DevicesRegistered,
    NodeLockObserved,
    NodeObserved,
    NodeUsageObserved,
    PodObserved,
)
from events.device_config import DeviceConfigObserved, NodeConfigsObserved
from events.pod import PodAccounted
from events.provisioning import ProvisioningConfigObserved, ProvisioningRequestObserved
from events.quota import LocalQueueObserved
from events.workload_object import WorkloadTerminating
from projections.object_versions import NODE_USAGE

USAGE_PART = f"#{NODE_USAGE}"
_OF_NODES = NodeObserved | NodeUsageObserved | DevicesRegistered | NodeLockObserved
"""Facts about a part of a node: one that is as before does not mean that the whole node can be read again."""
BESIDE = ObjectRefused | NodeObserved | NodeUsageObserved | NodeLockObserved | PodAccounted | WorkloadTerminating
"""Facts that do not mean that their whole object can be read again: that a node exists, that a pod may go."""
PARTS = ("#devices", "#lock", USAGE_PART, "#accounted", "#terminating", "#refused")
"""Suffixes of the keys of facts about an object beside the one that describes it."""


def object_of(place: str) -> str:
    """The key of a fact's object, without a suffix in `PARTS`; a name may hold any character."""
    return next((place.removesuffix(part) for part in PARTS if place.endswith(part)), place)


def place_of(fact: Fact) -> str:  # noqa: C901, PLR0911 - one case per fact
    """The key under which a fact is kept, `kind/namespace/name` with a suffix; empty for facts about workloads."""
    match fact:
        case ConfigurationObserved():
            return fact.place
        case ProvisioningConfigObserved():
            return f"ProvisioningRequestConfig//{fact.name}"
        case ProvisioningRequestObserved():
            return f"ProvisioningRequest/{fact.namespace}/{fact.name}"
        case CardQuotaObserved():
            return f"ResourceQuota/{fact.namespace}/{fact.name}"
        case ResourceSliceObserved():
            return f"ResourceSlice//{fact.name}"
        case ResourceClaimObserved():
            return f"ResourceClaim/{fact.namespace}/{fact.name}"
        case DeviceConfigObserved() | NodeConfigsObserved():
            return f"ConfigMap/{fact.namespace}/{fact.name}"
        case NodeObserved():
            return f"Node//{fact.name}"
        case NodeUsageObserved():
            return f"Node//{fact.node}{USAGE_PART}"
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
    """Whether a fact says what was reported before, or what is the default."""
    place = place_of(fact)
    before = facts.get(place)
    if isinstance(fact, LocalQueueObserved) and isinstance(before, LocalQueueObserved):
        # Once a queue is known its past usage is kept on the log: what its status shows comes from there.
        fact = replace(fact, consumed=before.consumed, consumed_at=before.consumed_at)
    if isinstance(fact, PodObserved) and place not in facts:
        return not fact.node and not fact.workload and not fact.assigned
    if isinstance(fact, ResourceClaimObserved) and before is None:
        return not fact.devices
    if isinstance(fact, NodeLockObserved) and before is None:
        return not fact.since
    if isinstance(fact, NodeUsageObserved) and before is None:
        return not fact.requests
    if isinstance(fact, DevicesRegistered) and place not in facts:
        return not fact.cards
    # An object that is back to what was reported before has to be reported again: it is not refused any more.
    lifts = not isinstance(fact, _OF_NODES) and f"{place}#refused" in facts
    return bool(place) and not lifts and before == fact
