"""The Events that Kueue records on workloads and jobs, beside those that the log itself holds as news; pure.

They are derived from the workload as it is when it is written: an Event that was missed is not recorded later.
"""

from collections.abc import Iterable, Iterator

from events.event import Millis
from events.workload import CheckState, Condition, ConditionStatus, Member, MemberState
from projections.workloads.conditions import GATED, GATED_BY, PENDING
from projections.workloads.in_cluster import News
from projections.workloads.lifecycle import EVICTED, QUOTA_RESERVED, REQUEUED, Workload
from projections.workloads.slices import is_replaced
from services.applier.events.cluster_events import ClusterEvent, job_event
from services.applier.manifests import NOT_ADMITTED

_UNTOLD = frozenset({PENDING, "Pending", GATED})
"""Why a workload has no quota, where there is nothing to say until it is tried or the log has news of it."""


def workload_events(workload: Workload) -> Iterator[News]:
    """The Events of a workload for the decisions after `workload.applied`."""
    before, admission = workload.applied, workload.admission
    if admission is not None and admission.reservation > before:
        waited = _seconds(admission.reserved_at - _queued_at(workload))
        message = f"Quota reserved in ClusterQueue {admission.cluster_queue}, wait time since queued was {waited}s"
        if admission.considered:
            message = f"{message}; Flavors considered: {admission.considered}"
        yield News(sequence=admission.reservation, at=admission.reserved_at, reason=QUOTA_RESERVED, message=message)
    runs = workload.admitted and not workload.evicted and not is_replaced(workload)
    if admission is not None and runs and _admitted_since(workload, before):
        at = workload.admitted_at or admission.reserved_at
        waited = _seconds(at - admission.reserved_at)
        message = f"Admitted by ClusterQueue {admission.cluster_queue}, wait time since reservation was {waited}s"
        yield News(sequence=admission.reservation, at=at, reason="Admitted", message=message)
    yield from _pending(workload)
    yield from _second_pass_failed(workload)


def _admitted_since(workload: Workload, before: int) -> bool:
    """Whether it was admitted later: pods that were only given another node are no news."""
    return workload.decided > before and workload.decided != workload.second_pass.placed


def _second_pass_failed(workload: Workload) -> Iterator[News]:
    failed = workload.second_pass
    if failed.message and not workload.evicted and workload.decided > workload.applied:
        yield News(
            sequence=workload.decided,
            at=failed.again_at,
            reason="SecondPassFailed",
            message=failed.message,
            warning=True,
        )


def _pending(workload: Workload) -> Iterator[News]:
    """Why it has to wait: each reason once in a time of waiting, for its words change with every attempt."""
    condition = workload.condition(QUOTA_RESERVED)
    if condition is None or condition.status is not ConditionStatus.FALSE or workload.decided <= workload.applied:
        return
    tried = workload.attempt is not None or condition.reason not in _UNTOLD
    if tried and not _told_otherwise(condition) and not workload.finished and not workload.in_cluster.discarded:
        yield News(
            sequence=condition.since,
            at=condition.since,
            reason=condition.reason,
            message=condition.message,
            warning=True,
        )


def _told_otherwise(condition: Condition) -> bool:
    """Whether an Event of another kind says so, or Kueue has none for it: that somebody set it inactive, or gave it an admission gate.

    Rule: docs/rules/eviction.md#deactivation
    """
    return condition.reason == "Deactivated" or (condition.reason == GATED and condition.message.startswith(GATED_BY))


def created(workload: Workload, at: Millis) -> Iterator[ClusterEvent]:
    """The Workload object was made for its job."""
    yield from _of_job(workload, workload.key, at, "CreatedWorkload", f"Created Workload: {workload.key}")


def updated(workload: Workload, changes: Iterable[str], at: Millis) -> Iterator[ClusterEvent]:
    """The Workload object was brought to what its job asks for now: these changes, in words."""
    for message in changes:
        yield from _of_job(workload, f"{workload.decided}/{message}", at, "UpdatedWorkload", message)


def checks_told(workload: Workload, at: Millis) -> Iterator[ClusterEvent]:
    """What the checks say that a job waits for whose workload has quota, each wording once."""
    if workload.admission is None or workload.admitted:
        return
    pending = (one for _, one in sorted(workload.checks.items()) if one.state is CheckState.PENDING and one.message)
    message = "; ".join(f"{one.name}: {one.message}" for one in pending)
    if message:
        yield from _of_job(workload, message, at, "UpdatedAdmissionCheck", message)


def started(workload: Workload, pods: tuple[str, ...], at: Millis) -> Iterator[ClusterEvent]:
    """The job was started, or the gates of these of its pods were opened."""
    if workload.admission is None or workload.owner is None:
        return
    identity, message = (
        str(workload.admission.reservation),
        f"Admitted by clusterQueue {workload.admission.cluster_queue}",
    )
    members = [one for one in workload.spec.members if one.name in pods] if pods else [None]
    for one in members:
        yield job_event(workload.namespace, workload.owner, identity, at, "Started", message, member=one)


def stopped(workload: Workload, at: Millis) -> Iterator[ClusterEvent]:
    """The job was suspended, or its pods have to end: because it was evicted, or because it was never admitted."""
    evicted = workload.condition(EVICTED) if workload.evicted else None
    message = evicted.message if evicted is not None else NOT_ADMITTED
    yield from _of_job(workload, str(workload.stops.stopped_by), at, "Stopped", message)


def finished(workload: Workload, at: Millis) -> Iterator[ClusterEvent]:
    """The Workload says that its job has ended; one that is replaced by the next slice of it does not."""
    if is_replaced(workload):
        return
    message = f"Workload '{workload.key}' is declared finished"
    yield from _of_job(workload, workload.uid, at, "FinishedWorkload", message)


def deleted(workload: Workload, at: Millis) -> Iterator[ClusterEvent]:
    """The job of a workload that a rule has deactivated was retained long enough."""
    yield from _of_job(workload, workload.uid, at, "Deleted", "Deleted job: deactivation retention period expired")


def _of_job(workload: Workload, identity: str, at: Millis, reason: str, message: str) -> Iterator[ClusterEvent]:
    """On the job; where pods are a group and nothing else is there, on the first of them."""
    owner = workload.owner
    if owner is None:
        return
    member: Member | None = None
    if owner.kind == "PodGroup":
        alive = [one for one in workload.spec.members if one.state is not MemberState.OVER] or workload.spec.members
        if not alive:
            return
        member = alive[0]
    yield job_event(workload.namespace, owner, identity, at, reason, message, member=member)


def _queued_at(workload: Workload) -> Millis:
    """Since when it could have been admitted: its creation, or the end of its back-off after an eviction."""
    again = workload.condition(REQUEUED)
    return again.since if again is not None and again.status is ConditionStatus.TRUE else workload.created_at


def _seconds(duration: Millis) -> int:
    return (duration + 500) // 1000
