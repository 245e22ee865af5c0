"""The pods of a workload with quota as gangs: how many of each set, on nodes of which flavor."""

from collections import Counter
from collections.abc import Mapping, Sequence

from events.device import PodPlacement
from events.pod_set import PodSet
from projections.devices.placement.gang import Gang
from projections.devices.requests.card_requests import asks_for_cards
from projections.devices.state import DeviceState, config_of
from projections.workloads.lifecycle import Workload
from projections.workloads.multikueue_check import check_of


def chooses_cards(world: DeviceState, workload: Workload) -> bool:
    """Whether the cards of a workload are chosen here: some are registered, cards are not switched off, and no other cluster has its pods.

    Rule: docs/rules/multikueue.md#cards
    """
    return _are_chosen(world) and not check_of(world.checks, workload)


def gets_cards(world: DeviceState, pod_set: PodSet) -> bool:
    """Whether its pods ask for cards, and these are chosen here: some are registered, and cards are not switched off."""
    return _are_chosen(world) and asks_for_cards(pod_set.shape, config_of(world))


def _are_chosen(world: DeviceState) -> bool:
    return world.settings.devices and bool(world.cards.nodes)


def gang_of(world: DeviceState, namespace: str, pod_set: PodSet, count: int, flavors: Mapping[str, str]) -> Gang:
    """So many pods of a pod set, with the flavor (by resource) that its cards have."""
    config = config_of(world)
    chosen = next((flavors[resource] for resource in sorted(flavors) if resource in config.names), "")
    return Gang(pod_set=pod_set, count=count, flavor=world.flavors.get(chosen), namespace=namespace, config=config)


def gangs_of(world: DeviceState, workload: Workload, kept: Sequence[PodPlacement] = ()) -> list[Gang]:
    """The pod sets that ask for cards, as they were admitted; empty for a workload without quota.

    Pods that keep the placements that they have are left out, and pod sets that were not let in: the job asks for others by now.
    """
    if workload.admission is None:
        return []
    config, stay = config_of(world), Counter(one.pod_set for one in kept)
    given = {one.name: one for one in workload.admission.assignments}
    return [
        gang_of(world, workload.namespace, pod_set, assignment.count - stay.get(pod_set.name, 0), assignment.flavors)
        for pod_set in workload.spec.pod_sets
        if (assignment := given.get(pod_set.name)) is not None
        if asks_for_cards(pod_set.shape, config) and assignment.count > stay.get(pod_set.name, 0)
    ]
