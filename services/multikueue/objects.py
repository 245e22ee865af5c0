"""What is written in a worker cluster, and what of its job's status is shown here."""

from collections.abc import Mapping

from events.api.labels import (
    CITED,
    DECISION,
    ELASTIC_JOB,
    ESTIMATE,
    JOB_UID,
    MULTIKUEUE_GATE,
    MULTIKUEUE_ORIGIN,
    MULTIKUEUE_ORIGIN_UID,
    POD_SETS,
    PREBUILT_WORKLOAD_NAME,
    PRIORITY_CLASS,
    QUEUE_NAME,
    WORKLOAD_SLICE_REPLACEMENT_FOR,
)
from events.api.workload import MAXIMUM_EXECUTION_TIME
from events.event import Millis
from events.job_kind import JobKind
from events.json_object import JsonMapping, JsonObject, object_at, objects_at
from events.json_path import difference, get, locate, put
from events.timestamp import format_timestamp
from services.jobs.job_status import finished_of, is_suspended
from services.jobs.kinds.pod_readers import pods_of
from services.jobs.kinds.pods import is_gated, is_leaving, is_over
from services.jobs.kinds.ray import CLUSTER_AT, with_groups
from services.jobs.kinds.serving import templates_of
from services.jobs.kinds.table import JOB, LEADER_WORKER_SET, POD, RAY_SERVICE, STATEFUL_SET, TRAIN_JOB
from services.jobs.kinds.train_job import unpatched
from services.multikueue.remote_plan import Outline

_GENERATED = ("controller-uid", "batch.kubernetes.io/controller-uid", "job-name", "batch.kubernetes.io/job-name")
_OWN = frozenset({DECISION, CITED, ESTIMATE})
"""Annotations about decisions of the log here, which mean nothing in another cluster."""
_BY = "Set by MultiKueue adapter"
_SERVING = (STATEFUL_SET, LEADER_WORKER_SET)
_SERVED_AT = ("spec", "serveConfigV2")
_SCHEDULED = "PodScheduled"
_CLASS = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass"}


def is_of_origin(value: JsonMapping, origin: str) -> bool:
    """Whether this manager has made an object in a worker cluster."""
    return bool(origin) and object_at(value, "metadata", "labels").get(MULTIKUEUE_ORIGIN) == origin


def remote_workload(
    local: JsonMapping,
    origin: str,
    *,
    asks: str = "",
    queue: str = "",
    max_execution: Millis | None = None,
    gated: bool = False,
) -> JsonObject:
    """The copy of a Workload object: without owner, status and finalizers; `gated` has a gate that keeps it from preempting.

    While quota is held the object keeps the local queue that it had, and is told later how long it may run by now; its copy has both at once.
    """
    meta = object_at(local, "metadata")
    labels = {name: value for name, value in object_at(meta, "labels").items() if name != JOB_UID}
    annotations = {name: value for name, value in object_at(meta, "annotations").items() if name not in _OWN}
    if asks:
        annotations[POD_SETS] = asks
    if annotations.get(ELASTIC_JOB) == "true":
        # Copy and job become smaller one after the other. Kueue ends a copy that differs from its job, unless it names one that it replaces.
        annotations.setdefault(WORKLOAD_SLICE_REPLACEMENT_FOR, f"{meta['namespace']}/{meta['name']}")
    return {
        "apiVersion": local["apiVersion"],
        "kind": local["kind"],
        "metadata": {
            "name": meta["name"],
            "namespace": meta["namespace"],
            "labels": {**labels, MULTIKUEUE_ORIGIN: origin},
            "annotations": annotations,
        },
        "spec": {
            **{name: value for name, value in local["spec"].items() if name != MAXIMUM_EXECUTION_TIME},
            **({"queueName": queue} if queue else {}),
            **({MAXIMUM_EXECUTION_TIME: max_execution // 1000} if max_execution is not None else {}),
            **({"preemptionGates": [{"name": MULTIKUEUE_GATE}]} if gated else {}),
        },
    }


def amended(copy: JsonObject, wanted: Outline) -> JsonObject | None:
    """The merge patch by which a copy asks for fewer pods, or has another class; None where it does already."""
    spec = copy["spec"]
    pod_sets = [{**one, "count": wanted.counts.get(one["name"], one["count"])} for one in spec["podSets"]]
    change: JsonObject = {} if pod_sets == spec["podSets"] else {"podSets": pod_sets}
    if spec.get("priority", 0) != wanted.priority:
        change["priority"] = wanted.priority
    if wanted.priority_class and object_at(spec, "priorityClassRef").get("name") != wanted.priority_class:
        change["priorityClassRef"] = {**_CLASS, "name": wanted.priority_class}
    return {"metadata": {"resourceVersion": copy["metadata"]["resourceVersion"]}, "spec": change} if change else None


def step_patch(
    kind: JobKind,
    local: JsonObject,
    remote: JsonObject,
    workload: str,
    counts: Mapping[str, int],
    *,
    serves: bool = False,
) -> JsonObject | None:
    """The merge patch of a job there by which it has the priority class of the one here, and an elastic one slice and size.

    None where it has. `counts` are those of its slice, by pod set; without any it keeps slice and size. With `serves` a RayService serves
    there what is written here.
    """
    labels, told = object_at(remote, "metadata", "labels"), object_at(local, "metadata", "labels")
    wanted = {PRIORITY_CLASS: told[PRIORITY_CLASS]} if told.get(PRIORITY_CLASS) and kind not in (POD, *_SERVING) else {}
    resized = remote
    if counts:
        wanted[PREBUILT_WORKLOAD_NAME] = workload
        resized = with_counts(kind, remote, local, counts)
    if serves and kind is RAY_SERVICE:
        resized = put(resized, _SERVED_AT, get(local, _SERVED_AT))
    change = {name: value for name, value in wanted.items() if labels.get(name) != value}
    spec = difference(dict(object_at(remote, "spec")), dict(object_at(resized, "spec")))
    if not change and not spec:
        return None
    version = {"resourceVersion": remote["metadata"]["resourceVersion"]}
    return {"metadata": {**version, "labels": change}, **({"spec": spec} if spec else {})}


def with_counts(kind: JobKind, job: JsonObject, written: JsonObject, counts: Mapping[str, int]) -> JsonObject:
    """A job with as many pods as its slice has; what has as many already stays as it is written.

    `written` is the job here, which may want another size by now.
    """
    if kind.reader in CLUSTER_AT:
        return with_groups(kind, job, written, counts)
    if kind is not JOB or all(counts.get(one.name, one.count) == one.count for one in pods_of(kind, job)):
        return job
    return put(job, ("spec", "parallelism"), sum(counts.values()))


def remote_job(
    kind: JobKind,
    local: JsonObject,
    workload: str,
    origin: str,
    *,
    managed_by: str = "",
    counts: Mapping[str, int] | None = None,
) -> JsonObject:
    """The job as it is made in the worker cluster, whose own controller runs it once its Workload is admitted there.

    `managed_by` is the path of the field that says who runs it, which is left out there. `counts` are the pods of an elastic
    job's slice, by pod set: it may want more by now.
    """
    local = with_counts(kind, local, local, counts) if counts else local
    meta = object_at(local, "metadata")
    annotations = {name: value for name, value in object_at(meta, "annotations").items() if name not in _OWN}
    value: JsonObject = {
        "apiVersion": local["apiVersion"],
        "kind": local["kind"],
        "metadata": {
            "name": meta["name"],
            "namespace": meta["namespace"],
            "labels": {
                **object_at(meta, "labels"),
                MULTIKUEUE_ORIGIN: origin,
                PREBUILT_WORKLOAD_NAME: workload,
            },
            "annotations": annotations,
        },
        "spec": local["spec"],
    }
    if kind in _SERVING:
        value = put(value, ("metadata", "annotations", MULTIKUEUE_ORIGIN_UID), str(meta.get("uid", "")))
    if kind is LEADER_WORKER_SET:
        # Each of its groups runs in a Workload of its own, and none of them is all of it.
        value = put(value, ("metadata", "labels", PREBUILT_WORKLOAD_NAME), None)
        # Kueue gives a pod no Workload that names a queue already. Who admits pods there has their templates name it.
        for at, _ in templates_of(kind.group, kind.kind, value):
            value = put(value, (*at, "metadata", "labels", QUEUE_NAME), None)
    if managed_by:
        value = put(value, tuple(managed_by.split(".")), None)
    if kind is TRAIN_JOB:
        value = unpatched(value)  # Whoever starts it there patches it himself.
    return _without_generated(value) if kind.reader == "job" else value


def _without_generated(job: JsonObject) -> JsonObject:
    """A Job without what the API server has generated: its selector and the labels by which that finds its pods."""
    job = put(job, ("spec", "selector"), None)
    labels = object_at(job, "spec", "template", "metadata", "labels")
    kept = {name: value for name, value in labels.items() if name not in _GENERATED}
    return put(job, ("spec", "template", "metadata", "labels"), kept) if labels else job


def is_deferred(kind: JobKind, local: JsonObject, remote: JsonObject) -> bool:
    """Whether the remote status can't be shown yet: the Job here is suspended, and the one there runs.

    The API server does not take a status of pods that run for a Job that is suspended.
    """
    if kind.reader != "job" or finished_of(kind, remote) is not None:
        return False
    return is_suspended(kind, local) and not is_suspended(kind, remote)


def status_patch(kind: JobKind, local: JsonObject, remote: JsonObject, at: Millis) -> JsonObject | None:
    """The merge patch that shows the remote status on the job here; None when it shows all that it can."""
    if kind in _SERVING or (kind is POD and (is_leaving(local) or is_leaving(remote))):
        # Who serves here writes a status of its own. A pod that is taken away there has not ended: it is tried again, or goes here, too.
        return None
    before = dict(object_at(local, "status"))
    if kind is POD:
        change = difference(before, _pod_status(before, remote))
        return {"status": change} if change else None
    after = _suspended(before, at) if is_deferred(kind, local, remote) else dict(object_at(remote, "status"))
    if kind.reader == "job" and not is_suspended(kind, local) and before.get("startTime"):
        # The API server refuses any other, or none, for a Job that is not suspended: the one there may have begun anew unseen.
        after["startTime"] = before["startTime"]
    change = difference(before, after)
    return {"status": change} if change else None


def _pod_status(before: JsonObject, remote: JsonObject) -> JsonObject:
    """The status of a pod there; until it is on a node there it waits here as before, so that nobody here makes room for it."""
    after = dict(object_at(remote, "status"))
    there = next((one for one in objects_at(after, "conditions") if one.get("type") == _SCHEDULED), None)
    if there is None or there.get("status") != "True":
        kept = [one for one in objects_at(before, "conditions") if one.get("type") == _SCHEDULED]
        after["conditions"] = [
            *(one for one in objects_at(after, "conditions") if one.get("type") != _SCHEDULED),
            *kept,
        ]
    return after


def _waiting_pod(before: JsonObject, at: Millis) -> JsonObject:
    """The status of a pod that waits at its gate, whatever it showed of another cluster; as it is where it shows nothing of one."""
    if before.get("phase") in (None, "Pending") and not before.get("containerStatuses"):
        return before
    gated = {
        "type": _SCHEDULED,
        "status": "False",
        "reason": "SchedulingGated",
        "lastTransitionTime": format_timestamp(at),
    }
    kept = {name: value for name, value in before.items() if name == "qosClass"}
    return {**kept, "phase": "Pending", "conditions": [gated]}


def may_be_made(kind: JobKind, local: JsonObject) -> bool:
    """Whether a job is made there if it is missing: pods that have ended, or that somebody takes away, are not made again."""
    return kind is not POD or not (is_over(local) or is_leaving(local))


def parked_patch(kind: JobKind, local: JsonObject, at: Millis) -> JsonObject | None:
    """The merge patch by which a job that can't be asked any more looks as stopped as the manager takes it to be; None when it does."""
    if kind in _SERVING or (kind is POD and (is_over(local) or is_leaving(local) or not is_gated(local))):
        return None
    if kind is POD:
        before = dict(object_at(local, "status"))
        change = difference(before, _waiting_pod(before, at))
        return {"status": change} if change else None
    value = local
    for path in kind.active:
        for place in locate(local, path):
            value = put(value, place, None if kind.reader == "job" else 0)
    after = dict(object_at(value, "status"))
    if kind.reader == "job":
        after = _suspended(after, at)
        after.pop("ready", None)
    elif kind.stopped is not None and "conditions[" in kind.stopped.at:
        after = _with_condition(after, kind.stopped.at.partition("[")[2].partition("]")[0], at)
    elif kind.stopped is not None:
        after = dict(object_at(put(value, tuple(kind.stopped.at.split(".")), kind.stopped.values[0]), "status"))
    change = difference(dict(object_at(local, "status")), after)
    return {"status": change} if change else None


def _suspended(status: JsonObject, at: Millis) -> JsonObject:
    return _with_condition(status, "Suspended", at)


def _with_condition(status: JsonObject, kind: str, at: Millis) -> JsonObject:
    conditions = objects_at(status, "conditions")
    if any(one.get("type") == kind and one.get("status") == "True" for one in conditions):
        return status
    now = format_timestamp(at)
    ours = {"type": kind, "status": "True", "reason": "MultiKueueAdapter", "message": _BY, "lastTransitionTime": now}
    if kind == "Suspended":
        ours["lastProbeTime"] = now
    return {**status, "conditions": [*(one for one in conditions if one.get("type") != kind), ours]}
