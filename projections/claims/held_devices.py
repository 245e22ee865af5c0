"""Which devices are published, and who holds them: workload, pods and claim.

Rule: docs/rules/claims.md#held
"""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from events.claims import ClaimedDevice, ResourceClaimObserved
from projections.claims.counted import resource_of_class
from projections.claims.state import ClaimState


class DevicePlace(NamedTuple):
    """A device by driver, pool and name."""

    driver: str
    pool: str
    device: str


class DeviceHolder(msgspec.Struct, frozen=True, kw_only=True):
    """A claim that was given a device, or a share of one, and for whom it is."""

    claim: str
    """`namespace/name`."""
    pods: tuple[str, ...]
    """Names of the pods that use it, of the claim's namespace; of a claim that none uses, the one that it was made for."""
    workloads: tuple[str, ...]
    """The workloads of these pods; none where no queue manages them."""
    device_class: str
    resource: str
    """What devices of the class are counted as; empty where they are not."""
    share: str
    consumed: dict[str, str]
    admin: bool


class DeviceOnRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One device. Not published any more, and still held, is a device that has vanished under its holders."""

    place: DevicePlace
    node: str
    """The node that alone reaches it; empty where several do, and where it is not published."""
    published: bool
    holders: tuple[DeviceHolder, ...]


def users_of(claim: ResourceClaimObserved) -> tuple[str, ...]:
    """Names of the pods that use a claim; where none does, of the pod that it was made for."""
    return tuple(one.name for one in claim.pods) or ((claim.made_for.name,) if claim.made_for is not None else ())


def devices_on_record(world: ClaimState) -> list[DeviceOnRecord]:
    """All devices that are published or held, by node, driver, pool and name."""
    nodes = {
        DevicePlace(one.driver, one.pool, device): one.node
        for one in world.resource_slices.values()
        for device in one.devices
    }
    holders: dict[DevicePlace, list[DeviceHolder]] = {}
    for place, holder in _held(world):
        holders.setdefault(place, []).append(holder)
    found = [
        DeviceOnRecord(
            place=place, node=nodes.get(place, ""), published=place in nodes, holders=tuple(holders.get(place, ()))
        )
        for place in {**nodes, **holders}
    ]
    return sorted(found, key=lambda one: (one.node, one.place))


def held_twice(world: ClaimState) -> list[DevicePlace]:
    """Devices that several claims have whole at once, which can't be: no share of them, and not for administrators."""
    whole: dict[DevicePlace, int] = {}
    for place, holder in _held(world):
        if not holder.share and not holder.consumed and not holder.admin:
            whole[place] = whole.get(place, 0) + 1
    return sorted(place for place, count in whole.items() if count > 1)


def _held(world: ClaimState) -> Iterator[tuple[DevicePlace, DeviceHolder]]:
    for key in sorted(world.resource_claims):
        claim = world.resource_claims[key]
        pods = users_of(claim)
        known = (world.pods.get(f"{claim.namespace}/{name}") for name in pods)
        workloads = tuple(dict.fromkeys(pod.workload for pod in known if pod is not None and pod.workload))
        for device in claim.devices:
            yield DevicePlace(device.driver, device.pool, device.device), _holder(world, key, pods, workloads, device)


def _holder(
    world: ClaimState, claim: str, pods: tuple[str, ...], workloads: tuple[str, ...], device: ClaimedDevice
) -> DeviceHolder:
    return DeviceHolder(
        claim=claim,
        pods=pods,
        workloads=workloads,
        device_class=device.device_class,
        resource=resource_of_class(world.settings, device.device_class),
        share=device.share,
        consumed=device.consumed,
        admin=device.admin,
    )
