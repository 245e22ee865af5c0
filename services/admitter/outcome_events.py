"""The events for an entry that did not get quota: written once, and again only when the answer differs.

Rule: docs/rules/cycle.md#outcome
"""

from collections.abc import Iterable

from msgspec.structs import replace

from events.admission import (
    AdmissionRefused,
    FlavorAttempt,
    Mode,
    PreemptionRequested,
    RequeueReason,
    Victim,
)
from events.workload import PodSetAssignment
from projections.flavors.assignment import Assignment
from projections.flavors.scan import comes_round, only_time_passed, went_through_all
from projections.preemption.candidates import Candidate
from projections.preemption.considered import ConsideredHolders, considered
from projections.preemption.requested import ANY_ADMISSION
from projections.preemption.state import PreemptionState
from projections.queues.pending_queues import ScanProgress
from projections.queues.requeue_rule import stays_in_line
from projections.queues.state import QueueState
from projections.quota.tree import QuotaTree
from projections.workloads.lifecycle import QUOTA_RESERVED
from services.admitter.block_admission import WAITING_FOR_PODS_READY
from services.admitter.entry import AdmissionEntry, needed_by, preemption_context_of

_ANEW = frozenset(
    {
        RequeueReason.FAILED_AFTER_NOMINATION,
        RequeueReason.PENDING_PREEMPTION,
        RequeueReason.PENDING_MIGRATION,
        RequeueReason.PREEMPTION_GATED,
    }
)
"""Refusals after which the search for flavors starts anew."""


def request_event(world: PreemptionState, entry: AdmissionEntry) -> PreemptionRequested | None:
    """The preemption request of an entry; None when the same one is open already."""
    if entry.assignment is None:
        return None
    victims = tuple(_as_victim(victim) for victim in entry.victims)
    assignments = entry.assignment.assignments()
    last = world.requests.get(entry.workload.key)
    if last is not None and last.assignments == assignments and _admissions(last.victims) >= _admissions(victims):
        return None
    looked_at = _considered(world, entry)
    return PreemptionRequested(
        workload=entry.workload.key,
        cluster_queue=entry.queue.name,
        assignments=assignments,
        victims=victims,
        message=f"{entry.assignment.message}. Pending the preemption of {len(victims)} workload(s)",
        attempts=_with_holders(world.quota, entry, entry.assignment.attempts),
        borrow_level=entry.borrow,
        candidates=looked_at.candidates,
        holders=looked_at.holders,
        recomputed=entry.recomputed,
    )


def _as_victim(candidate: Candidate) -> Victim:
    admission = candidate.workload.admission
    return Victim(
        workload=candidate.workload.key,
        reason=candidate.reason,
        admission=admission.reservation if admission is not None else ANY_ADMISSION,
    )


def _admissions(victims: Iterable[Victim]) -> set[tuple[str, int]]:
    return {(victim.workload, victim.admission) for victim in victims}


def refusal_event(world: QueueState, entry: AdmissionEntry, *, reason: str, message: str) -> AdmissionRefused | None:
    """The refusal of an entry, by default with its own reason and message; None when the same is on record already."""
    own_reason, own_message = entry.refusal()
    reason, message = reason or own_reason, message or own_message
    last = entry.workload.attempt
    kind = entry.head.parked_as
    progress = _progress(world, entry)
    if (
        kind
        and not progress
        and entry.requeue is RequeueReason.FAILED_AFTER_NOMINATION
        and reason != WAITING_FOR_PODS_READY
    ):
        return None  # Another entry took its room. It is tried again at once, and then gets its own reason.
    if progress and went_through_all(world.lines, world.quota, entry.workload, entry.queue.name):
        return None
    if isinstance(last, AdmissionRefused) and (last.reason, last.requeue) == (reason, entry.requeue):
        if kind and not progress:
            return None
        if last.message == message and not _asks_for_others(entry, last):
            if (
                entry.skipped == last.skipped
                and _is_shown(entry, message)
                and progress == last.progress
                and stays_in_line(entry.queue, entry.requeue, progress)
            ):
                return None
            return replace(_brief(entry, reason, message), progress=progress)
    event = _brief(entry, reason, message)
    if entry.assignment is None:
        return event
    blocked = entry.requeue is RequeueReason.PREEMPTION_NO_CANDIDATES
    looked_at = _considered(world, entry) if blocked else ConsideredHolders()
    return replace(
        event,
        candidates=looked_at.candidates,
        holders=looked_at.holders,
        attempts=_with_holders(world.quota, entry, entry.assignment.attempts),
        requests=_requests(entry.assignment),
        progress=progress,
    )


def _is_shown(entry: AdmissionEntry, message: str) -> bool:
    """Whether the object says why it waits; where it was held back by something else meanwhile it says that."""
    shown = entry.workload.condition(QUOTA_RESERVED)
    return shown is not None and shown.message == message


def _asks_for_others(entry: AdmissionEntry, last: AdmissionRefused) -> bool:
    """Whether it was tried with other requests than it was when it was refused, as far as these are on record."""
    return entry.assignment is not None and bool(last.requests) and last.requests != _requests(entry.assignment)


def _requests(assignment: Assignment) -> tuple[PodSetAssignment, ...]:
    return tuple(
        PodSetAssignment(name=one.name, count=one.count, usage=dict(sorted(one.requests.items())))
        for one in assignment.pod_sets
    )


def _progress(world: QueueState, entry: AdmissionEntry) -> ScanProgress:
    """The flavor to go on with, by pod set and resource; empty for one that starts anew.

    It waits for victims or a gate, has lost its room to another entry of the cycle, has come round, or was tried on all of them at once.

    Rules: docs/rules/cycle.md#waits-for-victims, docs/rules/flavors.md#scan-progress
    """
    if entry.requeue in _ANEW or only_time_passed(world, entry.queue.name, entry.head.parked_as):
        return ()
    return () if comes_round(world, entry.workload, entry.queue.name, entry.come_to) else entry.come_to


def _considered(world: QueueState, entry: AdmissionEntry) -> ConsideredHolders:
    if entry.assignment is None or entry.node is None:
        return ConsideredHolders()
    context = preemption_context_of(entry, entry.at, entry.assignment.usage, needed_by(world.quota, entry.assignment))
    return considered(world, context, [victim.workload.key for victim in entry.victims])


def _brief(entry: AdmissionEntry, reason: str, message: str) -> AdmissionRefused:
    return AdmissionRefused(
        workload=entry.workload.key,
        cluster_queue=entry.queue.name,
        requeue=entry.requeue,
        reason=reason,
        message=message,
        skipped=entry.skipped,
        recomputed=entry.recomputed,
    )


def _with_holders(quota: QuotaTree, entry: AdmissionEntry, attempts: list[FlavorAttempt]) -> tuple[FlavorAttempt, ...]:
    """The attempts, each that does not fit with the borrowers that hold what is missing."""
    attempts_with_holders: list[FlavorAttempt] = []
    for attempt in attempts:
        column = quota.columns.known(attempt.flavor, attempt.resource)
        if attempt.mode is Mode.FIT or column is None or entry.node is None:
            attempts_with_holders.append(attempt)
        else:
            attempts_with_holders.append(
                replace(attempt, holders=tuple(one.name for one in entry.node.borrowers(column)))
            )
    return tuple(attempts_with_holders)
