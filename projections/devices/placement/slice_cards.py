"""The cards of an elastic job from slice to slice: pods that stay keep theirs, and only pods that come are given new ones.

Rule: docs/rules/elastic.md#cards
"""

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from events.device import PodPlacement
from events.workload import PodSetAssignment
from projections.devices.placement.pod_cards import living_assignments
from projections.devices.state import DeviceState
from projections.workloads.lifecycle import Workload


def kept_placements(world: DeviceState, workload: Workload, counts: Mapping[str, int]) -> tuple[PodPlacement, ...]:
    """The placements of a workload that so many pods of each set keep: those of living pods first, then by index."""
    if workload.devices is None:
        return ()
    alive = living_assignments(world, workload)
    found: list[PodPlacement] = []
    left = dict(counts)
    for one in sorted(workload.devices.placements, key=lambda one: ((one.pod_set, one.index) not in alive, one.index)):
        if left.get(one.pod_set, 0) > 0:
            left[one.pod_set] -= 1
            found.append(one)
    return tuple(sorted(found, key=lambda one: (one.pod_set, one.index)))


def staying(given: Iterable[PodSetAssignment], wanted: Mapping[str, int]) -> dict[str, int]:
    """How many pods of each set stay when so many are wanted."""
    return {one.name: min(one.count, wanted.get(one.name, 0)) for one in given}


def numbered(placements: Sequence[PodPlacement], taken: Iterable[PodPlacement]) -> tuple[PodPlacement, ...]:
    """The placements with indexes that none of the others has."""
    used = {(one.pod_set, one.index) for one in taken}
    found: list[PodPlacement] = []
    for one in placements:
        index = 0
        while (one.pod_set, index) in used:
            index += 1
        used.add((one.pod_set, index))
        found.append(replace(one, index=index))
    return tuple(found)


def given_back(world: DeviceState, workload: Workload) -> tuple[PodPlacement, ...] | None:
    """What is left of the cards of a slice that has become smaller; None while no pod too many is gone.

    Which pods end is for the job's controller to say: the cards of each are held until it is gone.
    """
    if workload.finished or not workload.spec.elastic or workload.devices is None or workload.admission is None:
        return None
    alive = living_assignments(world, workload)
    living: dict[str, int] = {}
    for pod_set, _ in alive:
        living[pod_set] = living.get(pod_set, 0) + 1
    counts = {one.name: max(one.count, living.get(one.name, 0)) for one in workload.admission.assignments}
    left = kept_placements(world, workload, counts)
    return left if len(left) < len(workload.devices.placements) else None
