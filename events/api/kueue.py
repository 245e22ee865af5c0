"""The objects of kueue.x-k8s.io in version v1beta2 (docs/rules/objects.md#versions)."""

from typing import Annotated, Literal

from msgspec import Meta

from events.api.meta import ApiCondition, ApiStruct, ObjectMeta, Quantity, Selector
from events.api.pods import ApiTaint, ApiToleration

Stop = Literal["None", "Hold", "HoldAndDrain"]
Search = Literal["MayStopSearch", "TryNextFlavor"]
AtMost16 = Meta(max_length=16)
AtMost64 = Meta(min_length=1, max_length=64)


class ResourceQuotaSpec(ApiStruct, frozen=True, kw_only=True):
    """Quota of one resource in one flavor."""

    name: str
    nominal_quota: Quantity
    borrowing_limit: Quantity | None = None
    lending_limit: Quantity | None = None


class FlavorQuotasSpec(ApiStruct, frozen=True, kw_only=True):
    """Quotas of one flavor."""

    name: str
    resources: Annotated[tuple[ResourceQuotaSpec, ...], AtMost64]


class ResourceGroupSpec(ApiStruct, frozen=True, kw_only=True):
    """Resources that share their flavors."""

    covered_resources: Annotated[tuple[str, ...], AtMost64]
    flavors: Annotated[tuple[FlavorQuotasSpec, ...], AtMost64]


class BorrowWithinCohortSpec(ApiStruct, frozen=True, kw_only=True):
    """Preemption while borrowing."""

    policy: Literal["Never", "LowerPriority"] = "Never"
    max_priority_threshold: int | None = None


class PreemptionSpec(ApiStruct, frozen=True, kw_only=True):
    """Whom the queue's workloads may preempt."""

    reclaim_within_cohort: Literal["Never", "LowerPriority", "Any"] = "Never"
    within_cluster_queue: Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"] = "Never"
    borrow_within_cohort: BorrowWithinCohortSpec | None = None


class FungibilitySpec(ApiStruct, frozen=True, kw_only=True):
    """When the next flavor is tried."""

    when_can_borrow: Search = "MayStopSearch"
    when_can_preempt: Search = "TryNextFlavor"
    preference: Literal["BorrowingOverPreemption", "PreemptionOverBorrowing"] | None = None


class CheckRuleSpec(ApiStruct, frozen=True, kw_only=True):
    """A check, and the flavors it is for."""

    name: str
    on_flavors: tuple[str, ...] | None = None


class ChecksStrategySpec(ApiStruct, frozen=True, kw_only=True):
    """The checks of a queue."""

    admission_checks: tuple[CheckRuleSpec, ...] | None = None


class FairSharingSpec(ApiStruct, frozen=True, kw_only=True):
    """The weight of a queue or cohort."""

    weight: Quantity | None = None


class AdmissionScopeSpec(ApiStruct, frozen=True, kw_only=True):
    """Whether past usage orders local queues."""

    admission_mode: Literal["UsageBasedAdmissionFairSharing", "NoAdmissionFairSharing"] = "NoAdmissionFairSharing"


class LastFlavorSpec(ApiStruct, frozen=True, kw_only=True):
    """How far down the flavors a workload may run while it waits for a better one."""

    last_acceptable_flavor_name: str | None = None


class MigrationSpec(ApiStruct, frozen=True, kw_only=True):
    """Whether a workload moves when a better flavor has room."""

    mode: Literal["", "TryPreferredFlavors", "RetainFirstAdmission"] = ""
    constraints: LastFlavorSpec | None = None


class ConcurrentAdmissionSpec(ApiStruct, frozen=True, kw_only=True):
    """Admission on several flavors at once (gate ConcurrentAdmission)."""

    migration: MigrationSpec | None = None


class ClusterQueueSpec(ApiStruct, frozen=True, kw_only=True):
    """A ClusterQueue's specification."""

    resource_groups: Annotated[tuple[ResourceGroupSpec, ...], AtMost16] | None = None
    cohort_name: str = ""
    queueing_strategy: Literal["StrictFIFO", "BestEffortFIFO"] = "BestEffortFIFO"
    namespace_selector: Selector | None = None
    flavor_fungibility: FungibilitySpec | None = None
    preemption: PreemptionSpec | None = None
    admission_checks_strategy: ChecksStrategySpec | None = None
    stop_policy: Stop | None = None
    fair_sharing: FairSharingSpec | None = None
    admission_scope: AdmissionScopeSpec | None = None
    concurrent_admission_policy: ConcurrentAdmissionSpec | None = None


class ApiClusterQueue(ApiStruct, frozen=True, kw_only=True):
    """A ClusterQueue."""

    metadata: ObjectMeta
    spec: ClusterQueueSpec = ClusterQueueSpec()


class CohortSpec(ApiStruct, frozen=True, kw_only=True):
    """A Cohort's specification."""

    parent_name: str = ""
    resource_groups: Annotated[tuple[ResourceGroupSpec, ...], AtMost16] | None = None
    fair_sharing: FairSharingSpec | None = None


class ApiCohort(ApiStruct, frozen=True, kw_only=True):
    """A Cohort."""

    metadata: ObjectMeta
    spec: CohortSpec = CohortSpec()


class LocalQueueSpec(ApiStruct, frozen=True, kw_only=True):
    """A LocalQueue's specification."""

    cluster_queue: str = ""
    stop_policy: Stop | None = None
    fair_sharing: FairSharingSpec | None = None


class PastUsageStatus(ApiStruct, frozen=True, kw_only=True):
    """What Kueue has measured of the past usage of a LocalQueue."""

    consumed_resources: dict[str, Quantity] | None = None
    last_update: str | None = None


class LocalQueueFairSharingStatus(ApiStruct, frozen=True, kw_only=True):
    """How a LocalQueue stands in admission fair sharing."""

    admission_fair_sharing_status: PastUsageStatus | None = None


class LocalQueueStatus(ApiStruct, frozen=True, kw_only=True):
    """What is read of a LocalQueue's status."""

    fair_sharing: LocalQueueFairSharingStatus | None = None


class ApiLocalQueue(ApiStruct, frozen=True, kw_only=True):
    """A LocalQueue."""

    metadata: ObjectMeta
    spec: LocalQueueSpec = LocalQueueSpec()
    status: LocalQueueStatus = LocalQueueStatus()


class ResourceFlavorSpec(ApiStruct, frozen=True, kw_only=True):
    """A ResourceFlavor's specification."""

    node_labels: dict[str, str] | None = None
    node_taints: Annotated[tuple[ApiTaint, ...], Meta(max_length=8)] | None = None
    tolerations: Annotated[tuple[ApiToleration, ...], Meta(max_length=8)] | None = None
    topology_name: str | None = None


class ApiResourceFlavor(ApiStruct, frozen=True, kw_only=True):
    """A ResourceFlavor."""

    metadata: ObjectMeta
    spec: ResourceFlavorSpec = ResourceFlavorSpec()


class ApiCheckParameters(ApiStruct, frozen=True, kw_only=True):
    """A reference to the object that holds the check's parameters."""

    api_group: str
    kind: str
    name: str


class AdmissionCheckSpec(ApiStruct, frozen=True, kw_only=True):
    """An AdmissionCheck's specification."""

    controller_name: str
    parameters: ApiCheckParameters | None = None


class AdmissionCheckStatus(ApiStruct, frozen=True, kw_only=True):
    """Whether the check's controller is there."""

    conditions: tuple[ApiCondition, ...] | None = None


class ApiAdmissionCheck(ApiStruct, frozen=True, kw_only=True):
    """An AdmissionCheck."""

    metadata: ObjectMeta
    spec: AdmissionCheckSpec
    status: AdmissionCheckStatus = AdmissionCheckStatus()
