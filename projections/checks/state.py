"""The part of the world that says what cluster autoscalers have been asked for."""

from typing import Protocol

from events.provisioning import ProvisioningConfigObserved, ProvisioningRequestObserved
from projections.workloads.state import WorkloadState


class ProvisioningState(WorkloadState, Protocol):
    """How autoscalers are asked, and the requests in the cluster."""

    provisioning_configs: dict[str, ProvisioningConfigObserved]
    provisioning_requests: dict[str, ProvisioningRequestObserved]
    """ProvisioningRequests as the cluster shows them, by `namespace/name`."""
    provisioning_of: dict[str, dict[str, None]]
    """Keys of the ProvisioningRequests of each workload."""
