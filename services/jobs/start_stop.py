"""A job of any kind, suspended, started with what is injected into it, or put back to what it asked for."""

from collections.abc import Sequence

from events.api.labels import JOB_COMPLETIONS_EQUAL_PARALLELISM, JOB_MIN_PARALLELISM, WORKLOAD
from events.go_bool import as_bool
from events.job_kind import JobKind
from events.json_object import JsonObject, object_at
from events.json_path import put
from services.jobs.kinds.pod_readers import pods_of
from services.jobs.kinds.spark import nodes_by_role
from services.jobs.kinds.train_job import is_patched, patched, restored_patch
from services.jobs.pod_sets.injection import inject, metadata_of, restore
from services.jobs.pod_sets.pod_set import Injection, Original
from services.jobs.pod_sets.updates import without_notes


def with_suspend(kind: JobKind, job: JsonObject, *, suspend: bool) -> JsonObject:
    """The job with its field for suspension set, wherever its kind has that."""
    return put(job, tuple(kind.suspend.split(".")), suspend)


def holds_injection(kind: JobKind, job: JsonObject) -> bool:
    """Whether anything that was injected is in it."""
    if kind.reader == "train job":
        return is_patched(job)
    return any(WORKLOAD in object_at(metadata_of(job, one), "annotations") for one in pods_of(kind, job))


def injected(kind: JobKind, job: JsonObject, injections: Sequence[Injection]) -> JsonObject:
    """The job with what each of its pod sets gets. Raises `FieldBroken` and `UpdateConflict`."""
    if kind.reader == "train job":
        return patched(job, injections)
    if kind.reader == "spark":
        job = nodes_by_role(job)
    by_name = {one.original.name: one for one in injections}
    for pods in pods_of(kind, job):
        injection = by_name.get(pods.known_as(by_name))
        if injection is None:
            continue
        job = inject(job, pods, injection)
        if kind.reader == "job" and injection.count < injection.original.count and not injection.original.elastic:
            job = _with_parallelism(job, injection.count)
    return job


def restored(kind: JobKind, job: JsonObject, originals: Sequence[Original]) -> JsonObject:
    """The job as it was before anything was injected. Raises `FieldBroken`."""
    if kind.reader == "train job":
        return restored_patch(job)
    by_name = {one.name: one for one in originals}
    for pods in pods_of(kind, job):
        original = by_name.get(pods.known_as(by_name))
        if original is not None:
            job = restore(job, pods, original)
        if original is not None and kind.reader == "job" and pods.count < original.count and _may_be_fewer(job):
            job = _with_parallelism(job, original.count)
    return without_notes(job)


def _may_be_fewer(job: JsonObject) -> bool:
    """Whether it may have been let in with fewer pods than it asked for, so that what it says now is not what somebody wants."""
    return JOB_MIN_PARALLELISM in object_at(job, "metadata", "annotations")


def _with_parallelism(job: JsonObject, count: int) -> JsonObject:
    job = put(job, ("spec", "parallelism"), count)
    wanted = object_at(job, "metadata", "annotations")
    return put(job, ("spec", "completions"), count) if as_bool(wanted.get(JOB_COMPLETIONS_EQUAL_PARALLELISM)) else job
