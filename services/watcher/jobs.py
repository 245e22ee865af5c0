"""Jobs and Workload objects as what they ask for and how they stand."""

import hashlib
from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from events.api.jobs import ApiJob
from events.api.kueue import ApiWorkload
from events.api.meta import ObjectMeta
from events.pod_set import PodSet
from events.quota import PriorityClassObserved
from events.timestamp import parse_timestamp
from events.workload import (
    AdoptedStatus,
    CheckState,
    CheckStatus,
    Condition,
    ConditionStatus,
    Owner,
    PodSetAssignment,
    PriorityRef,
    WorkloadSpec,
)
from services.watcher.cluster_objects import created_at, read
from services.watcher.pod_shapes import pod_shape
from services.watcher.problems import Refused, problem
from services.watcher.quantities import amounts

QUEUE = "kueue.x-k8s.io/queue-name"
PRIORITY = "kueue.x-k8s.io/priority-class"
MAX_EXEC = "kueue.x-k8s.io/max-exec-time-seconds"
MIN_PARALLELISM = "kueue.x-k8s.io/job-min-parallelism"
GATED_BY = "kueue.x-k8s.io/admission-gated-by"
PRIORITY_BOOST = "kueue.x-k8s.io/priority-boost"
JOB_UID = "kueue.x-k8s.io/job-uid"
NEVER_PREEMPT = "kuelog.io/never-preempt"
DECISION = "kuelog.io/decision"
_NAME_LIMIT = 63


class Surroundings(Protocol):
    """What a job's meaning depends on besides itself."""

    @property
    def priority_classes(self) -> Mapping[str, PriorityClassObserved]:
        """The classes of both kinds, by `kind/name`."""
        ...

    def has_local_queue(self, namespace: str, name: str) -> bool:
        """Whether there is such a local queue."""
        ...


class JobState(msgspec.Struct, frozen=True, kw_only=True):
    """How a job stands, in the words of the facts."""

    workload: str
    uid: str
    owner: Owner | None
    created_at: int
    spec: WorkloadSpec
    started: bool = False
    """It carries our decision: its template may hold what we injected."""
    ready: bool | None = None
    gone: str | None = None
    reclaimed: dict[str, int] = {}
    finished: tuple[str, str] | None = None
    adopted: AdoptedStatus | None = None
    checks: tuple[CheckStatus, ...] = ()


def job_state(value: dict[str, Any], around: Surroundings) -> JobState | None:
    """A batch Job; None when no queue is meant to manage it. Raises `Refused`."""
    found = read(value, ApiJob)
    meta, spec, status = found.metadata, found.spec, found.status
    labels, annotations = meta.labels or {}, meta.annotations or {}
    queue = queue_name(meta, around)
    if not queue:
        return None
    parallelism = 1 if spec.parallelism is None else spec.parallelism
    count = parallelism if spec.completions is None else min(parallelism, spec.completions)
    priority, reference = _priority(meta, spec.template.spec.priority_class_name, around)
    pod_set = PodSet(
        name="main",
        count=count,
        minimum=_number(annotations, MIN_PARALLELISM, "metadata.annotations"),
        shape=pod_shape(spec.template, "spec.template"),
    )
    seconds = _number(labels, MAX_EXEC, "metadata.labels")
    conditions = {one.type: one for one in status.conditions or ()}
    suspended = "Suspended" in conditions and conditions["Suspended"].status == "True"
    decision = annotations.get(DECISION, "")
    gone = spec.suspend and suspended and decision and status.active == 0 and status.terminating == 0
    finished = next(
        (
            ("Succeeded" if kind == "Complete" else "Failed", conditions[kind].message)
            for kind in ("Complete", "Failed")
            if kind in conditions and conditions[kind].status == "True"
        ),
        None,
    )
    left = count if spec.completions is None else max(spec.completions - status.succeeded, 0)
    return JobState(
        workload=f"{meta.namespace}/{workload_name('Job', 'batch', meta.name, meta.uid)}",
        uid=meta.uid,
        owner=Owner(kind="Job", name=meta.name, uid=meta.uid),
        created_at=created_at(meta),
        spec=WorkloadSpec(
            queue=queue,
            pod_sets=(pod_set,),
            priority=priority,
            priority_class=reference,
            max_execution=None if seconds is None else seconds * 1000,
            gated_by=tuple(one.strip() for one in annotations.get(GATED_BY, "").split(",") if one.strip()),
            never_preempt="true" in (labels.get(NEVER_PREEMPT), annotations.get(NEVER_PREEMPT)),
        ),
        started=bool(decision),
        ready=None if spec.suspend else status.succeeded + status.ready >= count,
        gone=decision if gone else None,
        reclaimed={"main": count - left} if left < count and not spec.suspend and finished is None else {},
        finished=finished,
    )


def belongs_to_job(value: dict[str, Any]) -> bool:
    """Whether a job stands behind a Workload object: then the job is what is watched."""
    meta = value.get("metadata") or {}
    return bool(meta.get("ownerReferences")) or JOB_UID in (meta.get("labels") or {})


def workload_state(value: dict[str, Any]) -> JobState:
    """A Workload object and how it stands. Raises `Refused`."""
    found = read(value, ApiWorkload)
    meta, spec = found.metadata, found.spec
    reference = spec.priority_class_ref
    return JobState(
        workload=f"{meta.namespace}/{meta.name}",
        uid=meta.uid,
        owner=_owner(meta),
        created_at=created_at(meta),
        spec=WorkloadSpec(
            queue=spec.queue_name,
            pod_sets=tuple(
                PodSet(
                    name=one.name,
                    count=one.count,
                    minimum=one.min_count,
                    shape=pod_shape(one.template, f"spec.podSets[{index}].template"),
                )
                for index, one in enumerate(spec.pod_sets)
            ),
            priority=spec.priority or 0,
            priority_class=None
            if reference is None
            else PriorityRef(name=reference.name, workload=reference.kind == "WorkloadPriorityClass"),
            active=spec.active,
            priority_boost=_boost(meta),
            max_execution=None
            if spec.maximum_execution_time_seconds is None
            else spec.maximum_execution_time_seconds * 1000,
        ),
        started=True,
        finished=next(
            (
                (one.reason, one.message)
                for one in found.status.conditions or ()
                if (one.type, one.status) == ("Finished", "True")
            ),
            None,
        ),
        adopted=_adopted(found),
        checks=_checks(found),
    )


def _boost(meta: ObjectMeta) -> int:
    text = (meta.annotations or {}).get(PRIORITY_BOOST, "0")
    try:
        return int(text)
    except ValueError as bad:
        field = f"metadata.annotations[{PRIORITY_BOOST}]"
        raise Refused([problem(field, f"{text!r} is not a whole number", "e.g. -10 or 150")]) from bad


def _owner(meta: ObjectMeta) -> Owner | None:
    uid = (meta.labels or {}).get(JOB_UID, "")
    return Owner(kind="Job", name=meta.name, uid=uid) if uid else None


def queue_name(meta: ObjectMeta, around: Surroundings) -> str:
    """The local queue that a job names, by label or by the old annotation, or the namespace's default one."""
    named = (meta.labels or {}).get(QUEUE) or (meta.annotations or {}).get(QUEUE, "")
    if named:
        return named
    return "default" if around.has_local_queue(meta.namespace, "default") else ""


def workload_name(kind: str, group: str, name: str, uid: str) -> str:
    """The name of the Workload for a job (kueue-apis §6)."""
    digest = hashlib.sha1(f"{kind}\n{group}\n{name}\n{uid}".encode(), usedforsecurity=False).hexdigest()[:5]
    return f"{f'{kind.lower()}-{name}'[: _NAME_LIMIT - 6]}-{digest}"


def _priority(meta: ObjectMeta, pod_class: str | None, around: Surroundings) -> tuple[int, PriorityRef | None]:
    named = (meta.labels or {}).get(PRIORITY, "")
    for name, workload in ((named, True), (pod_class or "", False)):
        if not name:
            continue
        kind = "WorkloadPriorityClass" if workload else "PriorityClass"
        found = around.priority_classes.get(f"{kind}/{name}")
        if found is None:
            field = f"metadata.labels[{PRIORITY}]" if workload else "spec.template.spec.priorityClassName"
            raise Refused(
                [problem(field, f"{kind} {name} doesn't exist", f"create it, or name one of {_names(around, kind)}")]
            )
        return found.value, PriorityRef(name=name, workload=workload)
    default = next(
        (
            one
            for key, one in sorted(around.priority_classes.items())
            if key.startswith("PriorityClass/") and one.default
        ),
        None,
    )
    return (0, None) if default is None else (default.value, PriorityRef(name=default.name, workload=False))


def _names(around: Surroundings, kind: str) -> str:
    names = [one.name for key, one in sorted(around.priority_classes.items()) if key.startswith(f"{kind}/")]
    return ", ".join(names) or "none that is there"


def _number(found: Mapping[str, str], name: str, where: str) -> int | None:
    text = found.get(name)
    if text is None:
        return None
    if not text.isdigit() or int(text) < 1:
        raise Refused([problem(f"{where}[{name}]", f"{text!r} is not a whole number of at least 1", "e.g. 3600")])
    return int(text)


def _adopted(found: ApiWorkload) -> AdoptedStatus | None:
    status = found.status
    if not status.conditions and status.admission is None:
        return None
    admission = status.admission
    counts = {one.name: one.count for one in found.spec.pod_sets}
    requeue = status.requeue_state
    return AdoptedStatus(
        conditions=tuple(
            Condition(
                type=one.type,
                status=ConditionStatus(one.status),
                reason=one.reason,
                message=one.message,
                since=parse_timestamp(one.last_transition_time) if one.last_transition_time else 0,
                generation=one.observed_generation,
            )
            for one in status.conditions or ()
        ),
        cluster_queue=admission.cluster_queue if admission else "",
        assignments=tuple(
            PodSetAssignment(
                name=one.name,
                count=counts.get(one.name, 0) if one.count is None else one.count,
                flavors=dict(sorted((one.flavors or {}).items())),
                usage=amounts(one.resource_usage, "status.admission.podSetAssignments.resourceUsage"),
            )
            for one in (admission.pod_set_assignments if admission else ())
        ),
        checks=_checks(found),
        reclaimable={one.name: one.count for one in status.reclaimable_pods or ()},
        requeue_count=(requeue.count or 0) if requeue else 0,
        requeue_at=parse_timestamp(requeue.requeue_at) if requeue and requeue.requeue_at else None,
        past_execution=(status.accumulated_past_execution_time_seconds or 0) * 1000,
    )


def _checks(found: ApiWorkload) -> tuple[CheckStatus, ...]:
    return tuple(
        CheckStatus(
            name=one.name,
            state=CheckState(one.state),
            message=one.message,
            since=parse_timestamp(one.last_transition_time) if one.last_transition_time else 0,
            requeue_after=None if one.requeue_after_seconds is None else one.requeue_after_seconds * 1000,
            retries=one.retry_count or 0,
        )
        for one in found.status.admission_checks or ()
    )
