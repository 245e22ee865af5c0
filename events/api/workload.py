"""The Workload of kueue.x-k8s.io in version v1beta2, as far as it is read (docs/rules/objects.md#versions)."""

from typing import Annotated, Literal

from msgspec import Meta

from events.api.meta import ApiCondition, ApiStruct, ObjectMeta, Quantity
from events.api.pods import ApiToleration, PodTemplate
from events.api.topology import ApiTopologyAssignment

MAXIMUM_EXECUTION_TIME = "maximumExecutionTimeSeconds"
"""The field of its specification that says how many seconds it may run."""


class ApiSliceConstraint(ApiStruct, frozen=True, kw_only=True):
    """So many pods in succession stay inside one domain of a level."""

    topology: Annotated[str, Meta(min_length=1, max_length=63)]
    size: int


class ApiTopologyRequest(ApiStruct, frozen=True, kw_only=True):
    """Where the pods of a pod set want to lie relative to each other; levels are node labels."""

    required: Annotated[str, Meta(max_length=63)] = ""
    preferred: Annotated[str, Meta(max_length=63)] = ""
    unconstrained: bool | None = None
    pod_index_label: Annotated[str, Meta(max_length=317)] = ""
    sub_group_index_label: Annotated[str, Meta(max_length=317)] = ""
    sub_group_count: Annotated[int, Meta(ge=0)] | None = None
    pod_set_group_name: Annotated[str, Meta(max_length=256)] = ""
    pod_set_slice_required_topology: Annotated[str, Meta(max_length=63)] = ""
    pod_set_slice_size: int | None = None
    podset_slice_required_topology_constraints: Annotated[tuple[ApiSliceConstraint, ...], Meta(max_length=3)] | None = (
        None
    )
    """Layers of slices, outermost first; where there are any, the two fields above mean nothing."""


class ApiPodSet(ApiStruct, frozen=True, kw_only=True):
    """One pod set of a Workload."""

    name: str = "main"
    count: Annotated[int, Meta(ge=0)] = 1
    min_count: Annotated[int, Meta(ge=1)] | None = None
    template: PodTemplate = PodTemplate()
    topology_request: ApiTopologyRequest | None = None


class PreemptionGate(ApiStruct, frozen=True, kw_only=True):
    """Something that has to open before the workload may preempt."""

    name: str


class PriorityClassRef(ApiStruct, frozen=True, kw_only=True):
    """Where a priority comes from."""

    group: str = ""
    kind: str = ""
    name: str = ""


class ApiWorkloadSpec(ApiStruct, frozen=True, kw_only=True):
    """A Workload's specification."""

    active: bool = True
    maximum_execution_time_seconds: Annotated[int, Meta(ge=1)] | None = None
    pod_sets: Annotated[tuple[ApiPodSet, ...], Meta(max_length=18)] = ()
    priority: int | None = None
    priority_class_ref: PriorityClassRef | None = None
    preemption_gates: Annotated[tuple[PreemptionGate, ...], Meta(max_length=8)] | None = None
    queue_name: str = ""


class ApiAssignment(ApiStruct, frozen=True, kw_only=True):
    """What a pod set was given."""

    name: str = "main"
    count: int | None = None
    flavors: dict[str, str] | None = None
    resource_usage: dict[str, Quantity] | None = None
    topology_assignment: ApiTopologyAssignment | None = None
    delayed_topology_request: str | None = None


class ApiAdmission(ApiStruct, frozen=True, kw_only=True):
    """Where a Workload was admitted."""

    cluster_queue: str
    pod_set_assignments: tuple[ApiAssignment, ...] | None = None


class ApiPodSetUpdate(ApiStruct, frozen=True, kw_only=True):
    """What a check wants added to the pods of one pod set."""

    name: str
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    node_selector: dict[str, str] | None = None
    tolerations: Annotated[tuple[ApiToleration, ...], Meta(max_length=8)] | None = None


class ApiCheckState(ApiStruct, frozen=True, kw_only=True):
    """How a check of a Workload stands."""

    name: str
    state: Literal["Pending", "Ready", "Retry", "Rejected"] = "Pending"
    message: str = ""
    last_transition_time: str | None = None
    requeue_after_seconds: int | None = None
    retry_count: int | None = None
    pod_set_updates: Annotated[tuple[ApiPodSetUpdate, ...], Meta(max_length=18)] | None = None


class ApiReclaimable(ApiStruct, frozen=True, kw_only=True):
    """How many pods of a pod set have finished and need no quota any more."""

    name: str
    count: int


class ApiUnhealthyNode(ApiStruct, frozen=True, kw_only=True):
    """A node of a Workload's topology assignment that has failed."""

    name: str


class ApiRequeueState(ApiStruct, frozen=True, kw_only=True):
    """Back-off after evictions: how often, and until when it lasts."""

    count: int | None = None
    requeue_at: str | None = None


class ApiGateState(ApiStruct, frozen=True, kw_only=True):
    """How a preemption gate stands."""

    name: str
    position: Literal["Open", "Closed"] = "Closed"
    last_transition_time: str | None = None


class ApiEvictionCount(ApiStruct, frozen=True, kw_only=True):
    """How often a Workload was evicted for a reason."""

    reason: str
    underlying_cause: str = ""
    count: int = 0


class ApiSchedulingStats(ApiStruct, frozen=True, kw_only=True):
    """What has happened to a Workload so far, in numbers."""

    evictions: tuple[ApiEvictionCount, ...] | None = None


class ApiWorkloadStatus(ApiStruct, frozen=True, kw_only=True):
    """A Workload's status, as far as it is read back."""

    conditions: tuple[ApiCondition, ...] | None = None
    admission: ApiAdmission | None = None
    admission_checks: tuple[ApiCheckState, ...] | None = None
    reclaimable_pods: tuple[ApiReclaimable, ...] | None = None
    unhealthy_nodes: Annotated[tuple[ApiUnhealthyNode, ...], Meta(max_length=8)] | None = None
    requeue_state: ApiRequeueState | None = None
    accumulated_past_execution_time_seconds: int | None = None
    scheduling_stats: ApiSchedulingStats | None = None
    preemption_gates: tuple[ApiGateState, ...] | None = None
    cluster_name: str | None = None
    nominated_cluster_names: tuple[str, ...] | None = None


class ApiWorkload(ApiStruct, frozen=True, kw_only=True):
    """A Workload."""

    metadata: ObjectMeta
    spec: ApiWorkloadSpec = ApiWorkloadSpec()
    status: ApiWorkloadStatus = ApiWorkloadStatus()
