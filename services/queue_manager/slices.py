"""What becomes of an elastic job that asks for another size: fewer pods in place, more by a new slice.

Rule: docs/rules/elastic.md
"""

from msgspec.structs import replace

from events.admission import TopologyAssigned
from events.catalogue import Decision
from events.event import Millis
from events.slices import WorkloadSliceDropped, WorkloadSliceResized, WorkloadSliceSubmitted
from projections.topology.placement.node_failures import lost_hosts
from projections.topology.pods.remaining import where_pods_remain
from projections.topology.state import TopologyState
from projections.workloads.lifecycle import Workload, chain_of, first_slice_name
from projections.workloads.other_pods import asks_for_others
from projections.workloads.slices import next_slice, resizes, shrinks, slices_of
from projections.workloads.state import WorkloadState

MESSAGE = "Replaced to accommodate a new workload slice"


def decide_slices(world: WorkloadState, workload: Workload, at: Millis) -> list[Decision]:
    """The next decision about the size of an elastic job; nothing where its slices are as it asks."""
    if not workload.spec.elastic:
        return []
    newest = slices_of(world, chain_of(workload))[-1]
    if newest.key != workload.key:
        return _stopped(workload, newest)
    if not workload.resizing.wanted or (workload.reserved and workload.evicted) or asks_for_others(workload):
        return []
    if not workload.reserved or shrinks(workload.spec.pod_sets, workload.resizing.wanted):
        return [WorkloadSliceResized(workload=workload.key, pod_sets=workload.resizing.wanted)]
    return [_larger(world, workload, at)] if resizes(workload.spec.pod_sets, workload.resizing.wanted) else []


def decide_remaining(world: TopologyState, workload: Workload, at: Millis) -> list[Decision]:
    """The decision that the domains of a slice that has become smaller are those of the pods that stay.

    Rule: docs/rules/topology.md#shrunk
    """
    if not workload.resizing.shrunk or workload.admission is None:
        return []
    remaining = where_pods_remain(world, workload, lost_hosts(world, workload, at))
    if remaining is None:
        return []
    queue = workload.admission.cluster_queue
    return [TopologyAssigned(workload=workload.key, cluster_queue=queue, assignments=remaining)]


def _stopped(workload: Workload, newest: Workload) -> list[Decision]:
    """A slice that has lost its quota does not queue again beside the one that was to replace it."""
    if workload.reserved:
        return []
    return [WorkloadSliceDropped(workload=workload.key, by=newest.key, message=MESSAGE)]


def _larger(world: WorkloadState, workload: Workload, at: Millis) -> Decision:
    spec = replace(
        workload.spec,
        queue=workload.named_queue,
        pod_sets=workload.resizing.wanted,
        active=True,
        slice_name=first_slice_name(workload),
        replaces=workload.key,
    )
    return WorkloadSliceSubmitted(
        workload=next_slice(world, workload),
        replaces=workload.key,
        uid=workload.uid,
        owner=workload.owner,
        created_at=at,
        spec=spec,
    )
