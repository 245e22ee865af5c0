"""What the admitter decides: quota reserved, admission, refusals with their numbers, requests for room."""

from enum import StrEnum

from events.device import PodPlacement
from events.event import Event, Millis, Value
from events.workload import PodSetAssignment


class Mode(StrEnum):
    """How well a flavor suits, from worst to best (docs/rules/flavors.md#modes)."""

    NO_FIT = "NoFit"
    NO_CANDIDATES = "NoPreemptionCandidates"
    PREEMPT = "Preempt"
    RECLAIM = "Reclaim"
    FIT = "Fit"


class FlavorAttempt(Value, frozen=True, kw_only=True):
    """One flavor that was tried for one resource of one pod set, in numbers (units of the resource)."""

    pod_set: str
    flavor: str
    resource: str = ""
    mode: Mode
    reason: str = ""
    message: str = ""
    asked: int = 0
    available: int = 0
    missing: int = 0
    """How much more would have to be free."""
    potential: int = 0
    borrow_level: int = 0
    holders: tuple[str, ...] = ()
    """Cluster queues that hold borrowed quota of this flavor, most first."""


class Verdict(StrEnum):
    """Why a workload that holds quota the preemptor needs was chosen as a victim, or passed over."""

    TAKEN = "Taken"
    NOT_NEEDED = "NotNeeded"
    NOT_ENOUGH = "NotEnough"
    """All that may be preempted together would not make enough room."""
    POLICY_FORBIDS = "PolicyForbids"
    PRIORITY = "PriorityNotLower"
    WITHIN_NOMINAL = "QueueWithinNominal"
    INACTIVE = "QueueInactive"
    """Its queue takes nothing in: who runs there runs on."""
    PROTECTED = "Protected"


class Considered(Value, frozen=True, kw_only=True):
    """A workload that holds quota the preemptor needs, and why it was chosen as a victim or passed over."""

    workload: str
    cluster_queue: str
    verdict: Verdict


class RequeueReason(StrEnum):
    """Why an attempt failed, which decides where the workload waits (docs/rules/queues.md#requeue)."""

    GENERIC = ""
    FAILED_AFTER_NOMINATION = "FailedAfterNomination"
    NAMESPACE_MISMATCH = "NamespaceMismatch"
    PREEMPTION_GATED = "PreemptionGated"
    PENDING_PREEMPTION = "PendingPreemption"
    PENDING_MIGRATION = "PendingMigration"
    PREEMPTION_FAILED = "PreemptionFailed"
    NO_FIT = "NoFit"
    PREEMPTION_NO_CANDIDATES = "PreemptionNoCandidates"


class Recomputation(StrEnum):
    """What came of choosing victims once more in a cycle, because earlier entries of it had taken some of them.

    Rule: docs/rules/cycle.md#same-victims
    """

    NONE = ""
    """They were not chosen once more."""
    NEW_TARGETS = "new_targets"
    """Others were found, whom nobody else preempts."""
    DEFERRED_FIT = "deferred_fit"
    """None is needed: it fits as soon as those have left whom earlier entries preempt."""
    SKIPPED = "skipped"
    """Neither: it is left to the next cycle."""


class QuotaReserved(Event, frozen=True, kw_only=True, tag="QuotaReserved.v1"):
    """Quota is set aside for the workload; it may run when its checks and its cards are ready."""

    workload: str
    cluster_queue: str
    assignments: tuple[PodSetAssignment, ...]
    checks: tuple[str, ...] = ()
    """The checks that must be ready for the flavors that were chosen."""
    borrow_level: int = 0
    considered: tuple[FlavorAttempt, ...] = ()
    """Flavors that were passed over on the way, and those of which quota is borrowed."""
    placements: tuple[PodPlacement, ...] = ()
    """The cards that the admitter found for its pods; the accountant confirms or refuses them."""


class AdmissionRefused(Event, frozen=True, kw_only=True, tag="AdmissionRefused.v1"):
    """An attempt to admit the workload failed. Recorded again only when the outcome differs from the last recorded one."""

    workload: str
    cluster_queue: str
    requeue: RequeueReason
    reason: str
    """The reason of the condition QuotaReserved=False: WaitingForQuota, ExceedsMaxQuota, NoMatchingFlavor, ..."""
    message: str
    attempts: tuple[FlavorAttempt, ...] = ()
    requests: tuple[PodSetAssignment, ...] = ()
    """What was evaluated, per pod set (status.resourceRequests)."""
    progress: tuple[tuple[str, str, int], ...] = ()
    """Flavor scan progress: pod set, resource, index of the last flavor that was tried.

    Rule: docs/rules/flavors.md#scan-progress
    """
    progress_generation: int = 0
    candidates: tuple[Considered, ...] = ()
    """The first workloads that hold quota it needs, and why none of them is preempted."""
    holders: int = 0
    """How many workloads hold quota in the tree."""
    skipped: bool = False
    """It had victims, but entries before it in the cycle took them, or the room that they would make."""
    recomputed: Recomputation = Recomputation.NONE
    """What came of choosing its victims once more."""


class Victim(Value, frozen=True, kw_only=True):
    """A workload to be preempted, and the rule that allows it."""

    workload: str
    reason: str
    admission: int = 0
    """Sequence of the quota reservation that it held when it was chosen; quota that it holds by a later one is not meant.
    0 in logs from before this was recorded."""


class PreemptionRequested(Event, frozen=True, kw_only=True, tag="PreemptionRequested.v1"):
    """The workload fits once these victims are preempted; they were chosen on the state that the request was made on."""

    workload: str
    cluster_queue: str
    assignments: tuple[PodSetAssignment, ...]
    victims: tuple[Victim, ...]
    message: str = ""
    attempts: tuple[FlavorAttempt, ...] = ()
    borrow_level: int = 0
    candidates: tuple[Considered, ...] = ()
    """The first workloads that hold quota it needs: the victims, then others that were passed over."""
    holders: int = 0
    """How many workloads hold quota in the tree."""
    recomputed: Recomputation = Recomputation.NONE
    """Its victims were chosen once more: entries before it in the cycle had taken some of the first ones."""


class TopologyAssigned(Event, frozen=True, kw_only=True, tag="TopologyAssigned.v1"):
    """Pods of a workload that holds quota are placed by topology: those that waited for checks, had a node that failed, or stay after a shrink."""

    workload: str
    cluster_queue: str
    assignments: tuple[PodSetAssignment, ...]
    """All of its assignments, as they are from now on."""
    placements: tuple[PodPlacement, ...] = ()
    """The cards of all of its pods, proposed anew, where some of those that are placed now ask for cards."""


class SecondPassFailed(Event, frozen=True, kw_only=True, tag="SecondPassFailed.v1"):
    """Pods of a workload that holds quota found no domains. It is tried again from `again_at` on."""

    workload: str
    cluster_queue: str
    message: str
    again_at: Millis


class UnhealthyNodesChanged(Event, frozen=True, kw_only=True, tag="UnhealthyNodesChanged.v1"):
    """Of the nodes that a workload is placed on by topology, others have failed than before: they are to be replaced."""

    workload: str
    nodes: tuple[str, ...]
    """All of them, by hostname; none when those that had failed are well again (`status.unhealthyNodes`)."""


class WorkloadAdmitted(Event, frozen=True, kw_only=True, tag="WorkloadAdmitted.v1"):
    """The workload is admitted: quota, checks and cards are ready, and its job may start."""

    workload: str
    cluster_queue: str
