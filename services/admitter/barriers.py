"""What keeps a head from being tried at all, whatever the quota (docs/rules/cycle.md#nominate)."""

from collections.abc import Mapping

from events.admission import RequeueReason
from events.quota import ClusterQueueObserved, NamespaceObserved
from events.workload import CheckState
from projections.nodes.affinity import selects
from projections.workloads.lifecycle import Workload

FAILED = frozenset({CheckState.RETRY, CheckState.REJECTED})

Barrier = tuple[str, str, RequeueReason]
"""Reason and message of the refusal, and where the workload waits."""


def barrier_of(
    namespaces: Mapping[str, NamespaceObserved], workload: Workload, queue: ClusterQueueObserved
) -> Barrier | None:
    """A failed admission check, or a namespace that the ClusterQueue does not admit; None when it may be tried."""
    if any(check.state in FAILED for check in workload.checks.values()):
        return "PendingEvaluation", "The workload has failed admission checks", RequeueReason.GENERIC
    namespace = namespaces.get(workload.namespace)
    if not selects(queue.namespaces, namespace.labels if namespace is not None else {}):
        message = "Workload namespace doesn't match ClusterQueue selector"
        return "Misconfigured", message, RequeueReason.NAMESPACE_MISMATCH
    return None
