"""Why a workload is not even tried in its queue, whatever the quota."""

from events.admission import RequeueReason
from events.quota import ClusterQueueObserved
from events.workload import CheckState
from projections.flavors.affinity import selects
from projections.workloads.lifecycle import Workload
from projections.world import World

FAILED = frozenset({CheckState.RETRY, CheckState.REJECTED})

Barrier = tuple[str, str, RequeueReason]
"""Reason, message, and where the workload waits."""


def barrier_of(world: World, workload: Workload, queue: ClusterQueueObserved) -> Barrier | None:
    """What stands between the workload and a try; None when it may be tried."""
    if any(check.state in FAILED for check in workload.checks.values()):
        return "PendingEvaluation", "The workload has failed admission checks", RequeueReason.GENERIC
    namespace = world.namespaces.get(workload.namespace)
    if not selects(queue.namespaces, namespace.labels if namespace is not None else {}):
        message = "Workload namespace doesn't match ClusterQueue selector"
        return "Misconfigured", message, RequeueReason.NAMESPACE_MISMATCH
    return None
