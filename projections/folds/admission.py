"""Folding who gets quota and who loses it: reserved, refused, admitted, preempted, evicted, released."""

from typing import TypeAlias, assert_never

from msgspec.structs import replace

from events.admission import (
    AdmissionRefused,
    PreemptionRequested,
    QuotaReserved,
    RequeueReason,
    SecondPassFailed,
    TopologyAssigned,
    UnhealthyNodesChanged,
    WorkloadAdmitted,
)
from events.event import Millis
from events.no_entries import no_entries
from events.preemption import PreemptionOrdered, PreemptionRefused, PreemptionWasted, RoomClaimed
from events.shared_specs import shared_assignments, shared_text
from events.workload import (
    CheckStatus,
    ConditionStatus,
    EvictionOrdered,
    QuotaReleased,
    WorkloadDeactivated,
)
from projections.devices.placement.gang import WAITING_FOR_CARDS
from projections.devices.placement.slice_cards import holds_too_many
from projections.feature_gates import enabled
from projections.flavors.considered import considered_text
from projections.folds.eviction import evicted, preempted
from projections.folds.held_domains import hold_domains, leave_domains
from projections.folds.local_queue import in_next_queue
from projections.log_position import LogPosition
from projections.preemption.claims import end_claim
from projections.preemption.protection_by_time import begin_protection
from projections.preemption.requested import answer_request, end_request, open_request
from projections.preemption.state import PreemptionState
from projections.queues.enqueue import remember_preemptor, requeue_refused
from projections.queues.order import put_in_line
from projections.queues.requeue_rule import comes_back
from projections.queues.retry import retry_refused
from projections.quota.charge_quota import charge_quota, release_quota
from projections.workloads.changed_part import changed_part
from projections.workloads.conditions import OBSERVABILITY, PENDING, not_admitted, without_quota
from projections.workloads.lifecycle import (
    ADMITTED,
    BLOCKED_ON_GATES,
    DEACTIVATION_TARGET,
    EVICTED,
    NEVER_PLACED_AGAIN,
    PREEMPTED,
    QUOTA_RESERVED,
    REQUEUED,
    Admission,
    Provisioning,
    SecondPass,
    Workload,
    condition_at,
    switched,
    true_condition,
    with_condition,
    without_conditions,
)
from projections.workloads.multikueue_check import check_of
from projections.workloads.pods import is_single_pod
from projections.workloads.pods_ready import waits_for_start
from projections.workloads.second_pass import delay_after
from projections.workloads.slices import slices_beside
from projections.workloads.stops import Requeue

AdmissionEvent: TypeAlias = (
    QuotaReserved
    | AdmissionRefused
    | PreemptionRequested
    | TopologyAssigned
    | SecondPassFailed
    | UnhealthyNodesChanged
    | WorkloadAdmitted
    | PreemptionOrdered
    | PreemptionRefused
    | RoomClaimed
    | PreemptionWasted
    | EvictionOrdered
    | WorkloadDeactivated
    | QuotaReleased
)

_TRIED = frozenset({"Misconfigured", "Suspended"})
"""Reasons that have a broader word of their own where they keep a workload from being tried at all."""


def evolve_admission(world: PreemptionState, event: AdmissionEvent, position: LogPosition) -> None:
    """Fold one decision about quota; a decision about a workload that is gone changes only the open requests."""
    match event:
        case PreemptionRefused():
            _end_request(world, event.preemptor)
        case RoomClaimed():
            world.trail.put(world.claims, event.preemptor, event)
            world.look_again(event.until)
        case PreemptionWasted():
            end_claim(world.claims, world.quota, world.trail, event.preemptor)
            _end_request(world, event.preemptor)
        case _:
            workload = world.workloads.get(event.workload)
            if workload is not None:
                _evolve_workload(world, workload, event, position)


def _evolve_workload(  # noqa: C901 - one case per event
    world: PreemptionState,
    workload: Workload,
    event: QuotaReserved
    | AdmissionRefused
    | PreemptionRequested
    | TopologyAssigned
    | SecondPassFailed
    | UnhealthyNodesChanged
    | WorkloadAdmitted
    | PreemptionOrdered
    | EvictionOrdered
    | WorkloadDeactivated
    | QuotaReleased,
    position: LogPosition,
) -> None:
    match event:
        case QuotaReserved():
            _reserve(world, workload, event, position)
        case AdmissionRefused():
            _refuse(world, workload, event, position)
        case PreemptionRequested():
            _request(world, workload, event, position)
        case TopologyAssigned():
            _assign_topology(world, workload, event, position)
        case SecondPassFailed():
            before = workload.second_pass
            failed = replace(
                before, failures=before.failures + 1, again_at=event.again_at, message=event.message, placed=0
            )
            workload = replace(workload, second_pass=failed, decided=position.sequence)
            world.put_workload(not_admitted(workload, world.settings, position))
        case UnhealthyNodesChanged():
            # What was tried before says nothing of these.
            again_at = position.at + delay_after(0) if event.nodes else 0
            again = SecondPass(placed=workload.second_pass.placed, unhealthy_nodes=event.nodes, again_at=again_at)
            world.put_workload(replace(workload, second_pass=again, decided=position.sequence))
        case WorkloadAdmitted():
            condition = true_condition(ADMITTED, "Admitted", "The workload is admitted", workload, position)
            workload = waits_for_start(with_condition(workload, condition), position)
            workload = replace(workload, decided=position.sequence, admitted_at=position.at)
            world.put_workload(workload)
            begin_protection(world, workload)
            _let_next_slice_try(world, workload)
        case PreemptionOrdered():
            answer_request(world.requests, world.answered, world.trail, event.preemptor, position.sequence)
            world.put_workload(preempted(world, event, workload, position))
        case EvictionOrdered():
            requeue = workload.stops.requeue
            if event.requeue_count is not None:
                requeue = Requeue(count=event.requeue_count, at=event.requeue_at)
            elif event.reason.startswith("Deactivated"):
                requeue = Requeue()
            workload = replace(workload, stops=changed_part(workload.stops, requeue=requeue))
            if event.reason == "Deactivated":
                workload = without_conditions(workload, DEACTIVATION_TARGET)
            workload = evicted(workload, event.reason, event.cause, event.message, position)
            if event.reason != "Deactivated":
                workload = not_admitted(workload, world.settings, position)
            world.put_workload(workload)
        case WorkloadDeactivated():
            condition = true_condition(DEACTIVATION_TARGET, event.cause, event.message, workload, position)
            world.put_workload(switched(with_condition(workload, condition), position, active=False))
        case QuotaReleased():
            _release(world, workload, event, position)
        case _:
            assert_never(event)


def _reserve(world: PreemptionState, workload: Workload, event: QuotaReserved, position: LogPosition) -> None:
    if workload.admission is not None:
        # The cards' partition may have read off the object what was decided, ahead of the decision.
        release_quota(world.quota, world.holding, world.trail, workload)
        workload = in_next_queue(world, workload)
    if workload.line:
        line = world.lines.of(workload.line)
        line.remove(world.trail, workload.key)
        line.forget_scan(world.trail)
    end_request(world.requests, world.answered, world.trail, workload.key)
    end_claim(world.claims, world.quota, world.trail, workload.key)
    message = shared_text(f"Quota reserved in ClusterQueue {event.cluster_queue}")
    workload = with_condition(workload, true_condition(QUOTA_RESERVED, QUOTA_RESERVED, message, workload, position))
    for kind in (EVICTED, PREEMPTED, BLOCKED_ON_GATES):
        old = workload.condition(kind)
        if old is not None and old.status is ConditionStatus.TRUE:
            over = condition_at(
                kind, ConditionStatus.FALSE, QUOTA_RESERVED, f"Previously: {old.message}", workload, position
            )
            workload = with_condition(workload, over)
    admission = Admission(
        cluster_queue=shared_text(event.cluster_queue),
        assignments=shared_assignments(event.assignments),
        reservation=position.sequence,
        reserved_at=position.at,
        required_checks=event.checks,
        borrow_level=event.borrow_level,
        considered=considered_text(event.considered),
        done_before=workload.reclaimable,
    )
    asked = {
        name: CheckStatus(name=name, since=position.at, decided=position.sequence)
        for name in event.checks
        if name not in workload.checks
    }
    checks = {**workload.checks, **asked} if asked else workload.checks
    workload = replace(
        workload,
        admission=admission,
        devices=None,
        checks=checks,
        attempt=None,
        line="",
        stops=changed_part(workload.stops, pods_gone=""),
        decided=position.sequence,
    )
    workload = not_admitted(workload, world.settings, position)
    world.put_workload(workload)
    charge_quota(world.quota, world.holding, world.trail, workload)
    hold_domains(world, workload, event.assignments)
    if event.placements:
        world.cards.propose(workload.key, position.sequence, event.placements)


def _assign_topology(
    world: PreemptionState, workload: Workload, event: TopologyAssigned, position: LogPosition
) -> None:
    if workload.admission is None or workload.finished:
        return
    hold_domains(world, workload, event.assignments)
    if event.placements:
        world.cards.propose(workload.key, workload.admission.reservation, event.placements)
    shrunk = workload.resizing.shrunk and holds_too_many(workload)
    world.put_workload(
        replace(
            workload,
            admission=replace(workload.admission, assignments=event.assignments),
            resizing=changed_part(workload.resizing, shrunk=shrunk),
            second_pass=SecondPass(placed=position.sequence) if workload.admitted else NEVER_PLACED_AGAIN,
            decided=position.sequence,
        )
    )


def _refuse(world: PreemptionState, workload: Workload, event: AdmissionRefused, position: LogPosition) -> None:
    # Without granular reasons an attempt that failed is pending, whatever it failed by.
    tried = not enabled(world.settings, OBSERVABILITY) and (
        event.requeue is RequeueReason.PREEMPTION_GATED or event.reason in _TRIED
    )
    changed = without_quota(workload, world.settings, "Pending" if tried else event.reason, event.message, position)
    attempt = event
    last = workload.attempt
    if isinstance(last, AdmissionRefused) and not event.attempts and last.message == event.message:
        # Recorded in short, because nothing about it had changed.
        attempt = replace(
            event,
            attempts=last.attempts,
            requests=last.requests,
            candidates=last.candidates,
            holders=last.holders,
        )
    if event.requeue is RequeueReason.PREEMPTION_GATED:
        changed = with_condition(
            changed, true_condition(BLOCKED_ON_GATES, "PreemptionGated", event.message, workload, position)
        )
    workload = replace(changed, attempt=attempt, decided=position.sequence, line=event.cluster_queue)
    world.put_workload(workload)
    end_request(world.requests, world.answered, world.trail, workload.key)
    if event.requeue is RequeueReason.NO_FIT and event.reason != WAITING_FOR_CARDS:
        # Cards come back a moment after the quota; for anything else the room that was claimed is of no use.
        end_claim(world.claims, world.quota, world.trail, workload.key)
    requeue_refused(world, workload, event)


def _end_request(world: PreemptionState, preemptor: str) -> None:
    """Nobody makes room for it after all, so it is decided about anew."""
    end_request(world.requests, world.answered, world.trail, preemptor)
    workload = world.workloads.get(preemptor)
    if workload is not None:
        world.quota.touch(workload.line)


def _let_next_slice_try(world: PreemptionState, workload: Workload) -> None:
    """A slice that runs elsewhere now was waited for by the one that is to take its place (docs/rules/elastic.md#waits)."""
    waited_for = workload.spec.elastic and check_of(world.checks, workload) and slices_beside(world, workload.key)[1:]
    if waited_for and workload.admission is not None:
        retry_refused(world.quota, world.lines, world.trail, workload.admission.cluster_queue)


def _let_those_elsewhere_try(world: PreemptionState, workload: Workload) -> None:
    """A slice or variant that holds quota in one ClusterQueue is waited for in another one to which its job was moved.

    Rules: docs/rules/elastic.md#waits, docs/rules/variants.md#migration
    """
    if workload.admission is None:
        return
    for key in (*slices_beside(world, workload.key), *sorted(world.variants.get(workload.spec.variant_of, ()))):
        other = world.workloads.get(key)
        if other is not None and other.line not in ("", workload.admission.cluster_queue):
            retry_refused(world.quota, world.lines, world.trail, other.line)


def _request(world: PreemptionState, workload: Workload, event: PreemptionRequested, position: LogPosition) -> None:
    changed = without_quota(workload, world.settings, "WaitingForPreemptedWorkloads", event.message, position)
    workload = replace(changed, attempt=event, decided=position.sequence, line=event.cluster_queue)
    world.put_workload(workload)
    open_request(world, event)
    world.lines.of(event.cluster_queue).forget_scan(world.trail)
    remember_preemptor(world, workload, event.cluster_queue)
    put_in_line(world, event.cluster_queue, workload)


def _asked_no_more(workload: Workload, position: LogPosition) -> dict[str, CheckStatus]:
    """The states of its checks without those of the autoscaler: nodes that were provisioned serve one reservation only."""
    over = {
        name: CheckStatus(
            name=name, since=position.at, decided=position.sequence, retries=workload.checks[name].retries
        )
        for name in workload.provisioning
        if name in workload.checks
    }
    return {**workload.checks, **over} if over else workload.checks


def _release(world: PreemptionState, workload: Workload, event: QuotaReleased, position: LogPosition) -> None:
    give_back(world, workload)
    before = workload
    workload = replace(
        in_next_queue(world, workload),
        admission=None,
        devices=None,
        attempt=None,
        second_pass=NEVER_PLACED_AGAIN,
        resizing=changed_part(workload.resizing, continues=False, shrunk=False),
        provisioning=no_entries(Provisioning),
        checks=_asked_no_more(workload, position),
        stops=changed_part(workload.stops, past_execution=workload.stops.past_execution + _ran(workload, position)),
        decided=position.sequence,
    )
    reason = event.reason if event.withdrawn else PENDING
    if workload.spec.variant_of:
        _share_time(world, workload, _ran(before, position))
    workload = waits_for_start(without_quota(workload, world.settings, reason, event.message, position), position)
    if not event.withdrawn:
        alone = is_single_pod(workload)
        status = ConditionStatus.TRUE if comes_back(event.reason, alone=alone) else ConditionStatus.FALSE
        condition = condition_at(REQUEUED, status, event.reason, event.message, workload, position)
        workload = with_condition(workload, condition)
    world.put_workload(workload)


def _share_time(world: PreemptionState, variant: Workload, ran: Millis) -> None:
    """What one variant has run its job has run, as whichever variant it runs next."""
    for key in sorted(world.variants.get(variant.spec.variant_of, ())):
        other = world.workloads[key]
        if ran and key != variant.key:
            stops = replace(other.stops, past_execution=other.stops.past_execution + ran)
            world.put_workload(replace(other, stops=stops))


def give_back(world: PreemptionState, workload: Workload) -> None:
    """Return what a workload holds by its admission: quota, domains, and the cards that were proposed for it."""
    leave_domains(world, workload)
    if release_quota(world.quota, world.holding, world.trail, workload):
        world.cards.note_leaving(workload.key)
    _let_those_elsewhere_try(world, workload)
    if workload.admission is not None:
        # Of cards that were only proposed the accountant may never hear: to him it was gone before it had quota.
        world.cards.withdraw(workload.key, workload.admission.reservation)


def _ran(workload: Workload, position: LogPosition) -> Millis:
    """How long it has run since it was admitted; nothing when its time was up, as then it starts anew."""
    admitted, over = workload.condition(ADMITTED), workload.condition(EVICTED)
    if admitted is None or admitted.status is not ConditionStatus.TRUE:
        return 0
    if over is not None and over.reason == "DeactivatedDueToMaximumExecutionTimeExceeded":
        return 0
    if workload.stops.deactivated_by > workload.stops.stopped_by and not workload.spec.variant_of:
        return 0  # Of who is evicted already a rule ends the time alone.
    return max(position.at - admitted.since, 0)
