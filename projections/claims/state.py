"""The part of the world that says which devices are published and what claims were given of them."""

from typing import Protocol

from events.claims import ResourceClaimObserved, ResourceSliceObserved
from projections.nodes.state import NodeState
from projections.workloads.state import WorkloadState


class ClaimState(NodeState, WorkloadState, Protocol):
    """ResourceSlices by name and ResourceClaims by `namespace/name`, as the cluster last showed them."""

    resource_slices: dict[str, ResourceSliceObserved]
    resource_claims: dict[str, ResourceClaimObserved]
