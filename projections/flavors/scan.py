"""How far a workload has come in trying its flavors one by one, over several cycles.

Rule: docs/rules/flavors.md#scan-progress

Kueue remembers it from one cycle to the next. Here it holds while no other workload of the queue was tried in between.
"""

from collections.abc import Mapping

from events.admission import AdmissionRefused
from projections.feature_gates import enabled
from projections.queues.pending_queues import PendingQueues, ScanProgress
from projections.queues.state import QueueState
from projections.quota.tree import QuotaTree
from projections.workloads.lifecycle import Workload

Progress = Mapping[tuple[str, str], int]
"""Index of the last flavor that was tried, by pod set and resource."""

NOTHING: Progress = {}


def progress_of(world: QueueState, workload: Workload, cluster_queue: str) -> Progress:
    """Where the search goes on; empty when it starts with the first flavor.

    What was tried before quota came back is forgotten, unless FlavorFungibilityPreserveScanProgress is on.
    """
    last = workload.attempt
    if not isinstance(last, AdmissionRefused) or not last.progress or not enabled(world.settings, "FlavorFungibility"):
        return NOTHING
    scan = world.lines.of(cluster_queue).scan.get(workload.key)
    if scan is None or scan.done:
        return NOTHING
    preserved = enabled(world.settings, "FlavorFungibilityPreserveScanProgress")
    if not preserved and scan.stamp != world.stamp(cluster_queue):
        return NOTHING
    return {(pod_set, resource): index for pod_set, resource, index in last.progress}


def comes_round(world: QueueState, workload: Workload, cluster_queue: str, progress: ScanProgress) -> bool:
    """Whether it had come as far before, and no quota came back since.

    Pod sets that have different flavors left reach the last one in turn, and never together: to go on would end the same.
    """
    scan = world.lines.of(cluster_queue).scan.get(workload.key)
    return scan is not None and progress in scan.tried and scan.stamp == world.stamp(cluster_queue)


def only_time_passed(world: QueueState, cluster_queue: str, parked_as: str) -> bool:
    """Whether a class of refused workloads is tried again for no other reason than that victims may be protected no longer.

    To try one flavor after the other, on record, would end the same each time, and so never end.
    """
    parked = world.lines.of(cluster_queue).classes.get(parked_as)
    return parked is not None and parked.stamp == world.stamp(cluster_queue)


def went_through_all(lines: PendingQueues, quota: QuotaTree, workload: Workload, cluster_queue: str) -> bool:
    """Whether all flavors were tried one by one, and the tree is as it was when the first one was.

    To begin anew would end the same, and give the same answers in turn for ever.
    """
    line = lines.of(cluster_queue)
    scan = line.scan.get(workload.key)
    return scan is not None and scan.done and scan.began == quota.changed(cluster_queue) + line.news[0]
