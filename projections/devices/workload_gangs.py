"""The pods of a workload with quota as gangs: how many of each set, on nodes of which flavor."""

from projections.devices.gang import Gang
from projections.devices.requests import asks_for_cards
from projections.devices.state import DeviceState, config_of
from projections.workloads.lifecycle import Workload


def gangs_of(world: DeviceState, workload: Workload) -> list[Gang]:
    """The pod sets that ask for cards, as they were admitted; empty for a workload without quota."""
    if workload.admission is None:
        return []
    config = config_of(world)
    return [
        Gang(
            pod_set=pod_set,
            count=assignment.count,
            flavor=world.flavors.get(
                next((assignment.flavors[r] for r in sorted(assignment.flavors) if r in config.names), "")
            ),
            namespace=workload.namespace,
            config=config,
        )
        for pod_set, assignment in zip(workload.spec.pod_sets, workload.admission.assignments, strict=True)
        if asks_for_cards(pod_set.shape, config)
    ]
