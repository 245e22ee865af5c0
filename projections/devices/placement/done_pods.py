"""Which cards of a workload are free since pods of it are done: their quota is given back, so somebody else may be let in for them.

Rule: docs/rules/devices.md#done-pods
"""

from collections.abc import Sequence

from events.device import PodPlacement
from projections.devices.annotations.pins import needs_pins, placements_of
from projections.devices.placement.pod_cards import assigned, living_assignments
from projections.devices.placement.slice_cards import key_of
from projections.devices.state import DeviceState
from projections.workloads.lifecycle import Workload

_STAYS_DONE = frozenset({"Job", "Pod"})
"""Kinds whose pods are not run again once they have succeeded; others, as a JobSet, may begin anew as a whole."""


def left_by_done_pods(world: DeviceState, workload: Workload) -> tuple[PodPlacement, ...] | None:
    """The placements that are left without those of pods that are done; None where all are needed."""
    admission, devices, owner = workload.admission, workload.devices, workload.owner
    if admission is None or devices is None or owner is None or owner.kind not in _STAYS_DONE:
        return None
    done: set[tuple[str, int]] = set()
    for one in admission.assignments:
        given_back = admission.given_back.get(one.name, 0)
        placements = placements_of(workload, one.name) if given_back else ()
        free = max(len(placements) - (one.count - given_back), 0)
        done |= {key_of(each) for each in _of_done_pods(world, workload, one.name, placements)[:free]}
    return tuple(one for one in devices.placements if key_of(one) not in done) if done else None


def _of_done_pods(
    world: DeviceState, workload: Workload, pod_set: str, placements: Sequence[PodPlacement]
) -> list[PodPlacement]:
    """The placements of pods that have succeeded; where all pods have the same cards those are meant that no pod is left for, the last ones."""
    if not needs_pins(workload, pod_set):
        living = (world.pods.get(key) for key in world.cards.living.get(workload.key, ()))
        left = sum(one is not None and one.pod_set == pod_set for one in living)
        return list(reversed(placements[left:]))
    done = {(one.pod_set, one.index) for one in assigned(world, workload) if _has_succeeded(world, workload, one.pod)}
    alive = living_assignments(world, workload)
    return [one for one in placements if key_of(one) in done - alive]


def _has_succeeded(world: DeviceState, workload: Workload, pod: str) -> bool:
    known = world.pods.get(f"{workload.namespace}/{pod}")
    return known is not None and known.phase == "Succeeded"
