"""The patches that bring a job and a Workload object to where a decision wants them; pure."""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from events.api.labels import ADMISSION_GATED_BY, DECISION, JOB_UID, POD_SETS
from events.api.workload import MAXIMUM_EXECUTION_TIME
from events.job_kind import JobKind
from events.json_object import JsonMapping, JsonObject, object_at, objects_at
from events.json_path import difference, look, put, total
from projections.workloads.lifecycle import QUOTA_RESERVED, Workload
from projections.workloads.pod_sets_digest import pod_sets_digest
from projections.workloads.preemption_gates import has_gates_of_others, turned_by_others
from services.applier.plan import Application
from services.applier.workloads.workload_manifest import (
    is_of_group,
    seconds_of,
    workload_object,
    workload_spec,
)
from services.jobs.job_status import finished_of, is_suspended
from services.jobs.kinds.table import JOB, TRAIN_JOB
from services.jobs.start_stop import holds_injection, injected, restored, with_suspend
from services.validation.fields.admission_gates import gates_of


class JobWrite(msgspec.Struct, frozen=True, kw_only=True):
    """One merge patch on a job, or on a subresource of it."""

    patch: JsonObject
    subresource: str = ""
    optional: bool = False
    """If the API refuses it, the job is where it has to be all the same."""
    last: bool = False
    """What is to be written besides has to wait until its pods are gone."""


def job_write(job: JsonObject, application: Application) -> JobWrite | None:
    """The next patch that brings the job to the decided state; None when it is there. Raises `FieldBroken`."""
    kind = application.kind
    if kind is None:
        return None
    meta = job["metadata"]
    mark = object_at(meta, "annotations").get(DECISION, "")
    suspended = is_suspended(kind, job)
    if application.since(mark) > application.sequence or finished_of(kind, job) is not None:
        return None
    if not application.run:
        return _stop(kind, job, application, mark) if suspended else _marked(kind, job, application, run=False)
    if not suspended:
        return _let_run_by_others(kind, job, application, mark)
    if _bears_this_admission(application, mark) and _has_active_pods(kind, job):
        return None  # Somebody has stopped it: it runs again once these are gone, which might have less than was chosen for them.
    wanted = injected(kind, job, application.injections)
    before_it_runs = _unstarted(kind, job, wanted) or _patched_first(kind, job, wanted)
    return before_it_runs or _marked(kind, wanted, application, run=True, before=job)


def is_another(job: JsonObject, application: Application) -> bool:
    """Whether this is a later job under the same name (another UID), not the one that was decided about."""
    owner = application.of.owner
    return owner is not None and bool(owner.uid) and job["metadata"].get("uid") != owner.uid


def _stop(kind: JobKind, job: JsonObject, application: Application, mark: str) -> JobWrite | None:
    """Suspend the job and mark it with the decision, so that the end of its pods can be matched; then restore its template.

    It is restored when none of its pods is active any more: before that the API server refuses it of a Job (1.36), and the
    trainer of a TrainJob (2.2).
    """
    meta = job["metadata"]
    if application.stopping and mark != application.decision:
        head = {"resourceVersion": meta["resourceVersion"], "annotations": {DECISION: application.decision}}
        return JobWrite(patch={"metadata": head})
    if not mark or not holds_injection(kind, job) or waits_to_be_restored(kind, job):
        return None
    wanted = restored(kind, job, application.originals)
    if wanted == job:
        return None
    reset = _unstarted(kind, job, wanted)
    return reset or JobWrite(patch=_patch(job, wanted), optional=True)


def _let_run_by_others(kind: JobKind, job: JsonObject, application: Application, mark: str) -> JobWrite | None:
    """A job that somebody let run before it was let in is suspended first where it lacks what was chosen for it, and only marked where not.

    What another manager has let in is left as it is, and so is what was started with anything that was chosen for it.
    """
    admission = application.of.admission
    if admission is None or application.sequence < admission.reservation or not application.of.in_cluster.job_turned:
        return None
    if _bears_this_admission(application, mark) or holds_injection(kind, job):
        return None
    complete = injected(kind, job, application.injections) == job
    return replace(_marked(kind, job, application, run=complete), last=True)


def _bears_this_admission(application: Application, mark: str) -> bool:
    """Whether a job is marked with what was decided since its quota was reserved."""
    admission = application.of.admission
    return admission is not None and application.since(mark) >= admission.reservation


def waits_to_be_restored(kind: JobKind, job: JsonObject) -> bool:
    """Whether what was injected into a suspended Job or TrainJob has to stay in it until its pods are gone."""
    if kind.reader not in (JOB.reader, TRAIN_JOB.reader) or not holds_injection(kind, job):
        return False
    return _has_active_pods(kind, job)


def _has_active_pods(kind: JobKind, job: JsonObject) -> bool:
    return any(total(job, path) for path in kind.active[:1])


def _unstarted(kind: JobKind, job: JsonObject, wanted: JsonObject) -> JobWrite | None:
    """The pod template of a Job can be changed only while it has no start time, which stays after a suspension."""
    if kind.group != "batch" or job["spec"].get("template") == wanted["spec"].get("template"):
        return None
    if not object_at(job, "status").get("startTime"):
        return None
    version = {"resourceVersion": job["metadata"]["resourceVersion"]}
    return JobWrite(patch={"metadata": version, "status": {"startTime": None}}, subresource="status")


def _patched_first(kind: JobKind, job: JsonObject, wanted: JsonObject) -> JobWrite | None:
    """What a TrainJob gets is written while it is suspended, and starts it with the next write: its trainer refuses both at once (2.2)."""
    return JobWrite(patch=_patch(job, wanted)) if kind.reader == TRAIN_JOB.reader and wanted != job else None


def _marked(
    kind: JobKind,
    job: JsonObject,
    application: Application,
    *,
    run: bool,
    before: JsonObject | None = None,
) -> JobWrite:
    wanted = put(job, ("metadata", "annotations", DECISION), application.decision)
    wanted = with_suspend(kind, wanted, suspend=not run)
    return JobWrite(patch=_patch(before or job, wanted))


def _patch(before: JsonObject, after: JsonObject) -> JsonObject:
    patch = difference(before, after)
    return {
        **patch,
        "metadata": {**patch.get("metadata", {}), "resourceVersion": before["metadata"]["resourceVersion"]},
    }


def with_checks(status: JsonObject, found: JsonObject, application: Application) -> JsonObject:
    """The status with the checks as the object has them, but for those that were set since it was written last.

    The states of checks belong to their controllers; the object must not have changed when it is written.
    """
    shown = _shown(found, application)
    theirs = {one["name"]: one for one in objects_at(found, "status", "admissionChecks")}
    checks = [
        theirs[one["name"]]
        if one["name"] in theirs and shown >= application.checks[one["name"]]
        else _set_anew(one, theirs.get(one["name"], {}))
        for one in objects_at(status, "admissionChecks")
    ]
    return {**status, "admissionChecks": checks}


def with_gates_of_others(status: JsonObject, found: JsonObject, application: Application) -> JsonObject:
    """The status with the preemption gates as others have turned them on the object, unless an eviction has closed them since.

    The object must not have changed when it is written.
    """
    if "preemptionGates" not in status or _shown(found, application) < application.of.stops.stopped_by:
        return status
    theirs = {
        one["name"]: one for one in objects_at(found, "status", "preemptionGates") if turned_by_others(one["name"])
    }
    gates = [theirs.get(one["name"], one) for one in objects_at(status, "preemptionGates")]
    return {**status, "preemptionGates": gates}


def _set_anew(check: JsonMapping, before: JsonMapping) -> JsonObject:
    """A check with the fields of its controller set to nothing: an apply removes only what it names."""
    return {**({"podSetUpdates": []} if before.get("podSetUpdates") else {}), **check}


def mark_patch(found: JsonObject, application: Application) -> JsonObject | None:
    """The patch by which an object says up to which decision it was written, where that matters to anybody.

    A deactivated workload is set inactive once: if somebody has set it active since, it stays active.
    """
    shown = _shown(found, application)
    switched = application.deactivated or application.activated
    if shown >= application.sequence or not (application.checks or has_gates_of_others(application.of) or switched):
        return None
    version = found["metadata"]["resourceVersion"]
    patch: JsonObject = {"metadata": {"resourceVersion": version, "annotations": {DECISION: application.decision}}}
    return {**patch, "spec": {"active": application.of.spec.active}} if shown < switched else patch


def _pods_differ(found: JsonObject, workload: Workload) -> bool:
    """Whether an object asks for other pods than its job does by now."""
    digest = object_at(found["metadata"], "annotations").get(POD_SETS, pod_sets_digest(workload))
    asked = [(one.name, one.count) for one in workload.spec.pod_sets]
    shown = [(one.get("name", "main"), one.get("count", 1)) for one in objects_at(object_at(found, "spec"), "podSets")]
    return digest != pod_sets_digest(workload) or asked != shown


def _gates_differ(found: JsonObject, workload: Workload) -> bool:
    """Whether an object says that something else keeps it out of the queue than its job does."""
    return _shown_gates(found) != _kept_gates(found, workload)


def _shown_gates(found: JsonMapping) -> str:
    return str(object_at(found["metadata"], "annotations").get(ADMISSION_GATED_BY) or "")


def _kept_gates(found: JsonMapping, workload: Workload) -> str:
    """Those of its job's gates that an object shows: none is added to one that is there, which the webhook refuses to everybody."""
    shown = gates_of(_shown_gates(found))
    return ",".join(gate for gate in workload.spec.gated_by if gate in shown)


def _priority_differs(found: JsonObject, workload: Workload) -> bool:
    return bool(object_at(found, "spec").get("priority", 0) != workload.spec.priority)


def _class_differs(found: JsonObject, workload: Workload) -> bool:
    """Whether an object names another priority class than its job; while it shows quota that of its pods, or none, stays."""
    shown, named = object_at(object_at(found, "spec"), "priorityClassRef"), workload.spec.priority_class
    if workload.finished or (workload.reserved and shows_quota(found)):
        if named is None or not named.workload or shown.get("kind") != "WorkloadPriorityClass":
            return False
        return shown.get("name") != named.name
    return shown.get("name", "") != ("" if named is None else named.name)


def spec_differs(found: JsonObject, workload: Workload) -> bool:
    """Whether an object asks for something else than its job does by now.

    While it holds quota what it asks for is what it was given for, but for the priority and its class, and fewer pods of an elastic job. Pod sets that
    somebody else has written are known by their names and counts alone.
    """
    spec = object_at(found, "spec")
    if _priority_differs(found, workload) or _class_differs(found, workload):
        return True
    if workload.finished:
        return False
    others = not workload.admitted and spec.get(MAXIMUM_EXECUTION_TIME) != seconds_of(workload.spec.max_execution)
    if workload.reserved:
        return others or bool(_smaller(found, workload))
    return (
        _pods_differ(found, workload)
        or spec.get("queueName", workload.spec.queue) != workload.spec.queue
        or others
        or (not workload.in_cluster.prebuilt and _gates_differ(found, workload))
    )


def shows_quota(found: JsonObject) -> bool:
    """Whether an object shows that quota is reserved for what it asks for, which does not change then."""
    return look(found, f"status.conditions[{QUOTA_RESERVED}].status") == "True"


def priority_patch(found: JsonObject, workload: Workload) -> JsonObject | None:
    """The patch that has an object without a job show what its class comes to; None where it does, or names none.

    Rule: docs/rules/queues.md#class-changes
    """
    asked = workload.spec
    if asked.workload_class is None or asked.origin:
        return None
    if not _priority_differs(found, workload):
        return None
    meta = {"resourceVersion": found["metadata"]["resourceVersion"]}
    return {"metadata": meta, "spec": {"priority": asked.priority}}


def _smaller(found: JsonObject, workload: Workload) -> list[JsonObject]:
    """The pod sets of an object whose elastic job has become smaller, with their counts of now; none where it has not."""
    counts = {one.name: one.count for one in workload.spec.pod_sets}
    shown = objects_at(found, "spec", "podSets")
    wanted = [{**one, "count": min(one.get("count", 1), counts.get(one.get("name", "main"), 1))} for one in shown]
    return wanted if workload.spec.elastic and wanted != shown else []


def changes_told(found: JsonObject, workload: Workload) -> list[str]:
    """What of an object is brought to what its job asks for, in Kueue's words; what its class comes to by now is brought without a word."""
    told: list[str] = []
    if _class_differs(found, workload):
        told.append(f"Updated workload priority class: {workload.key}")
    if _gates_differ(found, workload):
        told.append(f'Updated workload AdmissionGatedBy to "{_kept_gates(found, workload)}"')
    if _pods_differ(found, workload) or not (told or _priority_differs(found, workload)):
        told.append(f"Updated not matching Workload for suspended job: {workload.key}")
    return told


def spec_patch(found: JsonObject, workload: Workload, templates: dict[str, JsonObject]) -> JsonObject:
    """The patch that brings what an object asks for to what its job does."""
    wanted = workload_spec(workload, templates)
    meta: JsonObject = {"resourceVersion": found["metadata"]["resourceVersion"]}
    if workload.finished or (workload.reserved and shows_quota(found)):
        smaller = _smaller(found, workload) if not workload.finished else []
        fields: JsonObject = {"podSets": smaller} if smaller else {}
        if _class_differs(found, workload):
            fields["priorityClassRef"] = wanted["priorityClassRef"]
        if workload.reserved and not workload.admitted:
            fields[MAXIMUM_EXECUTION_TIME] = wanted.get(MAXIMUM_EXECUTION_TIME)
        return {"metadata": meta, "spec": {"priority": wanted["priority"], **fields}}
    gates = {} if workload.in_cluster.prebuilt else {ADMISSION_GATED_BY: _kept_gates(found, workload) or None}
    meta["annotations"] = {POD_SETS: pod_sets_digest(workload), **gates}
    kept = {"priorityClassRef": None, MAXIMUM_EXECUTION_TIME: None, **wanted}
    kept.pop("active")
    return {"metadata": meta, "spec": kept}


def owners_patch(found: JsonObject, application: Application) -> JsonObject | None:
    """The patch by which those own the object that do not yet: pods that replaced others, the job of a prebuilt Workload.

    With the job come our finalizer and the job's UID, as objects that kuelog makes have them from the start. What serves
    controlled the objects that an earlier kuelog has made, and does so no more.
    """
    of = application.of
    if not (is_of_group(of) or of.in_cluster.prebuilt):
        return None
    made: JsonObject = workload_object(of)["metadata"]
    wanted: list[JsonObject] = made.get("ownerReferences") or []
    there: list[JsonObject] = found["metadata"].get("ownerReferences") or []
    if not (application.group or of.in_cluster.prebuilt):
        return _uncontrolled(found, wanted, there)
    uids = {one.get("uid") for one in there}
    fresh = [one for one in wanted if one["uid"] not in uids]
    if not fresh:
        return None
    kept = there if of.in_cluster.prebuilt else [one for one in there if _is_in(one, wanted)]
    meta: JsonObject = {
        "resourceVersion": found["metadata"]["resourceVersion"],
        "ownerReferences": [*kept, *fresh],
    }
    if of.in_cluster.prebuilt:
        held: list[str] = found["metadata"].get("finalizers") or []
        finalizers = [*held, *(one for one in made["finalizers"] if one not in held)]
        meta |= {"labels": {JOB_UID: made["labels"][JOB_UID]}, "finalizers": finalizers}
    return {"metadata": meta}


def _uncontrolled(found: JsonObject, wanted: Sequence[JsonObject], there: Sequence[JsonObject]) -> JsonObject | None:
    plain = {one["uid"]: one for one in wanted}
    owners = [plain.get(one.get("uid", ""), one) if one.get("controller") else one for one in there]
    if owners == [*there]:
        return None
    return {"metadata": {"resourceVersion": found["metadata"]["resourceVersion"], "ownerReferences": owners}}


def _is_in(one: JsonObject, others: Sequence[JsonObject]) -> bool:
    return any(one.get("uid") == other["uid"] for other in others)


def _shown(found: JsonObject, application: Application) -> int:
    return application.since(object_at(found, "metadata", "annotations").get(DECISION, ""))
