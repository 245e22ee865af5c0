"""Devices that pods claim (resource.k8s.io): how classes count as resources of quota, and what the claims of a pod come to."""

from events.amount import Requests
from events.event import Value


class DeviceSource(Value, frozen=True, kw_only=True):
    """What of a device is counted instead of the device: a counter that it consumes, or a dimension of its capacity."""

    counter: str = ""
    """The counter of a partitionable device; empty where a capacity is counted."""
    capacity: str = ""
    """The dimension of the capacity of a device that many share; empty where a counter is counted."""
    driver: str
    selector: str
    """A CEL expression that the devices meet."""


class DeviceClassMapping(Value, frozen=True, kw_only=True):
    """Device classes that are counted as one resource of quota.

    Rule: docs/rules/claims.md#mappings
    """

    resource: str
    classes: tuple[str, ...]
    sources: tuple[DeviceSource, ...] = ()
    """Where there are any, these are counted, and not the devices."""


class PodClaim(Value, frozen=True, kw_only=True):
    """An entry of `resourceClaims` in a pod template: a claim by name, or a template from which each pod gets its own."""

    name: str
    template: str = ""
    claim: str = ""


class CountedRequest(Value, frozen=True, kw_only=True):
    """What one request of a pod for devices is charged, and why."""

    asked_by: str
    """`ResourceClaimTemplate NAME`, or the name of an extended resource."""
    device_class: str
    count: int
    resource: str
    amount: int
    """In the units of quota, for one pod."""


class PodClaims(Value, frozen=True, kw_only=True):
    """What the claims of one pod of a set come to, as the classes, templates and slices stood that its fact rests on.

    Rule: docs/rules/claims.md
    """

    charged: Requests = {}
    """Added to what the pod's containers ask for, in the units of quota."""
    replaced: tuple[str, ...] = ()
    """Extended resources that are counted by their device class, and no more by their own name."""
    requests: tuple[CountedRequest, ...] = ()
