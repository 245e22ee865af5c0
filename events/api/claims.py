"""The objects of resource.k8s.io, as far as devices are counted by them."""

import msgspec

from events.api.meta import ApiStruct, ObjectMeta, Quantity
from events.json_object import JsonObject


class CelSelector(ApiStruct, frozen=True, kw_only=True):
    """A CEL expression about a device."""

    expression: str = ""


class DeviceSelector(ApiStruct, frozen=True, kw_only=True):
    """What a device has to meet."""

    cel: CelSelector | None = None


class CapacityRequirements(ApiStruct, frozen=True, kw_only=True):
    """How much of a device that many share is asked for, by dimension."""

    requests: dict[str, Quantity] | None = None


class ExactDeviceRequest(ApiStruct, frozen=True, kw_only=True):
    """A request for devices of one class."""

    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] | None = None
    allocation_mode: str = "ExactCount"
    count: int = 1
    admin_access: bool | None = None
    capacity: CapacityRequirements | None = None


class DeviceRequest(ApiStruct, frozen=True, kw_only=True):
    """A request of a claim, exact or a list of alternatives."""

    name: str = ""
    exactly: ExactDeviceRequest | None = None
    first_available: tuple[JsonObject, ...] | None = None


class DeviceClaim(ApiStruct, frozen=True, kw_only=True):
    """The devices that a claim asks for."""

    requests: tuple[DeviceRequest, ...] | None = None


class ClaimSpec(ApiStruct, frozen=True, kw_only=True):
    """What a claim asks for."""

    devices: DeviceClaim = DeviceClaim()


class ClaimTemplateSpec(ApiStruct, frozen=True, kw_only=True):
    """What claims are made from."""

    spec: ClaimSpec = ClaimSpec()


class ApiClaimTemplate(ApiStruct, frozen=True, kw_only=True):
    """A ResourceClaimTemplate."""

    metadata: ObjectMeta
    spec: ClaimTemplateSpec = ClaimTemplateSpec()


class DeviceClassSpec(ApiStruct, frozen=True, kw_only=True):
    """Which devices are of a class, and under which extended resource pods may ask for them."""

    selectors: tuple[DeviceSelector, ...] | None = None
    extended_resource_name: str | None = None


class ApiDeviceClass(ApiStruct, frozen=True, kw_only=True):
    """A DeviceClass."""

    metadata: ObjectMeta
    spec: DeviceClassSpec = DeviceClassSpec()


class DeviceAttribute(ApiStruct, frozen=True, kw_only=True):
    """An attribute of a device: one of four."""

    whole: int | None = msgspec.field(name="int", default=None)
    truth: bool | None = msgspec.field(name="bool", default=None)
    string: str | None = None
    version: str | None = None


class CapacityRange(ApiStruct, frozen=True, kw_only=True):
    """Amounts of a capacity that may be asked for."""

    min: Quantity | None = None
    max: Quantity | None = None
    step: Quantity | None = None


class CapacityRequestPolicy(ApiStruct, frozen=True, kw_only=True):
    """How much of a capacity a request gets: what it asks for, rounded up, or this default."""

    default: Quantity | None = None
    valid_values: tuple[Quantity, ...] | None = None
    valid_range: CapacityRange | None = None


class DeviceCapacity(ApiStruct, frozen=True, kw_only=True):
    """How much a device has of one dimension."""

    value: Quantity
    request_policy: CapacityRequestPolicy | None = None


class CounterValue(ApiStruct, frozen=True, kw_only=True):
    """How much of a counter."""

    value: Quantity


class CounterConsumption(ApiStruct, frozen=True, kw_only=True):
    """What a device takes of a set of counters."""

    counter_set: str = ""
    counters: dict[str, CounterValue] = {}


class ApiDevice(ApiStruct, frozen=True, kw_only=True):
    """A device that a driver offers."""

    name: str
    attributes: dict[str, DeviceAttribute] | None = None
    capacity: dict[str, DeviceCapacity] | None = None
    consumes_counters: tuple[CounterConsumption, ...] | None = None
    allow_multiple_allocations: bool | None = None


class ResourcePool(ApiStruct, frozen=True, kw_only=True):
    """A pool of devices: it is complete when all slices of its last generation are there."""

    name: str
    generation: int = 0
    resource_slice_count: int = 1


class SliceSpec(ApiStruct, frozen=True, kw_only=True):
    """Devices of one driver in one pool."""

    driver: str
    pool: ResourcePool
    node_name: str = ""
    devices: tuple[ApiDevice, ...] | None = None


class ApiResourceSlice(ApiStruct, frozen=True, kw_only=True):
    """A ResourceSlice."""

    metadata: ObjectMeta
    spec: SliceSpec


class AllocatedDevice(ApiStruct, frozen=True, kw_only=True):
    """A device that a request of a claim was given, or a share of one."""

    request: str = ""
    """The request, with its alternative behind a slash where it is a list of these."""
    driver: str
    pool: str
    device: str
    admin_access: bool | None = None
    consumed_capacity: dict[str, Quantity] | None = None
    share_id: str = msgspec.field(name="shareID", default="")


class AllocatedDevices(ApiStruct, frozen=True, kw_only=True):
    """All devices that a claim was given."""

    results: tuple[AllocatedDevice, ...] | None = None


class ClaimAllocation(ApiStruct, frozen=True, kw_only=True):
    """What a claim was given."""

    devices: AllocatedDevices = AllocatedDevices()


class ClaimConsumer(ApiStruct, frozen=True, kw_only=True):
    """For whom a claim is reserved; pods have no group."""

    api_group: str = ""
    resource: str = ""
    name: str = ""
    uid: str = ""


class ClaimStatus(ApiStruct, frozen=True, kw_only=True):
    """How a claim stands."""

    allocation: ClaimAllocation | None = None
    reserved_for: tuple[ClaimConsumer, ...] | None = None


class ApiResourceClaim(ApiStruct, frozen=True, kw_only=True):
    """A ResourceClaim."""

    metadata: ObjectMeta
    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()
