"""Jobs as facts: what they request, and their status."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from events.api.labels import (
    ADMISSION_GATED_BY,
    DECISION,
    ELASTIC_JOB,
    MAX_EXEC_TIME_SECONDS,
    NEVER_PREEMPT,
    PREBUILT_WORKLOAD_NAME,
    PRIORITY_CLASS,
    QUEUE_NAME,
    USER,
)
from events.api.meta import ApiStruct, ObjectMeta
from events.api.pods import PodTemplate
from events.catalogue import Fact
from events.control import ObjectProblem
from events.job_kind import JobKind
from events.json_object import JsonMapping, JsonObject
from events.json_path import FieldBroken, dotted, look
from events.pod_set import PodSet
from events.quota import PriorityClassObserved
from events.settings import SettingsObserved
from events.whole_number import whole_number
from events.workload import AdoptedStatus, CheckStatus, Owner, PriorityRef, WorkloadSpec, WorkloadSubmitted
from services.jobs.default_queue import DEFAULT_QUEUE
from services.jobs.job_status import finished_of, is_on_hold, is_stopped, is_suspended, ready_of, reclaimable_of
from services.jobs.kinds.elastic import may_be_elastic
from services.jobs.kinds.managed_by import managed_by_path
from services.jobs.kinds.managed_kinds import Kinds
from services.jobs.kinds.pod_readers import pods_of
from services.jobs.kinds.ray import CLUSTER, autoscaled_cluster
from services.jobs.kinds.table import POD, TRAIN_JOB
from services.jobs.kinds.train_job import is_patched
from services.jobs.pod_sets.pod_set import Pods
from services.jobs.start_stop import holds_injection
from services.jobs.topology.topology_request import topology_request
from services.jobs.workload_name import workload_name
from services.provisioning_kinds import PARAMETERS
from services.validation.fields.names import why_no_dns_label, why_no_subdomain
from services.validation.unsupported import asked_in
from services.watcher.fields.object_reading import created_at, read
from services.watcher.fields.pod_shapes import pod_shape
from services.watcher.fields.problems import Refused, problem, refusal


class Surroundings(Protocol):
    """What a job's meaning depends on besides itself."""

    @property
    def priority_classes(self) -> Mapping[str, PriorityClassObserved]:
        """The classes of both kinds, by `kind/name`."""
        ...

    @property
    def settings(self) -> SettingsObserved:
        """The settings in force, which say what is managed."""
        ...

    @property
    def kinds(self) -> Kinds:
        """The kinds of jobs and serving objects that are managed."""
        ...

    @property
    def copied_labels(self) -> tuple[str, ...]:
        """Labels of a job that its Workload gets as well."""
        ...

    def goes_with_owner(self, meta: ObjectMeta) -> bool:
        """Whether a job that is managed itself owns this one, and starts and stops it."""
        ...

    def owned_by_job(self, meta: ObjectMeta) -> bool:
        """Whether a job of a managed kind owns it, managed or not."""
        ...


class JobState(msgspec.Struct, frozen=True, kw_only=True):
    """A job's requests and status, in the terms of facts."""

    workload: str
    uid: str
    owner: Owner | None
    created_at: int
    spec: WorkloadSpec
    sized: bool = True
    """How many pods it wants is known; not while the RayCluster that says so was not seen."""
    started: bool = False
    """Its template may hold what we injected."""
    marked: bool = False
    """It carries our decision."""
    mark: str = ""
    """The decision that it carries, where it is a job."""
    running: int = 0
    """The generation in which it is not suspended; 0 while it is, or where nothing suspends it."""
    ready: bool | None = None
    gone: str | None = None
    reclaimed: dict[str, int] = {}
    """By pod set, how many pods are done."""
    stands_still: bool = False
    """Nothing of it runs, so that fewer pods may be done than before: those that were are made again."""
    finished: tuple[str, str] | None = None
    adopted: AdoptedStatus | None = None
    checks: tuple[CheckStatus, ...] = ()
    decision: str = ""
    """What its Workload object showed when its checks stood so, as `partition/sequence`."""
    prebuilt: bool = False
    """It is a job that names its Workload, which was made before it."""
    anew: bool = False
    """It replaces another object that was reported under its name before."""
    problems: tuple[ObjectProblem, ...] = ()
    """What can't be understood of what it asks for; then `spec` is what was understood last."""


def submitted(state: JobState, marks: tuple[str, ...]) -> WorkloadSubmitted:
    """The fact that a workload is there that was not before; `marks` are decisions of another log that its objects bear."""
    return WorkloadSubmitted(
        workload=state.workload,
        uid=state.uid,
        owner=state.owner,
        created_at=state.created_at,
        spec=state.spec,
        adopted=state.adopted,
        marks=marks,
    )


def not_understood(kind: str, job: JsonMapping, state: JobState | None) -> list[Fact]:
    """The fact that a job is refused of which something can't be understood by now; none where all is."""
    return [] if state is None or not state.problems else [refusal(kind, job, Refused(state.problems))]


def job_state(value: JsonObject, around: Surroundings, kind: JobKind, last: WorkloadSpec | None) -> JobState | None:
    """The state of a job of any kind; None when no queue manages it, or when its pods are not known yet.

    Of one that was reported `last` is what it asked for: what can't be understood of it by now does not hide that it ends.
    Raises `Refused`.
    """
    meta = read(value, _Headed).metadata
    queue = _queue_name(meta, last)
    named = queue or (around.kinds.takes_all and not around.owned_by_job(meta))
    if not named or around.goes_with_owner(meta):
        return None
    try:
        pods = _as_reported(pods_of(kind, value), last)
        # What says the pods of a TrainJob may be seen after it, or gone before it: what was reported goes on.
        known = pods or (kind is TRAIN_JOB and last is not None)
        return _state(value, meta, queue, around, kind, pods, last) if known else None
    except FieldBroken as broken:
        raise Refused([problem(broken.field, broken.message, broken.instead)]) from broken


def _as_reported(pods: list[Pods], last: WorkloadSpec | None) -> list[Pods]:
    """Pods by the names under which they were reported."""
    names = {one.name for one in last.pod_sets} if last is not None else set[str]()
    return [msgspec.structs.replace(one, name=one.known_as(names)) for one in pods]


class _Headed(ApiStruct, frozen=True, kw_only=True):
    """Any object, as far as its metadata."""

    metadata: ObjectMeta


def _state(
    value: JsonObject,
    meta: ObjectMeta,
    queue: str,
    around: Surroundings,
    kind: JobKind,
    pods: Sequence[Pods],
    last: WorkloadSpec | None,
) -> JobState:
    labels, annotations = meta.labels or {}, meta.annotations or {}
    problems: tuple[ObjectProblem, ...] = ()
    try:
        spec = last if last is not None and not pods else _asked(value, meta, queue, around, kind, pods, last)
    except (Refused, FieldBroken) as bad:
        if last is None:
            raise
        told = bad.problems if isinstance(bad, Refused) else (problem(bad.field, bad.message, bad.instead),)
        spec, problems = last, told
    decision = annotations.get(DECISION, "")
    prebuilt = labels.get(PREBUILT_WORKLOAD_NAME) or annotations.get(PREBUILT_WORKLOAD_NAME, "")
    return JobState(
        workload=f"{meta.namespace}/{prebuilt or workload_name(kind.kind, kind.group, meta.name, meta.uid)}",
        prebuilt=bool(prebuilt),
        uid=meta.uid,
        owner=Owner(
            kind=kind.kind,
            name=meta.name,
            uid=meta.uid,
            api_version=str(value.get("apiVersion") or f"{kind.group}/{kind.versions[0]}"),
        ),
        created_at=created_at(meta),
        spec=spec,
        problems=problems,
        sized=not autoscaled_cluster(kind, value) or CLUSTER in value,
        started=_holds_ours(kind, value, decision),
        marked=bool(decision),
        mark=decision,
        running=meta.generation if runs(kind, value) else 0,
        ready=ready_of(kind, value, pods) if pods else None,
        gone=decision if decision and is_stopped(kind, value) else None,
        reclaimed=reclaimable_of(kind, value, pods),
        stands_still=is_suspended(kind, value),
        finished=finished_of(kind, value),
    )


def _holds_ours(kind: JobKind, value: JsonObject, decision: str) -> bool:
    """Whether its template may hold what we injected. Of a TrainJob that is written before the decision is."""
    if kind is TRAIN_JOB and is_patched(value):
        return True
    return bool(decision) and (not is_suspended(kind, value) or holds_injection(kind, value))


def _asked(
    value: JsonObject,
    meta: ObjectMeta,
    queue: str,
    around: Surroundings,
    kind: JobKind,
    pods: Sequence[Pods],
    last: WorkloadSpec | None,
) -> WorkloadSpec:
    labels, annotations = meta.labels or {}, meta.annotations or {}
    _refuse_names(pods, last)
    templates = [read(one.template, PodTemplate) for one in pods]
    named = look(value, kind.priority_class) if kind.priority_class else None
    classes = [str(named)] if named else [one.spec.priority_class_name for one in templates]
    priority, reference = priority_of(meta, next((one for one in classes if one), None), around, last)
    pod_sets = tuple(pod_set(one, template, around) for one, template in zip(pods, templates, strict=True))
    seconds = number_in(labels, MAX_EXEC_TIME_SECONDS, "metadata.labels")
    return WorkloadSpec(
        queue=queue,
        pod_sets=pod_sets,
        priority=priority,
        priority_class=reference,
        max_execution=None if seconds is None else seconds * 1000,
        labels=copied_labels(labels, around),
        user=labels.get(USER, ""),
        on_hold=is_on_hold(kind, value),
        gated_by=names_in(meta, ADMISSION_GATED_BY),
        managed_by=_managed_by(value, kind, around.settings),
        leaving=meta.deletion_timestamp is not None,
        never_preempt=never_preempts(meta),
        provisioning=own_parameters(meta),
        not_done=asked_in(value),
        elastic=may_be_elastic(kind) and annotations.get(ELASTIC_JOB) == "true",
    )


def _refuse_names(pods: Sequence[Pods], last: WorkloadSpec | None) -> None:
    """Refuse pod sets that no Workload object can name; those that were reported already go on under their names."""
    reported = {one.name for one in last.pod_sets} if last is not None else set[str]()
    found = [
        problem(dotted(one.at), f"{one.name!r} can be no name of a pod set: {'; '.join(why)}", "e.g. workers-2")
        for one in pods
        if one.name not in reported and (why := why_no_dns_label(one.name))
    ]
    if found:
        raise Refused(found)


def _managed_by(value: JsonObject, kind: JobKind, settings: SettingsObserved) -> str:
    path = managed_by_path(settings, kind.group, kind.kind)
    return str(look(value, path) or "") if path else ""


def pod_set(pods: Pods, template: PodTemplate, around: Surroundings) -> PodSet:
    """A pod set as a job describes it. Raises `Refused` and `FieldBroken`."""
    at = dotted(pods.at)
    return PodSet(
        name=pods.name,
        count=pods.count,
        minimum=pods.minimum,
        shape=pod_shape(template, at),
        topology=topology_request(pods.template, pods.index, around.settings, f"{at}.metadata"),
    )


def runs(kind: JobKind, value: JsonObject) -> bool:
    """Whether a job that can be suspended is not, and has not ended."""
    return kind.reader != POD.reader and not is_suspended(kind, value) and finished_of(kind, value) is None


def copied_labels(labels: Mapping[str, str], around: Surroundings) -> dict[str, str]:
    """Those of an object's labels that its Workload gets as well."""
    return {name: labels[name] for name in sorted(around.copied_labels) if name in labels}


def names_in(meta: ObjectMeta, annotation: str) -> tuple[str, ...]:
    """The names that an annotation lists with commas."""
    return tuple(one.strip() for one in (meta.annotations or {}).get(annotation, "").split(",") if one.strip())


def never_preempts(meta: ObjectMeta) -> bool:
    """Whether a label or an annotation says that it never preempts anybody."""
    return "true" in ((meta.labels or {}).get(NEVER_PREEMPT), (meta.annotations or {}).get(NEVER_PREEMPT))


def own_parameters(meta: ObjectMeta) -> dict[str, str]:
    """The parameters for the ProvisioningRequest in a job's annotations."""
    found = meta.annotations or {}
    return {name.removeprefix(PARAMETERS): found[name] for name in sorted(found) if name.startswith(PARAMETERS)}


def _queue_name(meta: ObjectMeta, last: WorkloadSpec | None) -> str:
    """The local queue that a job names, by label or by the old annotation."""
    named = (meta.labels or {}).get(QUEUE_NAME) or (meta.annotations or {}).get(QUEUE_NAME, "")
    # The default queue of a namespace is named by the webhook alone. Earlier versions found jobs in it that name none: these
    # stay, or what runs would be let go without quota, and what waits would never start.
    kept = last is not None and last.queue == DEFAULT_QUEUE
    return named or (DEFAULT_QUEUE if kept else "")


_CLASS_NOT_FOUND = "WorkloadPriorityClassNotFound"
"""The reason of Kueue's Event on such a job."""


def priority_of(
    meta: ObjectMeta, pod_class: str | None, around: Surroundings, last: WorkloadSpec | None
) -> tuple[int, PriorityRef | None]:
    """The priority of a job and where it comes from; `last` is what it asked for when it was reported.

    Rule: docs/rules/queues.md#class-changes. Raises `Refused`.
    """
    named = (meta.labels or {}).get(PRIORITY_CLASS, "")
    for name, workload in ((named, True), (pod_class or "", False)):
        if not name:
            continue
        kind = "WorkloadPriorityClass" if workload else "PriorityClass"
        found = around.priority_classes.get(f"{kind}/{name}")
        reference = PriorityRef(name=name, workload=workload)
        if found is None and last is not None and last.priority_class == reference:
            return last.priority, reference
        if found is None:
            field = f"metadata.labels[{PRIORITY_CLASS}]" if workload else "priorityClassName of its pods"
            instead = f"create it, or name one of {_names(around, kind)}"
            raise Refused([problem(field, f'{kind} "{name}" not found', instead)], _CLASS_NOT_FOUND if workload else "")
        return found.value, reference
    default = _default_class(around, None if last is None else last.priority_class)
    return (0, None) if default is None else (default.value, PriorityRef(name=default.name, workload=False))


def _default_class(around: Surroundings, before: PriorityRef | None) -> PriorityClassObserved | None:
    """The PriorityClass of pods that name none: of several, as under Kueue, the lowest, but `before` while it is one of them.

    One with a name that no object can have is nobody's: the Workloads of all jobs would be refused for it.
    """
    named = (one for one in around.priority_classes.values() if one.default and not one.workload)
    found = [one for one in named if not why_no_subdomain(one.name)]
    kept = [one for one in found if before == PriorityRef(name=one.name, workload=False)]
    return min(kept or found, key=lambda one: (one.value, one.name), default=None)


def _names(around: Surroundings, kind: str) -> str:
    names = [one.name for key, one in sorted(around.priority_classes.items()) if key.startswith(f"{kind}/")]
    return ", ".join(names) or "none that is there"


def number_in(found: Mapping[str, str], name: str, where: str) -> int | None:
    """A whole number in a label. Raises `Refused`."""
    text = found.get(name)
    if text is None:
        return None
    number = whole_number(text)
    if not number:
        raise Refused([problem(f"{where}[{name}]", f"{text!r} is not a whole number of at least 1", "e.g. 3600")])
    return number
