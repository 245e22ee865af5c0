"""How far a workload has come, as far as it matters for what is counted next: the times from which waits are told."""

from collections.abc import Collection, Mapping

import msgspec
from msgspec.structs import replace

from events.event import Millis
from events.slices import WorkloadSliceSubmitted
from events.workload import Condition, ConditionStatus, DecidedElsewhere, EvictionCount, PriorityRef, WorkloadSubmitted
from projections.counters.gate_removals import waiting_members
from projections.workloads.decided_moments import DecidedMoments
from projections.workloads.lifecycle import (
    ADMITTED,
    EVICTED,
    FINISHED,
    PODS_READY,
    QUOTA_RESERVED,
    REQUEUED,
    Workload,
    moments,
)
from projections.workloads.pods import is_single_pod


class Course(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """How far one workload has come, which is kept until it is deleted."""

    local_queue: str
    """`namespace/name`."""
    next_queue: str = ""
    """The local queue in which it is once it has given its quota back, where that is another one (docs/rules/objects.md#immutable)."""
    uid: str = ""
    """Of the workload; empty where it was stored by a version that did not keep it."""
    priority_class: str = ""
    created_at: Millis = 0
    alone: bool = False
    """It is a pod that nothing makes anew."""
    grouped: bool = False
    """It is a group of pods."""
    cluster_queue: str = ""
    """Where it holds quota, held it last, or waits if it never did; empty before."""
    checked: bool = False
    """Whether it has any admission check."""
    requeued: tuple[bool, Millis] | None = None
    """Whether it may queue again after an eviction, and since when that is said."""
    reserved_at: Millis | None = None
    admitted_at: Millis | None = None
    """Of the attempt that runs."""
    first_admitted_at: Millis | None = None
    ready_at: Millis | None = None
    evicted: tuple[Millis, str] | None = None
    """Since when it has to stop, and why."""
    evictions: tuple[tuple[str, str], ...] = ()
    """Reasons and causes for which it was evicted at all."""
    nominated: tuple[str, ...] = ()
    """The other clusters in which the attempt that runs is tried."""
    finished: bool = False
    decided: DecidedMoments = DecidedMoments()
    waiting: tuple[str, ...] = ()
    """By UID its pods that wait at its gate, where it consists of pods."""
    discarded: int = 0
    """The sequence of the decision that its object goes."""

    @property
    def queued_at(self) -> Millis:
        """From when it waits: since it was created, or put back."""
        return self.created_at if self.requeued is None else self.requeued[1]


def local_queue_of(workload: str, queue: str) -> str:
    """The key of the local queue of that name for a workload."""
    return f"{workload.partition('/')[0]}/{queue}"


def class_of(named: PriorityRef | None) -> str:
    """The name of a priority class; empty without one."""
    return "" if named is None else named.name


def submitted(event: WorkloadSubmitted) -> Course:
    """A workload that was just told of, with what it brings along."""
    adopted = event.adopted
    return _course(
        Course(
            local_queue=local_queue_of(event.workload, event.spec.queue),
            uid=event.uid,
            priority_class=class_of(event.spec.priority_class),
            created_at=event.created_at,
            alone=event.owner is not None and event.owner.is_pod,
            grouped=bool(event.spec.members) and event.owner is not None and not event.owner.is_pod,
            waiting=waiting_members(event.spec),
            cluster_queue="" if adopted is None else adopted.cluster_queue,
            checked=adopted is not None and bool(adopted.checks),
        ),
        {} if adopted is None else {one.type: one for one in adopted.conditions},
        () if adopted is None else adopted.evictions,
    )


def sliced(event: WorkloadSliceSubmitted) -> Course:
    """A slice of an elastic job that was just made."""
    return Course(
        local_queue=local_queue_of(event.workload, event.spec.queue),
        uid=event.uid,
        priority_class=class_of(event.spec.priority_class),
        created_at=event.created_at,
    )


def course_of(workload: Workload) -> Course:
    """How far a workload of a world has come."""
    admission = workload.admission
    return _course(
        Course(
            local_queue=workload.local_queue,
            next_queue=""
            if workload.named_queue == workload.spec.queue
            else local_queue_of(workload.key, workload.named_queue),
            uid=workload.uid,
            priority_class=class_of(workload.spec.priority_class),
            created_at=workload.created_at,
            alone=is_single_pod(workload),
            grouped=bool(workload.spec.members) and workload.owner is not None and not workload.owner.is_pod,
            waiting=waiting_members(workload.spec),
            cluster_queue=workload.line if admission is None else admission.cluster_queue,
            checked=bool(workload.checks),
            decided=DecidedMoments(
                tuple(sorted(moments(workload))), last=workload.decided, written=workload.in_cluster.written
            ),
        ),
        workload.conditions,
        workload.stops.evictions,
    )


def taken_over(course: Course, told: DecidedElsewhere) -> Course:
    """A known workload after what another manager has decided about it; as it was where the log has said that itself."""
    status, decided = told.status, course.decided.second_of_others(told)
    if course.finished or not decided:
        return course
    queue = status.cluster_queue or course.cluster_queue
    checked = course.checked or bool(status.checks)
    found = msgspec.structs.replace(
        in_next_queue(course), cluster_queue=queue, checked=checked, decided=course.decided.taken_over(decided)
    )
    return _course(found, {one.type: one for one in status.conditions}, status.evictions)


def _course(course: Course, conditions: Mapping[str, Condition], evictions: Collection[EvictionCount]) -> Course:
    requeued, stopped = conditions.get(REQUEUED), conditions.get(EVICTED)
    admitted_at = _since(conditions, ADMITTED)
    return msgspec.structs.replace(
        course,
        requeued=None if requeued is None else (requeued.status is ConditionStatus.TRUE, requeued.since),
        reserved_at=_since(conditions, QUOTA_RESERVED),
        admitted_at=admitted_at,
        first_admitted_at=admitted_at,
        ready_at=_since(conditions, PODS_READY),
        # Of who was deactivated the condition names the cause along with the reason.
        evicted=None
        if stopped is None or not _true(stopped)
        else (stopped.since, stopped.reason.partition("DueTo")[0]),
        evictions=tuple((one.reason, one.cause) for one in evictions),
        finished=_since(conditions, FINISHED) is not None,
    )


def _true(condition: Condition) -> bool:
    return condition.status is ConditionStatus.TRUE


def _since(conditions: Mapping[str, Condition], kind: str) -> Millis | None:
    found = conditions.get(kind)
    return found.since if found is not None and _true(found) else None


def moved(course: Course, queue: str, *, at_once: bool) -> Course:
    """In the local queue that its job names by now, or to be there later."""
    if at_once:
        return course if queue == course.local_queue else replace(course, local_queue=queue)
    return replace(course, next_queue="" if queue == course.local_queue else queue)


def in_next_queue(course: Course) -> Course:
    """Without quota it is in the queue that its job names by now."""
    return replace(course, local_queue=course.next_queue, next_queue="") if course.next_queue else course


def requeued(course: Course, at: Millis, *, allowed: bool) -> Course:
    """Told again, it counts from when it was told first, as the time of a condition that has not changed."""
    before = course.requeued
    return course if before is not None and before[0] is allowed else replace(course, requeued=(allowed, at))


def name_and_namespace(course: Course) -> tuple[str, str]:
    """Name and namespace of a local queue, in the order of Kueue's labels."""
    namespace, _, name = course.local_queue.partition("/")
    return name, namespace
