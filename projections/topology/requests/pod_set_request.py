"""What the pods of a pod set ask of the topology of a flavor.

Rule: docs/rules/topology.md#tas-flavor
"""

from msgspec.structs import replace

from events.pod_set import PodSet
from events.topology import TopologyAssignment, TopologyPlacement
from events.workload import CheckState, PodSetUpdate
from projections.devices.placement.workload_gangs import gets_cards
from projections.devices.state import DeviceState, config_of
from projections.quota.adjusted_pods import adjusted
from projections.quota.effective_requests import pod_requests
from projections.topology.requests.topology_request import PlacementRequest
from projections.workloads.lifecycle import Workload


def request_of(world: DeviceState, workload: Workload, pod_set: PodSet, count: int, flavor: str) -> PlacementRequest:
    """What so many pods of a pod set ask of the topology of a flavor: by their template, not by what is charged for them."""
    asked = pods_asking(world, workload.namespace, pod_set, count, flavor)
    return replace(asked, updates=_ready_updates(workload, pod_set.name))


def pods_asking(world: DeviceState, namespace: str, pod_set: PodSet, count: int, flavor: str) -> PlacementRequest:
    """The same for pods of no workload yet."""
    shape = adjusted(world.limits, world.runtime_classes, namespace, pod_set).shape
    requests = pod_requests(shape)
    if gets_cards(world, pod_set):
        # What cards give is said by the cards: nodes do not offer their memory and cores, and HAMi's scheduler ignores all of it.
        names = config_of(world).names
        requests = {name: amount for name, amount in requests.items() if name not in names}
    request = PlacementRequest(
        pod_set=pod_set.name,
        flavor=flavor,
        count=count,
        requests=requests,
        node_selector=shape.node_selector,
        node_terms=shape.node_terms,
        preferred_terms=shape.preferred_terms,
        tolerations=shape.tolerations,
    )
    return request if pod_set.topology is None else replace(request, topology=pod_set.topology)


def placement_of(request: PlacementRequest, assignment: TopologyAssignment) -> TopologyPlacement:
    """What the log holds of domains that were found for a request."""
    return TopologyPlacement(flavor=request.flavor, requests=dict(request.requests), assignment=assignment)


def _ready_updates(workload: Workload, pod_set: str) -> tuple[PodSetUpdate, ...]:
    return tuple(
        update
        for check in workload.checks.values()
        if check.state is CheckState.READY
        for update in check.updates
        if update.name == pod_set
    )
