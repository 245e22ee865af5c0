"""Pins: the annotations that keep HAMi's scheduler to the cards that were reserved (such as `nvidia.com/use-gpuuuid`).

Each vendor has one of its own, `use_uuid` in `projections.devices.vendors.table`; the policy by which the cards were found goes with it.

Rule: docs/rules/devices.md#own-cards
"""

from collections.abc import Iterable

from events.device import PodPlacement
from projections.devices.annotations.allocated_cards import CARD_POLICY, vendor_word
from projections.devices.vendors.chip_families import is_chip_pin, pin_of
from projections.devices.vendors.table import BY_WORD, VENDORS
from projections.workloads.lifecycle import Workload
from projections.workloads.pods import is_single_pod

_PINS = frozenset({CARD_POLICY, *(one.use_uuid for one in VENDORS if one.use_uuid)})


def is_pin(name: str) -> bool:
    """Whether an annotation of this name is one of them, also for a chip that only HAMi's configuration names."""
    return name in _PINS or is_chip_pin(name)


def pins(placements: Iterable[PodPlacement]) -> dict[str, str]:
    """The annotations that keep HAMi to the cards of these placements, and to the policy by which they were found."""
    uuids: dict[str, set[str]] = {}
    policy = ""
    for placement in placements:
        policy = placement.policy or policy
        for share in (share for shares in placement.containers for share in shares):
            vendor = BY_WORD.get(vendor_word(share))
            key = pin_of(share.vendor) if vendor is None else vendor.use_uuid
            if key:
                uuids.setdefault(key, set()).add(share.uuid)
    found = {name: ",".join(sorted(uuids[name])) for name in sorted(uuids)}
    return {**found, CARD_POLICY: policy} if policy else found


def placements_of(workload: Workload, pod_set: str) -> list[PodPlacement]:
    """The placements of a pod set, by index."""
    found = workload.devices.placements if workload.devices is not None else ()
    return sorted((one for one in found if one.pod_set == pod_set), key=lambda one: one.index)


def needs_pins(workload: Workload, pod_set: str) -> bool:
    """Whether the pods of the set have different cards now, or pods that come later may have, so that each is pinned to its own."""
    found = placements_of(workload, pod_set)
    told = workload.devices is not None and pod_set in workload.devices.own
    if told or workload.spec.elastic or _may_move(workload, pod_set):
        return bool(found)  # Pods that come later are made of the same template, and have others.
    return any(pins([one]) != pins(found[:1]) for one in found[1:])


def _may_move(workload: Workload, pod_set: str) -> bool:
    """Whether pods that are made anew may come to another host (docs/rules/topology.md#card-replacement)."""
    if workload.admission is None or is_single_pod(workload):
        return False
    return any(one.name == pod_set and one.topology is not None for one in workload.admission.assignments)
