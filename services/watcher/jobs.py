"""Jobs as what they ask for and how they stand."""

import hashlib
from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from events.api.jobs import ApiJob
from events.api.meta import ObjectMeta
from events.pod_set import PodSet
from events.quota import PriorityClassObserved
from events.workload import AdoptedStatus, CheckStatus, Owner, PriorityRef, WorkloadSpec
from services.watcher.cluster_objects import created_at, read
from services.watcher.pod_shapes import pod_shape
from services.watcher.problems import Refused, problem

QUEUE = "kueue.x-k8s.io/queue-name"
PRIORITY = "kueue.x-k8s.io/priority-class"
MAX_EXEC = "kueue.x-k8s.io/max-exec-time-seconds"
MIN_PARALLELISM = "kueue.x-k8s.io/job-min-parallelism"
GATED_BY = "kueue.x-k8s.io/admission-gated-by"
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
            gated_by=names_in(meta, GATED_BY),
            never_preempt="true" in (labels.get(NEVER_PREEMPT), annotations.get(NEVER_PREEMPT)),
        ),
        started=bool(decision),
        ready=None if spec.suspend else status.succeeded + status.ready >= count,
        gone=decision if gone else None,
        reclaimed={"main": count - left} if left < count and not spec.suspend and finished is None else {},
        finished=finished,
    )


def names_in(meta: ObjectMeta, annotation: str) -> tuple[str, ...]:
    """The names that an annotation lists with commas."""
    return tuple(one.strip() for one in (meta.annotations or {}).get(annotation, "").split(",") if one.strip())


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
