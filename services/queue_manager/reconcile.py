"""The next decision about one workload: at its end, while it holds quota, while it waits for quota."""

from events.catalogue import Decision
from events.device import PodObserved
from events.event import Millis
from events.pod import PodEndForced
from projections.devices.placement.hanging_pods import hanging_pod
from projections.workloads.lifecycle import Workload
from projections.workloads.variants import has_variants
from services.queue_manager.enqueue import decide_waiting
from services.queue_manager.eviction import decide_holding
from services.queue_manager.retention import decide_end
from services.queue_manager.slices import decide_remaining, decide_slices
from services.queue_manager.state import QueueManagerState
from services.queue_manager.variants import decide_variants


def reconcile(world: QueueManagerState, workload: Workload, at: Millis) -> list[Decision]:
    """The next decision about a workload, one at a time; nothing when all is as it should be."""
    hanging = hanging_pod(world, workload, at)
    if hanging is not None:
        return [_forced(workload, hanging)]
    ended = [] if workload.spec.variant_of else decide_end(world, workload, at)
    if ended:
        return ended
    concerning_variants = decide_variants(world, workload, at)
    if concerning_variants or workload.finished or workload.in_cluster.discarded or has_variants(world, workload):
        return concerning_variants
    resized = decide_slices(world, workload, at) or decide_remaining(world, workload, at)
    if resized:
        return resized
    if workload.reserved:
        return decide_holding(world, workload, at)
    return decide_waiting(world, workload, at)


def _forced(workload: Workload, pod: PodObserved) -> Decision:
    return PodEndForced(
        workload=workload.key, namespace=pod.namespace, pod=pod.name, uid=pod.uid, node=pod.node, due=pod.gone_by
    )
