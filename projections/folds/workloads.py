"""Folding what is observed of workloads: submitted, changed, ready, gone, finished, deleted, applied."""

from typing import assert_never

from msgspec.structs import replace

from events.application import FAILED_TO_START, DecisionApplied, DecisionRejected
from events.settings import SettingsObserved
from events.workload import (
    CheckReported,
    CheckState,
    CheckStatus,
    DecidedElsewhere,
    JobUnsuspended,
    Owner,
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
from events.workload_facts import WorkloadFact
from projections.feature_gates import enabled
from projections.folds.admission import give_back
from projections.folds.adoption import adopt, is_of_others
from projections.folds.held_domains import hold_domains, keep_no_domains
from projections.folds.local_queue import in_next_queue, index, unindex, with_spec
from projections.folds.refused_objects import accept
from projections.folds.taken_over_dispatch import take_over_choice, take_over_dispatch
from projections.log_position import LogPosition
from projections.preemption.claims import end_claim
from projections.preemption.protection_by_time import begin_protection
from projections.preemption.requested import end_request
from projections.preemption.state import PreemptionState
from projections.queues.enqueue import depends_on_namespace, reclass
from projections.queues.equivalence import equivalence_of
from projections.queues.order import put_in_line
from projections.quota.charge_quota import charge_quota, given_back_by, recharge
from projections.workloads.changed_part import changed_part
from projections.workloads.decision_mark import number_in
from projections.workloads.in_cluster import InCluster
from projections.workloads.lifecycle import (
    DEACTIVATION_TARGET,
    FINISHED,
    NEVER_PLACED_AGAIN,
    WAITING_FOR_PODS,
    Workload,
    chain_of,
    object_of_parts,
    true_condition,
    with_condition,
)
from projections.workloads.other_pods import noting_others
from projections.workloads.pods import ends_last_attempt, found_running, runs_without_admission, with_waiting_for_pods
from projections.workloads.pods_ready import pods_ready
from projections.workloads.preemption_gates import with_preemption_gate, with_preemption_gates
from projections.workloads.slices import ELASTIC_JOBS


def evolve_workloads(world: PreemptionState, event: WorkloadFact, position: LogPosition) -> None:  # noqa: C901 - one case after the other
    """Fold one fact about a workload; a fact about one that is not known changes nothing."""
    if isinstance(event, WorkloadSubmitted):
        submit(world, event, position)
        return
    workload = world.workloads.get(event.workload)
    if workload is None:
        return
    match event:
        case WorkloadOwned():
            # Its object is to name the job, which runs if the workload was let in before the job came.
            world.put_workload(_turned(_owned(workload, event.owner), position))
        case DecidedElsewhere():
            _take_over(world, workload, event, position)
        case WorkloadChanged():
            change(world, workload, event, position)
        case PodsReady():
            changed = with_condition(workload, pods_ready(workload, position, ready=event.ready))
            world.put_workload(replace(changed, seen=position.sequence))
        case PodsGone():
            # A stop that was seen late says nothing about the attempt that was stopped since.
            if ends_last_attempt(workload, event.decision):
                gone = replace(workload, stops=replace(workload.stops, pods_gone=event.decision))
                world.put_workload(_turned(gone, position) if workload.should_run else gone)
        case JobUnsuspended():
            world.put_workload(_turned(workload, position))
        case PodsReclaimed():
            _reclaim(world, workload, event.counts, position)
        case WorkloadFinished() if workload.finished:
            pass  # Told again, it is no news: what the cluster shows of it stays known.
        case WorkloadFinished():
            leave(world, workload)
            done = true_condition(FINISHED, event.reason, event.message, workload, position)
            finished = with_condition(world.workloads[workload.key], done)
            # Where no job stands behind the object, the object itself has been set so.
            world.put_workload(replace(finished, finish_shown=finished.owner is None))
        case WorkloadDeleted():
            leave(world, workload)
            _forget(world, workload)
        case CheckReported():
            _report(world, workload, event)
        case PreemptionGateReported():
            _turn_gate(world, workload, event, position)
        case WorkloadSwitched():
            accept(world, "Workload", workload.namespace, workload.name)
            _switch(world, workload, event, position)
        case DecisionApplied():
            _applied(world, workload, event)
        case DecisionRejected():
            _rejected(world, workload, event)
        case _:
            assert_never(event)


def forget_written(world: PreemptionState) -> None:
    """Once resourceVersions begin anew: those from before can't be compared with those to come."""
    for workload in list(world.workloads.values()):
        if workload.in_cluster.written:
            world.put_workload(replace(workload, in_cluster=replace(workload.in_cluster, written=0)))


def _owned(workload: Workload, owner: Owner) -> Workload:
    return replace(workload, owner=owner, in_cluster=replace(workload.in_cluster, prebuilt=True))


def _turned(workload: Workload, position: LogPosition) -> Workload:
    turned = replace(workload.in_cluster, job_turned=position.sequence)
    return replace(workload, in_cluster=turned, seen=position.sequence)


def _turn_gate(
    world: PreemptionState, workload: Workload, event: PreemptionGateReported, position: LogPosition
) -> None:
    """Whoever bears the gate is tried anew, as it may preempt from now on, or may not."""
    turned = with_preemption_gate(workload, event.gate)
    if turned is workload:
        return
    if workload.line:
        world.lines.of(workload.line).remove(world.trail, workload.key)
    world.put_workload(replace(turned, line="", seen=position.sequence))


def _switch(world: PreemptionState, workload: Workload, event: WorkloadSwitched, position: LogPosition) -> None:
    if event.active and event.cause and not workload.spec.active:
        return  # It was set inactive since, as was wanted of it.
    switched = replace(workload, spec=replace(workload.spec, active=event.active))
    if event.cause:
        target = true_condition(DEACTIVATION_TARGET, event.cause, event.message, workload, position)
        switched = with_condition(switched, target)
    world.put_workload(switched)
    world.quota.touch(workload.line)  # It may not have been tried as long as it was not active.


def _report(world: PreemptionState, workload: Workload, event: CheckReported) -> None:
    before, check = workload.checks.get(event.check.name), event.check
    if before is not None:
        if _of_the_past(event, before):
            return
        check = replace(check, decided=before.decided, retries=max(check.retries, before.retries))
    accept(world, "Workload", workload.namespace, workload.name)
    world.put_workload(replace(workload, checks={**workload.checks, check.name: check}))


def _applied(world: PreemptionState, workload: Workload, event: DecisionApplied) -> None:
    if workload.in_cluster.discarded and event.sequence >= workload.decided:
        _forget(world, workload)
        return
    world.trail.drop(world.rejected, workload.key)
    if event.ended:
        workload = found_running(workload, event.ended)
    shown = workload.in_cluster
    if shown.earlier and event.version and event.sequence >= workload.decided:
        shown = replace(shown, earlier=(), written=event.version)
    if shown.news:
        shown = replace(shown, news=tuple(one for one in shown.news if one.sequence > event.sequence))
    world.put_workload(
        replace(
            workload,
            applied=max(workload.applied, event.sequence),
            shown=max(workload.shown, event.seen),
            finish_shown=workload.finish_shown or event.finished,
            in_cluster=shown,
        )
    )


def _of_the_past(event: CheckReported, before: CheckStatus) -> bool:
    """Whether the report is about an earlier attempt; an object without a mark still shows what was written first."""
    if event.decision:
        return number_in(event.decision) < before.decided
    return before.decided > 0 and event.check.state is CheckState.PENDING


def _rejected(world: PreemptionState, workload: Workload, event: DecisionRejected) -> None:
    # A report about an earlier decision may be right again by now: it is tried once more with what holds today.
    if event.reason == FAILED_TO_START and workload.admitted and event.sequence >= workload.decided:
        workload = replace(workload, in_cluster=replace(workload.in_cluster, start_failed=event.message))
    world.trail.put(world.rejected, workload.key, event.sequence)
    world.put_workload(workload)


def submit(world: PreemptionState, event: WorkloadSubmitted, position: LogPosition) -> None:
    """A workload that was not known before is there."""
    if event.workload in world.workloads:
        return  # Told twice, by two replicas or after a restart.
    workload = Workload(
        key=event.workload,
        uid=event.uid,
        owner=event.owner,
        created_at=event.created_at,
        generation=event.generation,
        spec=_asked(world.settings, event.spec),
    )
    if event.marks:
        workload = replace(workload, in_cluster=InCluster(marks=event.marks))
    if event.adopted is not None:
        workload = adopt(world, workload, event.adopted, position)
    workload = with_waiting_for_pods(with_preemption_gates(world.settings, workload, position), position)
    workload = reclassify(world, workload)
    kind, name = (event.owner.kind, event.owner.name) if event.owner else ("Workload", workload.name)
    accept(world, kind, workload.namespace, name)
    world.put_workload(workload)
    index(world, workload)
    _charge_adopted(world, workload)
    if event.adopted is not None:
        take_over_dispatch(world, workload, event.adopted)


def _take_over(world: PreemptionState, workload: Workload, told: DecidedElsewhere, position: LogPosition) -> None:
    """Let a known workload stand as another manager has left it.

    Rule: docs/rules/adoption.md#word-of-others
    """
    status = told.status
    if workload.finished or workload.in_cluster.discarded:
        return
    if not is_of_others(told, workload):
        take_over_choice(world, workload, told)
        return
    left = replace(
        in_next_queue(world, leave(world, workload)),
        admission=None,
        devices=None,
        attempt=None,
        second_pass=NEVER_PLACED_AGAIN,
        stops=changed_part(workload.stops, pods_gone="", stopped_by=0),
        in_cluster=changed_part(workload.in_cluster, start_failed=""),
    )
    taken = with_preemption_gates(world.settings, adopt(world, left, status, position), position)
    taken = reclassify(world, taken)
    world.put_workload(taken)
    _charge_adopted(world, taken)
    take_over_dispatch(world, taken, status)


def _charge_adopted(world: PreemptionState, workload: Workload) -> None:
    """Charge what a workload holds that another manager has let in."""
    if workload.admission is not None and not workload.finished:
        charge_quota(world.quota, world.holding, world.trail, workload)
        hold_domains(world, workload, workload.admission.assignments)
        begin_protection(world, workload)


def _asked(settings: SettingsObserved, spec: WorkloadSpec) -> WorkloadSpec:
    """What is asked for, without what a gate takes away: a priority boost, an admission gate, that a new job is elastic.

    Rules: docs/rules/queues.md#priority, docs/rules/elastic.md#stays
    """
    if spec.priority_boost and not enabled(settings, "PriorityBoost"):
        spec = replace(spec, priority_boost=0)
    if spec.gated_by and not enabled(settings, "AdmissionGatedBy"):
        spec = replace(spec, gated_by=())
    if spec.elastic and not spec.slice_name and not enabled(settings, ELASTIC_JOBS):
        spec = replace(spec, elastic=False)
    return spec


def change(world: PreemptionState, workload: Workload, event: WorkloadChanged, position: LogPosition) -> None:
    """A workload asks for something else; in its line it is placed anew."""
    spec = _asked(world.settings, event.spec)
    if workload.spec.elastic:
        spec = replace(spec, elastic=True)  # Its slices stay those of one job (docs/rules/elastic.md#stays).
    if workload.owner is not None:
        spec = replace(spec, active=workload.spec.active)  # A job says nothing of it: its Workload object does.
    changed = replace(noting_others(workload, with_spec(workload, spec)), generation=event.generation)
    moved = workload.spec.queue != changed.spec.queue
    if moved:
        unindex(world, workload)
    changed = with_waiting_for_pods(with_preemption_gates(world.settings, changed, position), position)
    if _has_to_show(workload, changed):
        changed = replace(changed, seen=position.sequence)
    changed = reclassify(world, changed)
    world.put_workload(changed)
    if changed.admission is not None:
        _note_victim(world, changed.admission.cluster_queue, workload, changed)
    if moved:
        index(world, changed)
    if moved or changed.equivalence != workload.equivalence:
        # The victims were chosen for what it asked for before.
        end_request(world.requests, world.answered, world.trail, workload.key)
    if not workload.line:
        return
    line = world.lines.of(workload.line)
    if workload.key in line.waiting and not moved:
        put_in_line(world, workload.line, changed)
    else:
        # What is asked for has changed, so the answer may: let the queue manager place it anew (docs/rules/queues.md#reclass).
        line.remove(world.trail, workload.key)
        world.put_workload(replace(changed, line=""))


def reclassify(world: PreemptionState, workload: Workload) -> Workload:
    """The workload in the class of those that ask for the same."""
    by_namespace = depends_on_namespace(world.limit_ranges, world.cards)
    return replace(workload, equivalence=equivalence_of(workload, by_namespace=by_namespace))


def _has_to_show(before: Workload, after: Workload) -> bool:
    """Whether its object, or its pods, have to become something else by what was changed alone."""
    waits = before.condition(WAITING_FOR_PODS) is not after.condition(WAITING_FOR_PODS)
    to_end = runs_without_admission(after) and before.spec.members != after.spec.members
    return waits or to_end or _others(before, after) or _shown(before.spec) != _shown(after.spec)


def _others(before: Workload, after: Workload) -> bool:
    """Whether its object is owned by other pods than before."""
    return {one.uid for one in before.spec.members} != {one.uid for one in after.spec.members}


def _shown(spec: WorkloadSpec) -> tuple[object, ...]:
    """What its object shows of what it asks for."""
    return spec.queue, spec.pod_sets, spec.priority, spec.priority_class, spec.max_execution, spec.gated_by


def _note_victim(world: PreemptionState, cluster_queue: str, before: Workload, after: Workload) -> None:
    if _easier_to_preempt(before, after):
        world.quota.note_easier_victim(cluster_queue)
    elif _easier_to_preempt(after, before):
        world.quota.note_change(cluster_queue)  # Whoever waits for its room may not get it.


def _easier_to_preempt(before: Workload, after: Workload) -> bool:
    """Whether others may preempt it now that could not before (docs/rules/queues.md#class-changes)."""
    return after.priority < before.priority or (before.spec.never_preempt and not after.spec.never_preempt)


def _reclaim(world: PreemptionState, workload: Workload, counts: dict[str, int], position: LogPosition) -> None:
    if not enabled(world.settings, "ReclaimablePods"):
        return
    done, admission = dict(sorted(counts.items())), workload.admission
    if admission is not None:
        given_back = given_back_by(done, admission.done_before, admission.given_back)
        workload = replace(workload, admission=replace(admission, given_back=given_back))
    reclass(world, replace(workload, reclaimable=done, seen=position.sequence))
    recharge(world.holding, world.quota, world.trail, world.workloads[workload.key])


def leave(world: PreemptionState, workload: Workload) -> Workload:
    """Take the workload out of its queue and give back its quota and its preemption requests."""
    keep_no_domains(world, workload)
    world.lines.leave(world.trail, workload.line, workload.key)
    if workload.line:
        world.put_workload(replace(workload, line=""))
    end_request(world.requests, world.answered, world.trail, workload.key)
    end_claim(world.claims, world.quota, world.trail, workload.key)
    if workload.admission is not None:
        give_back(world, workload)
    if workload.provisioning:
        world.put_workload(replace(world.workloads[workload.key], provisioning={}))
    return world.workloads[workload.key]


def drop_workload(world: PreemptionState, key: str) -> None:
    """The workload is not decided here: nothing is known of it any more."""
    leave(world, world.workloads[key])
    _forget(world, world.workloads[key])


def _forget(world: PreemptionState, workload: Workload) -> None:
    unindex(world, workload)
    world.trail.drop(world.workloads, workload.key)
    world.trail.drop(world.second_passes, workload.key)
    world.trail.drop(world.rejected, workload.key)
    world.work.forget(workload.key)
    if workload.spec.elastic:
        world.trail.take(world.chains, chain_of(workload), workload.key)
    if its_object := object_of_parts(workload):
        world.trail.take(world.parts, its_object, workload.key)
    if workload.spec.variant_of:
        world.trail.take(world.variants, workload.spec.variant_of, workload.key)
        world.work.mark_dirty(workload.spec.variant_of)
