"""The cards of an elastic job from slice to slice: pods that stay keep theirs, and only pods that come are given new ones.

Rule: docs/rules/elastic.md#cards
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from events.device import PodPlacement
from projections.devices.placement.pod_cards import living_assignments
from projections.devices.state import DeviceState
from projections.workloads.lifecycle import Workload


def kept_placements(world: DeviceState, workload: Workload, counts: Mapping[str, int]) -> tuple[PodPlacement, ...]:
    """The placements of a workload that so many pods of each set keep: those of living pods first, then by index."""
    if workload.devices is None:
        return ()
    alive = living_assignments(world, workload)
    return first_of(sorted(workload.devices.placements, key=lambda one: (key_of(one) not in alive, one.index)), counts)


def key_of(placement: PodPlacement) -> tuple[str, int]:
    """By what a placement is known: its pod set and its index."""
    return placement.pod_set, placement.index


def first_of(placements: Iterable[PodPlacement], counts: Mapping[str, int]) -> tuple[PodPlacement, ...]:
    """Of placements in the order in which they are kept the first so many of each pod set, by index."""
    found: list[PodPlacement] = []
    left = dict(counts)
    for one in placements:
        if left.get(one.pod_set, 0) > 0:
            left[one.pod_set] -= 1
            found.append(one)
    return tuple(sorted(found, key=key_of))


def staying(old: Workload, wanted: Mapping[str, int]) -> dict[str, int]:
    """How many pods of each set of a slice stay when so many are wanted: of a smaller one also pods too many that still hold their cards."""
    held = Counter(one.pod_set for one in old.devices.placements) if old.devices is not None else Counter[str]()
    given = old.admission.assignments if old.admission is not None else ()
    return {one.name: min(max(one.count, held[one.name]), wanted.get(one.name, 0)) for one in given}


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


def holds_too_many(workload: Workload) -> bool:
    """Whether an elastic job that has become smaller still holds cards of pods too many: each is held until its pod is gone."""
    if not workload.spec.elastic or workload.devices is None or workload.admission is None:
        return False
    held = Counter(one.pod_set for one in workload.devices.placements)
    return any(held[one.name] > one.count for one in workload.admission.assignments)
