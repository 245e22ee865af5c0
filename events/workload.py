"""The life of a workload: what is observed of it, and what the queue manager decides about it."""

from enum import StrEnum

from events.event import Event, Millis, Value
from events.pod_set import PodSet
from events.selector import Toleration


class Owner(Value, frozen=True, kw_only=True):
    """The job behind a workload."""

    kind: str
    name: str
    uid: str
    api_version: str = "batch/v1"
    part: str = ""
    """Which of several workloads of the same owner it is."""


class PriorityRef(Value, frozen=True, kw_only=True):
    """The class that a priority comes from; `workload` tells a WorkloadPriorityClass from a pod PriorityClass."""

    name: str
    workload: bool


class MemberState(StrEnum):
    """How far a pod has come that is a member of a workload."""

    GATED = "Gated"
    LIVE = "Live"
    OVER = "Over"


class Member(Value, frozen=True, kw_only=True):
    """A pod that is let through and deleted by itself, because no job does so."""

    name: str
    uid: str
    pod_set: str
    state: MemberState = MemberState.GATED


class WorkloadSpec(Value, frozen=True, kw_only=True):
    """What is asked for, as it stood when it was observed."""

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
    leaving: bool = False
    """Somebody has deleted its job, or its object where it has none, which stays until nothing holds it."""
    members: tuple[Member, ...] = ()
    """The pods that it is, where no other object starts and stops them."""
    provisioning: dict[str, str] = {}
    """Parameters for what is asked of the autoscaler (annotations provreq.kueue.x-k8s.io/)."""
    labels: dict[str, str] = {}
    """Those of the job that its object gets as well, as they were at first."""
    waits_for_pods: bool = False
    """Pods of a group have to be replaced before it can go on."""
    not_done: tuple[str, ...] = ()
    """What it asks for and is not done yet, by code: it is not let in without it."""


class ConditionStatus(StrEnum):
    """Kubernetes' three truths."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class Condition(Value, frozen=True, kw_only=True):
    """One condition of a workload's status."""

    type: str
    status: ConditionStatus
    reason: str
    message: str = ""
    since: Millis = 0
    generation: int = 0


class PodSetAssignment(Value, frozen=True, kw_only=True):
    """What one pod set was given: a flavor per resource, and the usage that is charged for all of its pods."""

    name: str
    count: int
    flavors: dict[str, str] = {}
    usage: dict[str, int] = {}


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
    """Decisions of another log that its job and its object bear: they are older than all that is decided here."""


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
    """The workload is suspended and no pod of it is active any more; `decision` is what had suspended it."""

    workload: str
    decision: str = ""


class JobUnsuspended(Event, frozen=True, kw_only=True, tag="JobUnsuspended.v1"):
    """Somebody has let the job run that stood still, beside what was decided; `generation` is that of its specification.

    Rule: docs/rules/eviction.md#by-hand
    """

    workload: str
    generation: int


class PodsReclaimed(Event, frozen=True, kw_only=True, tag="PodsReclaimed.v1"):
    """So many pods of each pod set are done and need no room any more."""

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
    """The Workload object of a job was set active or inactive."""

    workload: str
    active: bool


class CheckReported(Event, frozen=True, kw_only=True, tag="CheckReported.v1"):
    """The controller of an admission check has said how it stands."""

    workload: str
    check: CheckStatus
    decision: str = ""
    """What the object showed when this was said, as `partition/sequence`: of what was set later it knows nothing."""


class WorkloadQueued(Event, frozen=True, kw_only=True, tag="WorkloadQueued.v1"):
    """The workload waits in the line of a cluster queue."""

    workload: str
    cluster_queue: str


class WorkloadParked(Event, frozen=True, kw_only=True, tag="WorkloadParked.v1"):
    """The workload can't be tried now, for this reason, and waits beside the line until that ends."""

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
    """A workload that holds quota has to stop; its quota returns when its pods are gone.

    Rule: docs/rules/eviction.md#evicted
    """

    workload: str
    reason: str
    cause: str = ""
    message: str = ""
    requeue_count: int | None = None
    requeue_at: Millis | None = None


class WorkloadDeactivated(Event, frozen=True, kw_only=True, tag="WorkloadDeactivated.v1"):
    """The workload will not be tried again until somebody sets it active."""

    workload: str
    cause: str
    message: str = ""


class QuotaReleased(Event, frozen=True, kw_only=True, tag="QuotaReleased.v1"):
    """The quota of a workload is free again; `reason` says why."""

    workload: str
    reason: str
    message: str = ""
    withdrawn: bool = False
    """It was taken back before admission: nothing had to stop, and nothing has to wait."""
