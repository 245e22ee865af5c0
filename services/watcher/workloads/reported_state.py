"""What was reported of one workload, and the facts in which its job or its own object differs from that."""

from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias

import msgspec

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
from projections.workloads.changed_part import changed_part
from projections.workloads.lifecycle import PODS_READY
from projections.workloads.other_pods import same_pods
from projections.workloads.preemption_gates import turned_by_others
from services.jobs.kinds.managed_kinds import Kinds
from services.watcher.jobs.jobs import JobState
from services.watcher.jobs.workload_source import place_of_owner
from services.watcher.workloads.job_report import JobReport
from services.watcher.workloads.object_report import ObjectReport

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
    job: JobReport = JobReport()
    own_object: ObjectReport = ObjectReport()
    version: int = 0
    """The resourceVersion of its Workload object up to which it is on the log what that shows of decisions, whoever has made them."""

    def tell_of_job(self, **changes: Any) -> None:
        """Take down how its job stands by now: fields of `JobReport`."""
        self.job = changed_part(self.job, **changes)

    def tell_of_object(self, **changes: Any) -> None:
        """Take down how its object stands by now: fields of `ObjectReport`."""
        self.own_object = changed_part(self.own_object, **changes)

    def find(self, adopted: AdoptedStatus | None) -> None:
        """Take down what its submission says of its pods, with the status that it was found with."""
        if adopted is None:
            return
        ready = (one.status is ConditionStatus.TRUE for one in adopted.conditions if one.type == PODS_READY)
        self.tell_of_job(ready=next(ready, None), reclaimed=adopted.reclaimable or no_entries(int))


def as_submitted(fact: WorkloadSubmitted, source: str) -> ReportedState:
    """What is reported of a workload by that it was submitted, read from the object of a place."""
    reported = ReportedState(uid=fact.uid, source=source, spec=shared_spec(fact.spec))
    if fact.adopted is not None and fact.adopted.cluster_queue:
        reported.tell_of_job(injected=True)
    reported.find(fact.adopted)
    return reported


def own(reported: ReportedState, fact: WorkloadOwned, kinds: Kinds) -> None:
    """From now on a workload is read from the job that owns it."""
    reported.source = place_of_owner(fact.workload, fact.owner, kinds)
    if kinds.parent_of(fact.owner) is not None:
        reported.tell_of_job(parent=fact.owner.kind)
    reported.tell_of_object(owner_uid=fact.owner.uid, active=reported.spec.active)


class Reports(Protocol):
    """What was reported so far, by workload and by the place that each was read from."""

    workloads: dict[str, ReportedState]
    by_source: dict[str, str]


def asked_last(reports: Reports, place: str, job: JsonMapping) -> WorkloadSpec | None:
    """What was reported that the job of a place asks for; None if that was another job of its name, or nothing was."""
    reported = reports.workloads.get(reports.by_source.get(place, ""))
    if reported is None or object_at(job, "metadata").get("uid") not in (reported.uid, reported.own_object.owner_uid):
        return None
    return reported.spec


def ended_unseen(state: JobState) -> bool:
    """Whether a job that nobody knew had ended by then: as under Kueue it gets no Workload. Pods do, or they would not be let go.

    Rule: docs/rules/objects.md#ended-unseen
    """
    made_of_pods = state.owner is not None and state.owner.kind in ("Pod", "PodGroup")
    return state.owner is not None and state.finished is not None and not made_of_pods


def changes(reported: ReportedState, state: JobState) -> list[Fact]:
    """The facts in which a job differs from what was reported."""
    facts: list[Fact] = []
    spec = _asked(reported, state)
    if spec != reported.spec:
        facts.append(WorkloadChanged(workload=state.workload, spec=spec))
    if state.ready is not None and state.ready != (reported.job.ready or False):
        facts.append(PodsReady(workload=state.workload, ready=state.ready))
    if state.gone is not None and state.gone != reported.job.gone:
        facts.append(PodsGone(workload=state.workload, decision=state.gone))
    if _unsuspended_by_others(reported, state):
        facts.append(JobUnsuspended(workload=state.workload, generation=state.running))
    reclaimed = _reclaimed(reported.job.reclaimed, state)
    if reclaimed != reported.job.reclaimed:
        facts.append(PodsReclaimed(workload=state.workload, counts=reclaimed))
    if state.finished is not None and not reported.job.finished:
        reason, message = state.finished
        facts.append(WorkloadFinished(workload=state.workload, reason=reason, message=message))
    return facts if state.adopted is None else [*facts, *_written_by_others(reported, state, state.adopted)]


def _reclaimed(known: Mapping[str, int], state: JobState) -> dict[str, int]:
    """By pod set, how many pods are done: while they run never fewer than before, though some are made again."""
    if state.stands_still:
        return state.reclaimed
    return {**known, **{name: max(count, known.get(name, 0)) for name, count in state.reclaimed.items()}}


def _written_by_others(reported: ReportedState, state: JobState, shown: AdoptedStatus) -> list[Fact]:
    """What controllers of checks, and the manager of other clusters, have written on its Workload object."""
    gates: list[Fact] = [
        PreemptionGateReported(workload=state.workload, gate=one)
        for one in shown.gates
        if turned_by_others(one.name) and _is_turned(reported.own_object.opened.get(one.name), one)
    ]
    checks = (CheckReported(workload=state.workload, check=one, decision=state.decision) for one in state.checks)
    return [*gates, *(one for one in checks if reported.own_object.checks.get(one.check.name) != one)]


def _is_turned(before: GateState | None, now: GateState) -> bool:
    return now != before if now.open else before is not None and before.open


def says_so(reported: ReportedState | None, fact: Fact) -> bool:  # noqa: C901, PLR0911 - one case per fact
    """Whether a fact about a workload says what was reported already."""
    match fact:
        case WorkloadSubmitted():
            return reported is not None and reported.uid == fact.uid
        case WorkloadOwned():
            return reported is not None and reported.own_object.owner_uid == fact.owner.uid
        case WorkloadDeleted():
            return reported is None
        case _ if reported is None:
            return True
        case WorkloadChanged():
            return reported.spec == fact.spec
        case WorkloadSwitched():
            own = reported.own_object
            return (own.active, own.target) == (fact.active, _target(fact))
        case PodsReady():
            return reported.job.ready == fact.ready
        case PodsGone():
            return reported.job.gone == fact.decision
        case DecidedElsewhere():
            return reported.version >= fact.version
        case JobUnsuspended():
            return reported.job.unsuspended >= fact.generation
        case PodsReclaimed():
            return reported.job.reclaimed == fact.counts
        case WorkloadFinished():
            return reported.job.finished
        case ClustersNamed():
            return reported.own_object.named == fact.clusters
        case PreemptionGateReported():
            return reported.own_object.opened.get(fact.gate.name) == fact.gate
        case CheckReported():
            return reported.own_object.checks.get(fact.check.name) == fact
        case _:
            return False


def note(reported: ReportedState, fact: Noted) -> None:  # noqa: C901 - one case per fact
    """Fold a fact about a workload, reported by this watcher or another."""
    match fact:
        case WorkloadChanged():
            reported.spec = shared_spec(fact.spec)
        case DecidedElsewhere():
            reported.version = max(reported.version, fact.version)
            reported.tell_of_job(injected=bool(fact.status.cluster_queue))
        case WorkloadSwitched():
            reported.tell_of_object(active=fact.active, target=_target(fact))
        case PodsReady():
            reported.tell_of_job(ready=fact.ready)
        case PodsGone():
            reported.tell_of_job(gone=fact.decision, ready=None)
        case JobUnsuspended():
            reported.tell_of_job(unsuspended=fact.generation, gone="")
        case PodsReclaimed():
            reported.tell_of_job(reclaimed=fact.counts or no_entries(int))
        case WorkloadFinished():
            reported.tell_of_job(finished=True)
        case ClustersNamed():
            reported.tell_of_object(named=fact.clusters)
        case PreemptionGateReported():
            reported.tell_of_object(opened={**reported.own_object.opened, fact.gate.name: fact.gate})
        case CheckReported():
            reported.tell_of_object(checks={**reported.own_object.checks, fact.check.name: fact})


def _target(fact: WorkloadSwitched) -> str:
    return fact.message if fact.active and fact.cause else ""


def _unsuspended_by_others(reported: ReportedState, state: JobState) -> bool:
    """Whether a job runs that was not started by us: it bears no decision, or the one by which it was suspended."""
    let_run = state.mark not in (reported.job.gone, reported.job.suspended_by) if state.mark else reported.job.injected
    return not let_run and not reported.job.finished and state.running > reported.job.unsuspended


def _asked(reported: ReportedState, state: JobState) -> WorkloadSpec:
    """What is asked for, with what is kept of what was reported before."""
    before = reported.spec
    spec = msgspec.structs.replace(
        state.spec, labels=before.labels, slice_name=before.slice_name, replaces=before.replaces
    )
    kept = state.started or reported.job.injected or (state.marked and same_pods(spec.pod_sets, reported.spec.pod_sets))
    if kept and state.owner is not None:
        # The template holds what was injected at the start: the requests are those reported before.
        counts = _counts(reported, state)
        pod_sets, refused = with_counts(reported.spec.pod_sets, counts), reported.spec.claims_refused
        if not (state.started or reported.job.injected) or _all_gated(spec):
            pod_sets, refused = _with_claims(pod_sets, spec.pod_sets), spec.claims_refused
        return msgspec.structs.replace(spec, pod_sets=pod_sets, claims_refused=refused)
    if spec.pod_sets == reported.spec.pod_sets:
        return spec
    return msgspec.structs.replace(spec, pod_sets=_as_reported(spec.pod_sets, reported.spec.pod_sets))


def _counts(reported: ReportedState, state: JobState) -> dict[str, int]:
    """By pod set, how many pods a job that was let run says it wants; not where that may say how many it was let in with."""
    fixed = {one.name for one in reported.spec.pod_sets if one.minimum is None}
    if not state.sized or state.spec.members or state.prebuilt:
        return {}
    return {one.name: one.count for one in state.spec.pod_sets if state.spec.elastic or one.name in fixed}


def _all_gated(spec: WorkloadSpec) -> bool:
    """Whether it consists of pods of which none was let go yet."""
    return bool(spec.members) and all(one.state is MemberState.GATED for one in spec.members)


def _with_claims(pod_sets: tuple[PodSet, ...], counted: tuple[PodSet, ...]) -> tuple[PodSet, ...]:
    """The pod sets with what their pods claim as it was counted now: until it starts, its claims may come to something else."""
    claims = {one.name: one.claims for one in counted}
    if all(claims.get(one.name) == one.claims for one in pod_sets):
        return pod_sets
    return tuple(msgspec.structs.replace(one, claims=claims.get(one.name)) for one in pod_sets)


def with_counts(pod_sets: tuple[PodSet, ...], counts: Mapping[str, int]) -> tuple[PodSet, ...]:
    """The pod sets with other counts, where there are any."""
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
