"""What was reported of one workload, and the facts in which its job or its own object differs from that."""

from collections.abc import Mapping
from functools import partial
from typing import Protocol, TypeAlias

import msgspec

from events.api.labels import MULTIKUEUE_GATE
from events.catalogue import Fact
from events.json_object import JsonMapping, object_at
from events.multikueue import ClustersNamed
from events.no_entries import no_entries
from events.pod_set import PodSet
from events.shared_specs import shared_spec
from events.workload import (
    AdoptedStatus,
    CheckReported,
    ConditionStatus,
    DecidedElsewhere,
    GateState,
    JobUnsuspended,
    MemberState,
    PodsGone,
    PodsReady,
    PodsReclaimed,
    PreemptionGateReported,
    WorkloadChanged,
    WorkloadDeleted,
    WorkloadFinished,
    WorkloadOwned,
    WorkloadSpec,
    WorkloadSubmitted,
    WorkloadSwitched,
)
from projections.flavors.suitability import asks_for_topology
from projections.workloads.lifecycle import PODS_READY
from services.jobs.kinds.managed_kinds import Kinds
from services.watcher.jobs.jobs import JobState
from services.watcher.jobs.workload_source import place_of_owner

Noted: TypeAlias = (
    WorkloadChanged
    | DecidedElsewhere
    | WorkloadSwitched
    | PodsReady
    | JobUnsuspended
    | PodsGone
    | PodsReclaimed
    | WorkloadFinished
    | CheckReported
    | PreemptionGateReported
    | ClustersNamed
)
"""What is taken down of a workload that was reported."""


class ReportedState(msgspec.Struct, gc=False):
    """What was reported of one workload, by this watcher or another."""

    uid: str
    source: str
    spec: WorkloadSpec
    ready: bool | None = None
    gone: str = ""
    reclaimed: dict[str, int] = msgspec.field(default_factory=partial(no_entries, int))
    finished: bool = False
    checks: dict[str, CheckReported] = msgspec.field(default_factory=partial(no_entries, CheckReported))
    active: bool = True
    parent: str = ""
    """The kind of what serves with its pods, where that says how many there are to be."""
    owner_uid: str = ""
    """The UID of the job that owns it, where its object was made before the job."""
    unsuspended: int = 0
    """The generation of the job in which somebody else had let it run."""
    suspended_by: str = ""
    """The decision that its job bore when it was seen suspended; no fact holds it, so it is empty after a restart."""
    injected: bool = False
    """It was running when it was found: its template holds what somebody else injected at the start."""
    opened: dict[str, GateState] = msgspec.field(default_factory=partial(no_entries, GateState))
    """By name, the preemption gates that somebody else has opened, as they were opened last."""
    named: tuple[str, ...] = ()
    """The clusters that somebody else's dispatcher has named."""
    version: int = 0
    """The resourceVersion of its Workload object up to which it is on the log what that shows of decisions, whoever has made them."""

    def find(self, adopted: AdoptedStatus | None) -> None:
        """Take down what its submission says of its pods, with the status that it was found with."""
        if adopted is None:
            return
        ready = (one.status is ConditionStatus.TRUE for one in adopted.conditions if one.type == PODS_READY)
        self.ready, self.reclaimed = next(ready, None), adopted.reclaimable or no_entries(int)


def as_submitted(fact: WorkloadSubmitted, source: str) -> ReportedState:
    """What is reported of a workload by that it was submitted, read from the object of a place."""
    reported = ReportedState(
        uid=fact.uid,
        source=source,
        spec=shared_spec(fact.spec),
        injected=fact.adopted is not None and bool(fact.adopted.cluster_queue),
    )
    reported.find(fact.adopted)
    return reported


def own(reported: ReportedState, fact: WorkloadOwned, kinds: Kinds) -> None:
    """From now on a workload is read from the job that owns it."""
    reported.source = place_of_owner(fact.workload, fact.owner, kinds)
    if kinds.parent_of(fact.owner) is not None:
        reported.parent = fact.owner.kind
    reported.owner_uid, reported.active = fact.owner.uid, reported.spec.active


class Reports(Protocol):
    """What was reported so far, by workload and by the place that each was read from."""

    workloads: dict[str, ReportedState]
    by_source: dict[str, str]


def asked_last(reports: Reports, place: str, job: JsonMapping) -> WorkloadSpec | None:
    """What was reported that the job of a place asks for; None if that was another job of its name, or nothing was."""
    reported = reports.workloads.get(reports.by_source.get(place, ""))
    if reported is None or object_at(job, "metadata").get("uid") not in (reported.uid, reported.owner_uid):
        return None
    return reported.spec


def changes(reported: ReportedState, state: JobState) -> list[Fact]:
    """The facts in which a job differs from what was reported."""
    facts: list[Fact] = []
    spec = _asked(reported, state)
    if spec != reported.spec:
        facts.append(WorkloadChanged(workload=state.workload, spec=spec))
    if state.ready is not None and state.ready != (reported.ready or False):
        facts.append(PodsReady(workload=state.workload, ready=state.ready))
    if state.gone is not None and state.gone != reported.gone:
        facts.append(PodsGone(workload=state.workload, decision=state.gone))
    if _unsuspended_by_others(reported, state):
        facts.append(JobUnsuspended(workload=state.workload, generation=state.running))
    if state.reclaimed and state.reclaimed != reported.reclaimed:
        facts.append(PodsReclaimed(workload=state.workload, counts=state.reclaimed))
    if state.finished is not None and not reported.finished:
        reason, message = state.finished
        facts.append(WorkloadFinished(workload=state.workload, reason=reason, message=message))
    return facts if state.adopted is None else [*facts, *_written_by_others(reported, state, state.adopted)]


def _written_by_others(reported: ReportedState, state: JobState, shown: AdoptedStatus) -> list[Fact]:
    """What controllers of checks, and the manager of other clusters, have written on its Workload object."""
    gates: list[Fact] = [
        PreemptionGateReported(workload=state.workload, gate=one)
        for one in shown.gates
        if one.open and one.name == MULTIKUEUE_GATE and reported.opened.get(one.name) != one
    ]
    checks = (CheckReported(workload=state.workload, check=one, decision=state.decision) for one in state.checks)
    return [*gates, *(one for one in checks if reported.checks.get(one.check.name) != one)]


def says_so(reported: ReportedState | None, fact: Fact) -> bool:  # noqa: C901, PLR0911 - one case per fact
    """Whether a fact about a workload says what was reported already."""
    match fact:
        case WorkloadSubmitted():
            return reported is not None and reported.uid == fact.uid
        case WorkloadOwned():
            return reported is not None and reported.owner_uid == fact.owner.uid
        case WorkloadDeleted():
            return reported is None
        case _ if reported is None:
            return True
        case WorkloadChanged():
            return reported.spec == fact.spec
        case WorkloadSwitched():
            return reported.active == fact.active
        case PodsReady():
            return reported.ready == fact.ready
        case PodsGone():
            return reported.gone == fact.decision
        case DecidedElsewhere():
            return reported.version >= fact.version
        case JobUnsuspended():
            return reported.unsuspended >= fact.generation
        case PodsReclaimed():
            return reported.reclaimed == fact.counts
        case WorkloadFinished():
            return reported.finished
        case ClustersNamed():
            return reported.named == fact.clusters
        case PreemptionGateReported():
            return reported.opened.get(fact.gate.name) == fact.gate
        case CheckReported():
            return reported.checks.get(fact.check.name) == fact
        case _:
            return False


def note(reported: ReportedState, fact: Noted) -> None:  # noqa: C901 - one case per fact
    """Fold a fact about a workload, reported by this watcher or another."""
    match fact:
        case WorkloadChanged():
            reported.spec = shared_spec(fact.spec)
        case DecidedElsewhere():
            reported.version = max(reported.version, fact.version)
            reported.injected = bool(fact.status.cluster_queue)
        case WorkloadSwitched():
            reported.active = fact.active
        case PodsReady():
            reported.ready = fact.ready
        case PodsGone():
            reported.gone, reported.ready = fact.decision, None
        case JobUnsuspended():
            reported.unsuspended, reported.gone = fact.generation, ""
        case PodsReclaimed():
            reported.reclaimed = fact.counts or no_entries(int)
        case WorkloadFinished():
            reported.finished = True
        case ClustersNamed():
            reported.named = fact.clusters
        case PreemptionGateReported():
            reported.opened = {**reported.opened, fact.gate.name: fact.gate}
        case CheckReported():
            reported.checks = {**reported.checks, fact.check.name: fact}


def _unsuspended_by_others(reported: ReportedState, state: JobState) -> bool:
    """Whether a job runs that was not started by us: it bears no decision, or the one by which it was suspended."""
    let_run = state.mark not in (reported.gone, reported.suspended_by) if state.mark else reported.injected
    return not let_run and not reported.finished and state.running > reported.unsuspended


def _asked(reported: ReportedState, state: JobState) -> WorkloadSpec:
    """What is asked for, with what is kept of what was reported before."""
    spec = msgspec.structs.replace(state.spec, labels=reported.spec.labels)
    kept = state.started or reported.injected or (state.marked and same_pods(spec, reported.spec))
    if kept and state.owner is not None:
        # The template holds what was injected at the start: the requests are those reported before.
        counts = {one.name: one.count for one in spec.pod_sets} if spec.elastic and state.sized else {}
        pod_sets, refused = _with_counts(reported.spec.pod_sets, counts), reported.spec.claims_refused
        if not (state.started or reported.injected) or _all_gated(spec):
            pod_sets, refused = _with_claims(pod_sets, spec.pod_sets), spec.claims_refused
        return msgspec.structs.replace(spec, pod_sets=pod_sets, claims_refused=refused)
    if spec.pod_sets == reported.spec.pod_sets:
        return spec
    return msgspec.structs.replace(spec, pod_sets=_as_reported(spec.pod_sets, reported.spec.pod_sets))


def _all_gated(spec: WorkloadSpec) -> bool:
    """Whether it consists of pods of which none was let go yet."""
    return bool(spec.members) and all(one.state is MemberState.GATED for one in spec.members)


def _with_claims(pod_sets: tuple[PodSet, ...], counted: tuple[PodSet, ...]) -> tuple[PodSet, ...]:
    """The pod sets with what their pods claim as it was counted now: until it starts, its claims may come to something else."""
    claims = {one.name: one.claims for one in counted}
    if all(claims.get(one.name) == one.claims for one in pod_sets):
        return pod_sets
    return tuple(msgspec.structs.replace(one, claims=claims.get(one.name)) for one in pod_sets)


def _with_counts(pod_sets: tuple[PodSet, ...], counts: Mapping[str, int]) -> tuple[PodSet, ...]:
    """The pod sets with other counts, where there are any: an elastic job says while it runs how many pods it wants."""
    if all(counts.get(one.name, one.count) == one.count for one in pod_sets):
        return pod_sets
    return tuple(msgspec.structs.replace(one, count=counts.get(one.name, one.count)) for one in pod_sets)


def _as_reported(pod_sets: tuple[PodSet, ...], before: tuple[PodSet, ...]) -> tuple[PodSet, ...]:
    """The pod sets as reported before, if nothing is new but in which labels their pods bear their ranks.

    Older versions did not say that; a job that only waits on is not to be decided about anew because of it.
    """
    if len(pod_sets) != len(before):
        return pod_sets
    same = all(
        msgspec.structs.replace(one, topology=None) == other and not asks_for_topology(one.topology)
        for one, other in zip(pod_sets, before, strict=True)
    )
    return before if same else pod_sets


def same_pods(one: WorkloadSpec, other: WorkloadSpec) -> bool:
    """Whether the pods are the same but for how their templates are spelled: restored, one says what was implied.

    What they claim comes to is not in the templates.
    """
    return _unspelled(one) == _unspelled(other)


def _unspelled(spec: WorkloadSpec) -> list[PodSet]:
    return [
        msgspec.structs.replace(one, claims=None, shape=msgspec.structs.replace(one.shape, raw_shape=""))
        for one in spec.pod_sets
    ]
