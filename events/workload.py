"""The life of a workload: what is observed of it, and what the queue manager decides about it."""

from enum import StrEnum

from events.event import Event, Millis, Value
from events.pod_set import PodSet
from events.selector import Toleration
from events.topology import DelayedTopology, TopologyPlacement


class Owner(Value, frozen=True, kw_only=True):
    """The job behind a workload."""

    kind: str
    name: str
    uid: str
    api_version: str = "batch/v1"
    part: str = ""
    """Which of several workloads of the same owner it is."""

    @property
    def is_pod(self) -> bool:
        """Whether it is a single pod, which nothing makes anew."""
        return self.kind == "Pod"


class PriorityRef(Value, frozen=True, kw_only=True):
    """The class that a priority comes from; `workload` is true for a WorkloadPriorityClass, false for a pod PriorityClass."""

    name: str
    workload: bool


class MemberState(StrEnum):
    """How far a pod has come that is a member of a workload."""

    GATED = "Gated"
    LIVE = "Live"
    OVER = "Over"


class Member(Value, frozen=True, kw_only=True):
    """A pod of a workload that no job starts and stops: it is ungated and deleted pod by pod."""

    name: str
    uid: str
    pod_set: str
    state: MemberState = MemberState.GATED
    holds_until: Millis = 0
    """Of a pod that runs and is being deleted: from when on it holds no quota any more, gone or not; 0 for any other."""


class WorkloadSpec(Value, frozen=True, kw_only=True):
    """What a workload asks for, as it stood when it was observed."""

    queue: str
    pod_sets: tuple[PodSet, ...]
    priority: int = 0
    priority_class: PriorityRef | None = None
    active: bool = True
    max_execution: Millis | None = None
    gated_by: tuple[str, ...] = ()
    """Names that hold the workload back from being queued (annotation admission-gated-by)."""
    priority_boost: int = 0
    never_preempt: bool = False
    """kuelog's own: no preemption may choose this workload."""
    on_hold: bool = False
    allowed_flavors: tuple[str, ...] = ()
    """The only flavors it may use; all when there are none (gate ConcurrentAdmission)."""
    preemption_gates: tuple[str, ...] = ()
    """What has to open before the workload may preempt."""
    job_uid: str = ""
    """The UID of its job as its label names it, where nothing owns its object."""
    orphaned: bool = False
    """It was made for a job that owns it no longer."""
    managed_by: str = ""
    """Who runs its job (`managedBy`); empty where the job's own controller does, or where its kind has no such field."""
    leaving: bool = False
    """Somebody has deleted its job, or its object where it has none, which stays until nothing holds it."""
    members: tuple[Member, ...] = ()
    """The pods that it consists of, where no job starts and stops them."""
    provisioning: dict[str, str] = {}
    """Parameters of its ProvisioningRequests (annotations provreq.kueue.x-k8s.io/)."""
    labels: dict[str, str] = {}
    """Labels of the job that are copied to the Workload object, as they were when it was made."""
    waits_for_pods: bool = False
    """Pods of a group have to be replaced before it can go on."""
    not_done: tuple[str, ...] = ()
    """What it asks for that kuelog does not support yet, by code (docs/limits.md): it is not admitted while it does."""
    claims_refused: str = ""
    """Why the devices that its pods claim can't be counted (docs/rules/claims.md#refused): it is not admitted while they can't."""
    elastic: bool = False
    """Its job may change its size while it runs (annotation elastic-job; docs/rules/elastic.md)."""
    slice_name: str = ""
    """The name of the first slice of its elastic job, where it is not the first itself."""
    user: str = ""
    """Whose it is (label kuelog.io/user): by it the shares of users in budgets are counted."""
    replaces: str = ""
    """The slice of the same job, `namespace/name`, whose place it takes once it is admitted."""
    variant_of: str = ""
    """The workload of its job, `namespace/name`, where it is a variant of that for one flavor (docs/rules/variants.md)."""
    origin: str = ""
    """The manager of other clusters that has made its object here as a copy (label multikueue-origin); empty where none has."""

    @property
    def workload_class(self) -> PriorityRef | None:
        """The WorkloadPriorityClass that it names; None where it names none, or the class of its pods."""
        return self.priority_class if self.priority_class is not None and self.priority_class.workload else None


class ConditionStatus(StrEnum):
    """The status of a Kubernetes condition."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


def job_behind(workload: str, owner: Owner | None) -> str:
    """The job behind a workload, as `namespace/name`; the workload itself where there is none."""
    return workload if owner is None else f"{workload.partition('/')[0]}/{owner.name}"


class Condition(Value, frozen=True, kw_only=True):
    """One condition of a workload's status."""

    type: str
    status: ConditionStatus
    reason: str
    message: str = ""
    since: Millis = 0
    generation: int = 0


class PodSetAssignment(Value, frozen=True, kw_only=True):
    """What one pod set is assigned: a flavor per resource, and the usage that is charged for all of its pods."""

    name: str
    count: int
    flavors: dict[str, str] = {}
    usage: dict[str, int] = {}
    topology: TopologyPlacement | None = None
    """The domains of its pods, where they are placed by topology."""
    delayed_topology: DelayedTopology | None = None


class CheckState(StrEnum):
    """How an admission check stands."""

    PENDING = "Pending"
    READY = "Ready"
    RETRY = "Retry"
    REJECTED = "Rejected"


class PodSetUpdate(Value, frozen=True, kw_only=True):
    """What a check wants added to the pods of one pod set."""

    name: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    node_selector: dict[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()


class CheckStatus(Value, frozen=True, kw_only=True):
    """One admission check of a workload."""

    name: str
    state: CheckState = CheckState.PENDING
    message: str = ""
    since: Millis = 0
    requeue_after: Millis | None = None
    retries: int = 0
    updates: tuple[PodSetUpdate, ...] = ()
    decided: int = 0
    """Sequence of the decision that set it last, where one did."""


class EvictionCount(Value, frozen=True, kw_only=True):
    """How often a workload was evicted for a reason."""

    reason: str
    cause: str = ""
    count: int = 1


class GateState(Value, frozen=True, kw_only=True):
    """How a preemption gate of a workload stands."""

    name: str
    open: bool = False
    since: Millis = 0


class AdoptedStatus(Value, frozen=True, kw_only=True):
    """The status that a workload already had when it was first seen: the beginning of its story here."""

    conditions: tuple[Condition, ...] = ()
    cluster_queue: str = ""
    assignments: tuple[PodSetAssignment, ...] = ()
    checks: tuple[CheckStatus, ...] = ()
    reclaimable: dict[str, int] = {}
    requeue_count: int = 0
    requeue_at: Millis | None = None
    past_execution: Millis = 0
    evictions: tuple[EvictionCount, ...] = ()
    gates: tuple[GateState, ...] = ()
    unhealthy_nodes: tuple[str, ...] = ()
    """Nodes of its topology assignment that had failed."""
    cluster: str = ""
    """The other cluster in which it runs, or may be running, as no other one is nominated."""


class WorkloadSubmitted(Event, frozen=True, kw_only=True, tag="WorkloadSubmitted.v1"):
    """A job asks to run. `workload` is `namespace/name`, the key that all later events use."""

    workload: str
    uid: str
    owner: Owner | None = None
    generation: int = 0
    created_at: Millis
    spec: WorkloadSpec
    adopted: AdoptedStatus | None = None
    marks: tuple[str, ...] = ()
    """Decisions of another log that are noted on its job and its object: they count as older than any of this log."""


class WorkloadOwned(Event, frozen=True, kw_only=True, tag="WorkloadOwned.v1"):
    """A job runs in a Workload that was made before it, which it names (label prebuilt-workload-name), and owns it from now on.

    Rule: docs/rules/objects.md#prebuilt
    """

    workload: str
    owner: Owner


class DecidedElsewhere(Event, frozen=True, kw_only=True, tag="DecidedElsewhere.v1"):
    """Somebody has written the object of a workload since kuelog did, and what it shows may be another manager's decision.

    Rule: docs/rules/adoption.md#word-of-others
    """

    workload: str
    version: int
    """The resourceVersion of the object."""
    status: AdoptedStatus
    decision: str = ""
    """The decision that the object is marked with; one that is later than all that the log has made was lost with its end."""


class WorkloadChanged(Event, frozen=True, kw_only=True, tag="WorkloadChanged.v1"):
    """What is asked for has changed."""

    workload: str
    generation: int = 0
    spec: WorkloadSpec


class PodsReady(Event, frozen=True, kw_only=True, tag="PodsReady.v1"):
    """All pods of the workload are ready, or no longer are."""

    workload: str
    ready: bool


class PodsGone(Event, frozen=True, kw_only=True, tag="PodsGone.v1"):
    """The workload is suspended and no pod of it is active any more.

    `decision` is what had suspended it; of a Workload without a job, how often it was evicted, as its object says.
    """

    workload: str
    decision: str = ""


class JobUnsuspended(Event, frozen=True, kw_only=True, tag="JobUnsuspended.v1"):
    """Somebody other than kuelog unsuspended the job; `generation` is that of its specification.

    Rule: docs/rules/eviction.md#by-hand
    """

    workload: str
    generation: int


class PodsReclaimed(Event, frozen=True, kw_only=True, tag="PodsReclaimed.v1"):
    """So many pods of each pod set have finished and need no quota any more."""

    workload: str
    counts: dict[str, int]


class WorkloadFinished(Event, frozen=True, kw_only=True, tag="WorkloadFinished.v1"):
    """The job has ended. `reason` is Succeeded, Failed, OwnerNotFound, OutOfSync or FailedToStart."""

    workload: str
    reason: str
    message: str = ""


class WorkloadDeleted(Event, frozen=True, kw_only=True, tag="WorkloadDeleted.v1"):
    """The job, or the workload itself, is gone."""

    workload: str


class WorkloadSwitched(Event, frozen=True, kw_only=True, tag="WorkloadSwitched.v1"):
    """The Workload object of a job was set active or inactive, or is active and to be set inactive."""

    workload: str
    active: bool
    cause: str = ""
    """Why it was set inactive, or is to be, as a reason, where its condition DeactivationTarget says so."""
    message: str = ""


class CheckReported(Event, frozen=True, kw_only=True, tag="CheckReported.v1"):
    """The controller of an admission check has set its state on the workload."""

    workload: str
    check: CheckStatus
    decision: str = ""
    """The decision that the object showed when the state was set, as `partition/sequence`: later ones were not known then."""


class PreemptionGateReported(Event, frozen=True, kw_only=True, tag="PreemptionGateReported.v1"):
    """Somebody else has opened a preemption gate of a workload, as the manager of other clusters does for its copies, or has closed it again.

    Rule: docs/rules/cycle.md#preemption-gates, docs/rules/multikueue.md#preemption
    """

    workload: str
    gate: GateState


class WorkloadQueued(Event, frozen=True, kw_only=True, tag="WorkloadQueued.v1"):
    """The workload is pending in a cluster queue."""

    workload: str
    cluster_queue: str


class WorkloadParked(Event, frozen=True, kw_only=True, tag="WorkloadParked.v1"):
    """The workload is parked: for this reason it is not tried until something changes (in Kueue: inadmissible)."""

    workload: str
    cluster_queue: str = ""
    reason: str
    message: str = ""


class WorkloadRequeued(Event, frozen=True, kw_only=True, tag="WorkloadRequeued.v1"):
    """An evicted workload may queue again (Requeued=True), or must wait first (Requeued=False)."""

    workload: str
    allowed: bool
    reason: str
    message: str = ""


class EvictionOrdered(Event, frozen=True, kw_only=True, tag="EvictionOrdered.v1"):
    """A workload that holds quota is evicted; the quota is released when its pods are gone.

    Rule: docs/rules/eviction.md#evicted
    """

    workload: str
    reason: str
    cause: str = ""
    message: str = ""
    requeue_count: int | None = None
    requeue_at: Millis | None = None


class WorkloadDeactivated(Event, frozen=True, kw_only=True, tag="WorkloadDeactivated.v1"):
    """The workload is set inactive: it is not tried again until somebody sets it active."""

    workload: str
    cause: str
    message: str = ""


class QuotaReleased(Event, frozen=True, kw_only=True, tag="QuotaReleased.v1"):
    """The quota of a workload is free again; `reason` says why."""

    workload: str
    reason: str
    message: str = ""
    withdrawn: bool = False
    """It was taken back before admission: no pods had to stop, and no back-off follows."""
