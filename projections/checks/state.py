"""The parts of the world that say what cluster autoscalers have been asked for, and what was sent to other clusters."""

from typing import Protocol

from events.multikueue import QuotaAutomationSettled, RemoteQueuesObserved, RemoteWorkloadObserved
from events.provisioning import ProvisioningConfigObserved, ProvisioningRequestObserved
from projections.checks.dispatch import Dispatch
from projections.work_queue import WorkQueue
from projections.workloads.state import WorkloadState


class ProvisioningState(WorkloadState, Protocol):
    """How autoscalers are asked, and the requests in the cluster."""

    provisioning_configs: dict[str, ProvisioningConfigObserved]
    provisioning_requests: dict[str, ProvisioningRequestObserved]
    """ProvisioningRequests as the cluster shows them, by `namespace/name`."""
    provisioning_of: dict[str, dict[str, None]]
    """Keys of the ProvisioningRequests of each workload."""


class DispatchState(ProvisioningState, Protocol):
    """What was dispatched to other clusters, and what became of it there."""

    dispatches: dict[str, Dispatch]
    """By workload: where it is to be tried, or runs."""
    remotes: dict[str, dict[str, RemoteWorkloadObserved]]
    """By workload, and by cluster, the copies of it; also of workloads that are gone, until the copies are."""
    left_behind: dict[str, dict[str, str]]
    """By workload, and by cluster, the UID of the copy by which its job may be there from a choice that counts no more; until that copy is gone."""
    remote_work: WorkQueue
    """Workloads whose copies have changed: a hint."""
    remote_queues: dict[str, RemoteQueuesObserved]
    """By cluster, its queues as they were told last; none of a cluster of which they were never told."""
    quota_automation: dict[str, QuotaAutomationSettled]
    """By cluster queue, what was decided last about its quota."""
    automation_work: WorkQueue
    """Cluster queues whose quota may have to follow that of other clusters otherwise than before: a hint."""
