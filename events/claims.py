"""Devices that pods claim (resource.k8s.io): how classes count as resources of quota, and what the claims of a pod come to."""

from events.amount import Requests
from events.event import Event, Value


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


class ResourceSliceObserved(Event, frozen=True, kw_only=True, tag="ResourceSliceObserved.v1"):
    """The devices that a driver publishes in a ResourceSlice, by name: what they are like is for whoever counts claims.

    Rule: docs/rules/claims.md#held
    """

    name: str
    driver: str
    pool: str
    node: str = ""
    """The node that alone reaches them; empty where several do."""
    devices: tuple[str, ...] = ()


class ClaimedDevice(Value, frozen=True, kw_only=True):
    """A device that a claim was given, or a share of one."""

    driver: str
    pool: str
    device: str
    request: str = ""
    device_class: str = ""
    """That of the request; empty where the claim does not say."""
    share: str = ""
    """The id of the share, of a device that many have at once."""
    consumed: dict[str, str] = {}
    """Of a share: how much of each capacity, as the claim says it."""
    admin: bool = False
    """Access for administrators: it keeps nobody else from the device."""


class ClaimUser(Value, frozen=True, kw_only=True):
    """A pod that uses a claim."""

    name: str
    uid: str = ""


class ResourceClaimObserved(Event, frozen=True, kw_only=True, tag="ResourceClaimObserved.v1"):
    """What a ResourceClaim was given, and the pods for which it is reserved; no devices while it has none.

    Rule: docs/rules/claims.md#held
    """

    namespace: str
    name: str
    uid: str = ""
    devices: tuple[ClaimedDevice, ...] = ()
    pods: tuple[ClaimUser, ...] = ()
    made_for: ClaimUser | None = None
    """The pod that got it from a template, or for its extended resources; such a claim ends with its pod."""
