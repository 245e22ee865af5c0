"""Slices and claims as facts: which devices are published, which of them a claim was given, and for which pods.

Rule: docs/rules/claims.md#held
"""

from collections.abc import Iterator

from events.api.claims import AllocatedDevice, ApiResourceClaim, ApiResourceSlice
from events.claims import ClaimedDevice, ClaimUser, ResourceClaimObserved, ResourceSliceObserved


def slice_fact(found: ApiResourceSlice) -> ResourceSliceObserved:
    """The devices that a slice publishes."""
    spec = found.spec
    names = tuple(sorted(one.name for one in spec.devices or ()))
    return ResourceSliceObserved(
        name=found.metadata.name, driver=spec.driver, pool=spec.pool.name, node=spec.node_name, devices=names
    )


def claim_fact(found: ApiResourceClaim) -> ResourceClaimObserved:
    """What a claim was given."""
    status, classes = found.status, dict(_classes(found))
    results = (status.allocation.devices.results if status.allocation is not None else None) or ()
    pods = [
        ClaimUser(name=one.name, uid=one.uid)
        for one in status.reserved_for or ()
        if (one.api_group, one.resource) == ("", "pods")
    ]
    owner = next((one for one in found.metadata.owner_references or () if one.controller and one.kind == "Pod"), None)
    return ResourceClaimObserved(
        namespace=found.metadata.namespace,
        name=found.metadata.name,
        uid=found.metadata.uid,
        devices=tuple(_device(one, classes.get(one.request, "")) for one in results),
        pods=tuple(sorted(pods, key=lambda one: (one.name, one.uid))),
        made_for=None if owner is None else ClaimUser(name=owner.name, uid=owner.uid),
    )


def _classes(found: ApiResourceClaim) -> Iterator[tuple[str, str]]:
    """The class of each request, by the name under which a result says whose it is."""
    for one in found.spec.devices.requests or ():
        if one.exactly is not None:
            yield one.name, one.exactly.device_class_name
        for choice in one.first_available or ():
            yield f"{one.name}/{choice.get('name', '')}", str(choice.get("deviceClassName", ""))


def _device(given: AllocatedDevice, device_class: str) -> ClaimedDevice:
    consumed = given.consumed_capacity or {}
    return ClaimedDevice(
        driver=given.driver,
        pool=given.pool,
        device=given.device,
        request=given.request,
        device_class=device_class,
        share=given.share_id,
        consumed={name: str(consumed[name]) for name in sorted(consumed)},
        admin=bool(given.admin_access),
    )
