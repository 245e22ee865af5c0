"""The life of each workload: its conditions and what it holds, folded from events.

The conditions are Kueue's (docs/rules/eviction.md#conditions): the same record answers a decider's questions and is
what the applier shows in the cluster.
"""

from collections.abc import Iterable
from functools import partial

import msgspec
from msgspec.structs import replace

from events.admission import AdmissionRefused, PreemptionRequested
from events.device import PodPlacement
from events.event import Millis
from events.no_entries import no_entries
from events.pod_set import PodSet
from events.provisioning import ProvisioningOrdered
from events.workload import (
    CheckState,
    CheckStatus,
    Condition,
    ConditionStatus,
    GateState,
    Owner,
    PodSetAssignment,
    WorkloadSpec,
    job_behind,
)
from projections.log_position import LogPosition
from projections.workloads.in_cluster import InCluster, News
from projections.workloads.resizing import Resizing
from projections.workloads.stops import Stops

QUOTA_RESERVED = "QuotaReserved"
ADMITTED = "Admitted"
EVICTED = "Evicted"
PREEMPTED = "Preempted"
REQUEUED = "Requeued"
BLOCKED_ON_GATES = "BlockedOnPreemptionGates"
PODS_READY = "PodsReady"
WAITING_FOR_PODS = "WaitingForReplacementPods"
FINISHED = "Finished"
DEACTIVATION_TARGET = "DeactivationTarget"
EVICTED_ON_MANAGER = "EvictedOnManagerCluster"
"""Why a copy is to be set inactive whose workload was evicted in the cluster that has sent it."""
SECOND = 1000
"""Milliseconds in a second: objects tell the times of conditions no closer."""
_DECIDED = frozenset({QUOTA_RESERVED, ADMITTED, EVICTED})
OBJECT_DELETED = "WorkloadDeleted"
"""Why a workload has to go whose object somebody has deleted, in Kueue's word for why it stops a job."""
OTHER_PODS = "NoMatchingWorkload"
"""Why a job that runs has to stop that asks for other pods than it was let in with, in the same word of Kueue's."""


class Admission(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a workload holds since its quota was reserved. `reservation` is the sequence of that commit."""

    cluster_queue: str
    assignments: tuple[PodSetAssignment, ...]
    reservation: int
    reserved_at: Millis
    required_checks: tuple[str, ...] = ()
    borrow_level: int = 0
    considered: str = ""
    """What became of the flavors that were tried, where there is anything to say."""
    done_before: dict[str, int] = msgspec.field(default_factory=partial(no_entries, int))
    """By pod set, how many pods needed no quota any more when it was reserved: it was not reserved for these."""
    given_back: dict[str, int] = msgspec.field(default_factory=partial(no_entries, int))
    """By pod set, how many of those that it was reserved for need it no more; it never grows again."""
    reserved_for: tuple[PodSet, ...] = ()
    """What quota was reserved for, where its job asks for other pods by now."""
    next_queue: str = ""
    """The local queue that its job names by now, where that is another one than quota was reserved through."""
    of_others: bool = False
    """Whether it was found so: another manager, or another log, has reserved it."""


class SecondPass(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What came of placing its pods after its quota was reserved."""

    failures: int = 0
    """In a row."""
    again_at: Millis = 0
    message: str = ""
    """Why it failed last."""
    placed: int = 0
    """The sequence of the decision that placed pods of it anew while it ran."""
    unhealthy_nodes: tuple[str, ...] = ()
    """Nodes of its topology assignment that have failed and are to be replaced (`status.unhealthyNodes`)."""


NEVER_PLACED_AGAIN = SecondPass()
"""Of most workloads: all of them hold this one."""


class Devices(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The cards set aside for the current attempt; `refused` is the reason why there are none."""

    reservation: int
    placements: tuple[PodPlacement, ...] = ()
    refused: str = ""
    message: str = ""
    """Why there are none; where there are some, why they are to be found anew."""
    own: tuple[str, ...] = ()
    """The pod sets whose pods were told cards of their own in this attempt, though those that are left may have the same."""

    @property
    def outdated(self) -> bool:
        """Whether its pods ask for other amounts by now than were set aside for them."""
        return bool(self.message) and not self.refused


class Provisioning(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What is asked of the autoscaler for the current attempt, on behalf of one check."""

    order: ProvisioningOrdered
    decision: str
    """The decision that ordered it, as `partition/sequence`: the request bears it."""
    before: str = ""
    """The UID of a request that bore the name when this one was ordered: that is not the answer."""
    rejected: str = ""
    """Why the API server did not take the request, as far as it has not."""


class Workload(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One unit of admission, as it stands."""

    key: str
    uid: str
    owner: Owner | None
    created_at: Millis
    generation: int
    spec: WorkloadSpec
    equivalence: str = ""
    """The class of workloads that ask for the same (docs/rules/queues.md#equivalence)."""
    conditions: dict[str, Condition] = msgspec.field(default_factory=partial(no_entries, Condition))
    admission: Admission | None = None
    devices: Devices | None = None
    checks: dict[str, CheckStatus] = msgspec.field(default_factory=partial(no_entries, CheckStatus))
    provisioning: dict[str, Provisioning] = msgspec.field(default_factory=partial(no_entries, Provisioning))
    """By check, what is asked of the autoscaler."""
    reclaimable: dict[str, int] = msgspec.field(default_factory=partial(no_entries, int))
    second_pass: SecondPass = NEVER_PLACED_AGAIN
    stops: Stops = Stops()
    gates: dict[str, GateState] = msgspec.field(default_factory=partial(no_entries, GateState))
    """Its preemption gates and how they stand."""
    attempt: AdmissionRefused | PreemptionRequested | None = None
    """The last recorded attempt that did not end in a reservation."""
    line: str = ""
    """The cluster queue in whose line it waits, or beside which it is parked."""
    admitted_at: Millis | None = None
    decided: int = 0
    """Sequence of the last decision about it on its partition: what the applier has to reach."""
    applied: int = 0
    """Sequence of the last decision that the cluster shows."""
    seen: int = 0
    """Sequence of the last fact that has changed what its object shows, which no decision says."""
    shown: int = 0
    """Sequence of the last such fact that the cluster shows."""
    finish_shown: bool = False
    """The cluster shows that it has finished, which no decision says."""
    in_cluster: InCluster = InCluster()
    resizing: Resizing = Resizing()

    @property
    def namespace(self) -> str:
        """The namespace of the workload and its job."""
        return self.key.partition("/")[0]

    @property
    def name(self) -> str:
        """The name of the Workload object."""
        return self.key.partition("/")[2]

    @property
    def job(self) -> str:
        """The job behind it, as `namespace/name`; the workload itself where there is none."""
        return job_behind(self.key, self.owner)

    @property
    def priority(self) -> int:
        """Effective priority: the class's, plus the boost (docs/rules/queues.md#priority)."""
        return self.spec.priority + self.spec.priority_boost

    @property
    def local_queue(self) -> str:
        """The key of its local queue, `namespace/name`."""
        return f"{self.namespace}/{self.spec.queue}"

    @property
    def named_queue(self) -> str:
        """The queue that its job names: its own, or the one in which it is to queue once it has lost its quota."""
        return (self.admission.next_queue if self.admission is not None else "") or self.spec.queue

    def condition(self, kind: str) -> Condition | None:
        """The condition of that type, if it was ever set."""
        return self.conditions.get(kind)

    def is_true(self, kind: str) -> bool:
        """Whether the condition is there and True."""
        found = self.conditions.get(kind)
        return found is not None and found.status is ConditionStatus.TRUE

    def true_since(self, kind: str) -> Millis | None:
        """Since when the condition is True; None where it is not."""
        found = self.conditions.get(kind)
        return found.since if found is not None and found.status is ConditionStatus.TRUE else None

    @property
    def finished(self) -> bool:
        """Whether its condition Finished is true: its job has ended, well or not."""
        return self.is_true(FINISHED)

    @property
    def reserved(self) -> bool:
        """Whether it holds quota: it is counted in its queue, admitted or not yet."""
        return self.admission is not None

    @property
    def admitted(self) -> bool:
        """Whether it is admitted: its job may run."""
        return self.is_true(ADMITTED)

    @property
    def should_run(self) -> bool:
        """Whether its job should run: it is admitted, does not have to stop, and is not over."""
        return self.admitted and not self.evicted and not self.finished

    @property
    def pods_may_run(self) -> bool:
        """Whether its pods may run: it is admitted, or goes on where a slice was whose pods run."""
        return self.admitted or self.resizing.continues

    @property
    def evicted(self) -> bool:
        """Whether it is evicted: it has to stop, or had to and has not got quota again since."""
        return self.is_true(EVICTED)


def decided_at(conditions: Iterable[Condition]) -> int:
    """The second in which these conditions say that something was decided about quota last; 0 when they don't."""
    return max((one.since // SECOND for one in conditions if one.type in _DECIDED), default=0)


def moments(workload: Workload) -> frozenset[int]:
    """The seconds in which the log has decided about a workload, as far back as its object may show."""
    reserved = workload.admission.reserved_at if workload.admission is not None else None
    told = (
        workload.admitted_at,
        workload.stops.preempted_at,
        reserved,
        *(one.since for one in workload.conditions.values()),
    )
    return frozenset((*workload.in_cluster.earlier, *(one // SECOND for one in told if one is not None)))


def with_earlier(workload: Workload, before: Workload) -> Workload:
    """The workload with what its conditions have shown before, for its object may show that until the last decision is applied."""
    if workload.in_cluster.written != before.in_cluster.written:
        return workload
    lost = moments(before) - moments(workload)
    if not lost:
        return workload
    earlier = (*workload.in_cluster.earlier, *sorted(lost))
    return replace(workload, in_cluster=replace(workload.in_cluster, earlier=earlier))


def first_slice_name(workload: Workload) -> str:
    """The name of the first slice of its elastic job, which is on all of them and on their pods."""
    return workload.spec.slice_name or workload.name


def chain_of(workload: Workload) -> str:
    """The key of the first slice of its elastic job, by which all of them are known."""
    return f"{workload.namespace}/{first_slice_name(workload)}"


def object_of_parts(workload: Workload | None) -> str:
    """The UID of its object, where that has several workloads, such as the groups of a LeaderWorkerSet; else empty."""
    owner = None if workload is None else workload.owner
    return owner.uid if owner is not None and owner.part else ""


def true_condition(kind: str, reason: str, message: str, workload: Workload, position: LogPosition) -> Condition:
    """The condition with status True, since this position of the log."""
    return condition_at(kind, ConditionStatus.TRUE, reason, message, workload, position)


def condition_at(
    kind: str, status: ConditionStatus, reason: str, message: str, workload: Workload, position: LogPosition
) -> Condition:
    """The condition with this status, since this position of the log."""
    return Condition(
        type=kind, status=status, reason=reason, message=message, since=position.at, generation=workload.generation
    )


def with_condition(workload: Workload, condition: Condition) -> Workload:
    """The workload with the condition set; its `since` stays when the status does not change."""
    old = workload.conditions.get(condition.type)
    if old is not None and old.status is condition.status:
        condition = replace(condition, since=old.since)
    if old == condition:
        return workload
    return replace(workload, conditions={**workload.conditions, condition.type: condition})


def with_news(
    workload: Workload, position: LogPosition, reason: str, message: str, *, warning: bool = False
) -> Workload:
    """The workload with one more Kubernetes Event to be written, about the decision at this position."""
    news = News(sequence=position.sequence, at=position.at, reason=reason, message=message, warning=warning)
    return replace(workload, in_cluster=replace(workload.in_cluster, news=(*workload.in_cluster.news, news)))


def switched(workload: Workload, position: LogPosition, *, active: bool) -> Workload:
    """The workload as it was set active or inactive by the decision at this position."""
    stops = replace(workload.stops, deactivated_by=position.sequence)
    return replace(workload, spec=replace(workload.spec, active=active), stops=stops, decided=position.sequence)


def without_conditions(workload: Workload, *kinds: str) -> Workload:
    """The workload without those conditions."""
    kept = {kind: condition for kind, condition in workload.conditions.items() if kind not in kinds}
    return workload if len(kept) == len(workload.conditions) else replace(workload, conditions=kept)


def checks_ready(workload: Workload) -> bool:
    """Every check that its flavors require is Ready."""
    if workload.admission is None:
        return False
    return all(
        (status := workload.checks.get(name)) is not None and status.state is CheckState.READY
        for name in workload.admission.required_checks
    )


def asks_for_any(workload: Workload, resources: frozenset[str]) -> bool:
    """Whether any container of any pod set asks for one of these resources."""
    return any(
        not resources.isdisjoint(container.requests) or not resources.isdisjoint(container.limits)
        for pod_set in workload.spec.pod_sets
        for container in (*pod_set.shape.init_containers, *pod_set.shape.containers)
    )
