"""What is written on a pod for the cards it got, vendor by vendor (docs/rules/devices.md#pod-annotations)."""

from collections.abc import Mapping

import msgspec

from projections.devices.annotations.allocated_cards import (
    MIG_ALLOCATIONS,
    MigAllocation,
    MigPlacement,
    encode_allocation,
)
from projections.devices.annotations.index_annotations import SPECIAL, Containers, PinContext
from projections.devices.annotations.terms import SOFT_SPLIT, SOFT_SPLIT_POD
from projections.devices.vendors.table import MLU, NVIDIA
from projections.devices.vendors.vendor import Vendor


class _Runtime(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One slice, as the annotation for Ascend's runtime lists it."""

    uuid: str = msgspec.field(name="UUID")
    temp: str = ""
    memory: int = 0
    core: int = 0


def card_annotations(
    vendor: Vendor, containers: Containers, annotations: Mapping[str, str], place: PinContext
) -> dict[str, str]:
    """The annotations of one vendor for a pod's shares."""
    if not containers:
        return {}
    at, text = place.at, encode_allocation(containers)
    result = {key: text for key in (vendor.to_allocate, vendor.allocated) if key}
    special = SPECIAL.get(vendor.word)
    if special is not None:
        return {**result, **special(containers, place)}
    if vendor.word == NVIDIA:
        result.update(_mig(containers))
    elif vendor.word == MLU:
        result.update(_mlu(vendor, containers))
    elif vendor.rules.soft_split:
        result.update(_ascend(vendor, containers, annotations, at))
    return result


def _mig(containers: Containers) -> dict[str, str]:
    pieces = [
        MigAllocation(
            container_index=container,
            device_index=device,
            gpu_uuid=share.uuid,
            profile=share.instance.profile,
            placement=MigPlacement(start=share.instance.start, size=share.instance.size),
        )
        for container, shares in enumerate(containers)
        for device, share in enumerate(shares)
        if share.instance is not None
    ]
    return {MIG_ALLOCATIONS: msgspec.json.encode(pieces).decode()} if pieces else {}


def _mlu(vendor: Vendor, containers: Containers) -> dict[str, str]:
    first = next((shares[0] for shares in containers if shares), None)
    if first is None:
        return {}
    return {
        "CAMBRICON_DSMLU_ASSIGNED": "false",
        "CAMBRICON_DSMLU_PROFILE": f"{first.index}_{first.cores}_{first.memory // vendor.resources.factor}",
    }


def _ascend(vendor: Vendor, containers: Containers, annotations: Mapping[str, str], at: str) -> dict[str, str]:
    soft = annotations.get(SOFT_SPLIT_POD) == SOFT_SPLIT
    rows = [
        _Runtime(
            uuid=share.uuid,
            temp="" if soft else _template(vendor, share.memory),
            memory=share.memory,
            core=share.cores,
        )
        for shares in containers
        for share in shares
    ]
    return {f"huawei.com/{vendor.word}": msgspec.json.encode(rows).decode(), "predicate-time": at}


def _template(vendor: Vendor, memory: int) -> str:
    """The name of the template that gives so much memory; empty for a whole card."""
    return next((template.name for template in vendor.templates if template.memory == memory), "")
