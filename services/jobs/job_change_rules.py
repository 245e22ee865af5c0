"""What a job may not say, and what its labels and annotations may not become while it is there, in Kueue's words.

Rules: docs/rules/eviction.md#by-hand, docs/rules/objects.md#admission-gates, docs/rules/objects.md#prebuilt, docs/rules/objects.md#pods,
docs/rules/queues.md#class-changes
"""

from collections.abc import Iterable

from events.api.labels import (
    ADMISSION_GATED_BY,
    ELASTIC_JOB,
    JOB_COMPLETIONS_EQUAL_PARALLELISM,
    JOB_MIN_PARALLELISM,
    MAX_EXEC_TIME_SECONDS,
    PREBUILT_WORKLOAD_NAME,
    QUEUE_NAME,
)
from events.go_bool import as_bool
from events.job_kind import JobKind
from events.json_object import JsonMapping, JsonObject, object_at
from events.json_path import FieldBroken, look
from events.settings import SettingsObserved
from events.whole_number import whole_number
from projections.feature_gates import enabled
from projections.workloads.slices import ELASTIC_JOBS
from services.jobs.job_status import is_suspended
from services.jobs.kinds.managed_kinds import kinds_of
from services.jobs.kinds.named_queue import known_before, named_queue
from services.jobs.kinds.pod_readers import pods_of
from services.jobs.kinds.pod_rules import is_named_now, pod_change_problems, pod_problems, pod_waits
from services.jobs.kinds.pods import labels_of
from services.jobs.kinds.ray_rules import ray_problems
from services.jobs.kinds.spark_rules import spark_problems
from services.jobs.kinds.table import JOB, POD
from services.jobs.priority_class_rules import class_problems
from services.validation.fields.admission_gates import gate_problems, gate_update_problems
from services.validation.fields.names import why_no_subdomain
from services.validation.problem import Problem, forbidden, immutable, invalid

_PARALLELISM, _COMPLETIONS = "spec.parallelism", "spec.completions"
_AS_MANY = f"metadata.annotations[{JOB_COMPLETIONS_EQUAL_PARALLELISM}]"
_STOP_FIRST = "stop the job first: set its Workload inactive"


def job_problems(old: JsonObject | None, new: JsonObject, settings: SettingsObserved) -> list[Problem]:
    """What is wrong with a new job, or with the change of one; `old` is the job before it.

    One that gets a queue by the change is judged as a new one: what it said before was nobody's concern.
    """
    kind = kinds_of(settings).of(str(new.get("apiVersion") or ""), str(new.get("kind") or ""))
    if kind is None:
        return []
    known = known_before(old, new)
    before = labels_of(known or {})
    found = [*gates_changed(old, new), *time_problems(new, before), *label_name_problems(new, before)]
    if known is None or _said(known, JOB_MIN_PARALLELISM) != _said(new, JOB_MIN_PARALLELISM):
        found += _fewer(kind, new)
    said = [] if known is None else _said_problems(kind, known)
    found += [one for one in _said_problems(kind, new) if one not in said]
    if old is None:
        return found
    if kind.reader == POD.reader:
        if is_named_now(old, new):
            return found
        found += pod_change_problems(old, new)
    found += class_problems(old, new, running=not _waits(kind, new))
    if not _waits(kind, new) and not _is_elastic(old, settings):
        found += _other_workload(old, new)
    return [*found, *_of_running(kind, old, new)]


def gates_changed(old: JsonObject | None, new: JsonObject) -> list[Problem]:
    """What is wrong with what keeps a new job, or what serves, out of the queue, or with the change of that."""
    gates = str(object_at(new, "metadata", "annotations").get(ADMISSION_GATED_BY) or "")
    if old is None:
        return gate_problems(gates)
    before = str(object_at(old, "metadata", "annotations").get(ADMISSION_GATED_BY) or "")
    return gate_update_problems(before, gates) if before != gates else []


def label_name_problems(
    job: JsonObject, before: JsonMapping, labels: Iterable[str] = (QUEUE_NAME, PREBUILT_WORKLOAD_NAME)
) -> list[Problem]:
    """What of a queue or Workload that a label names, and did not name before, can be no name of an object: none of it will ever be there."""
    found: list[Problem] = []
    for label in labels:
        name = labels_of(job).get(label)
        if isinstance(name, str) and name != before.get(label) and (reasons := why_no_subdomain(name)):
            what = f"{name!r} can be no name of an object: {', '.join(reasons)}"
            found.append(invalid(f"metadata.labels[{label}]", name, what, "the name of one that is there"))
    return found


def time_problems(job: JsonObject, before: JsonMapping) -> list[Problem]:
    """What is wrong with the seconds that a job, or what serves, may run for, where it did not say so before: it would wait for ever."""
    seconds = labels_of(job).get(MAX_EXEC_TIME_SECONDS)
    if seconds is None or seconds == before.get(MAX_EXEC_TIME_SECONDS) or whole_number(seconds):
        return []
    field = f"metadata.labels[{MAX_EXEC_TIME_SECONDS}]"
    return [invalid(field, seconds, "should be a whole number greater than 0", "e.g. 3600")]


def _said_problems(kind: JobKind, job: JsonObject) -> list[Problem]:
    """What a job says that can't be managed so: one of Ray's kinds, of Spark's, a Job with as many completions as pods, or a pod."""
    of_pods = pod_problems(job) if kind.reader == POD.reader else []
    return [*of_pods, *ray_problems(kind, job), *spark_problems(kind, job), *_as_many(kind, job)]


def _fewer(kind: JobKind, job: JsonObject) -> list[Problem]:
    """What is wrong with the least number of pods that a job says it can do with."""
    text = _said(job, JOB_MIN_PARALLELISM)
    if text is None or kind.reader != JOB.reader:
        return []
    field = f"metadata.annotations[{JOB_MIN_PARALLELISM}]"
    try:
        most = pods_of(kind, job)[0].count - 1
    except FieldBroken as broken:
        return [invalid(broken.field, text, broken.message, broken.instead)]
    if (whole_number(text) or 0) <= most:
        return []
    return [invalid(field, text, f"should be between 0 and {most}", "fewer pods than its parallelism, at least 1")]


def _said(job: JsonObject, annotation: str) -> object:
    return object_at(job, "metadata", "annotations").get(annotation)


def _as_many(kind: JobKind, job: JsonObject) -> list[Problem]:
    """What is wrong with a Job that is to have as many completions as it has pods, however many it is let in with."""
    text = _said(job, JOB_COMPLETIONS_EQUAL_PARALLELISM)
    if text is None or kind.reader != JOB.reader:
        return []
    wanted = as_bool(text)
    if wanted is None:
        return [invalid(_AS_MANY, text, f'strconv.ParseBool: parsing "{text}": invalid syntax', "true or false")]
    found: list[Problem] = []
    if wanted and look(job, "spec.completionMode") != "Indexed":
        found.append(invalid(_AS_MANY, text, "should not be enabled for NonIndexed jobs", "completionMode: Indexed"))
    pods, completions = (1 if look(job, at) is None else look(job, at) for at in (_PARALLELISM, _COMPLETIONS))
    if wanted and pods != completions:
        what = f"should be equal to parallelism when {JOB_COMPLETIONS_EQUAL_PARALLELISM} is annotation is true"
        found.append(invalid(_COMPLETIONS, completions, what, f"{pods}"))
    return found


def _wants_as_many(job: JsonObject) -> bool:
    return bool(as_bool(_said(job, JOB_COMPLETIONS_EQUAL_PARALLELISM)))


def _waits(kind: JobKind, job: JsonObject) -> bool:
    return pod_waits(job) if kind.reader == POD.reader else is_suspended(kind, job)


def _is_elastic(job: JsonObject, settings: SettingsObserved) -> bool:
    return _said(job, ELASTIC_JOB) == "true" and enabled(settings, ELASTIC_JOBS)


def _other_workload(old: JsonObject, new: JsonObject) -> list[Problem]:
    """That a job names another Workload than before; while it runs, the quota of that is what its pods use."""
    named = _prebuilt(new)
    return [] if named == _prebuilt(old) else [immutable(f"metadata.labels[{PREBUILT_WORKLOAD_NAME}]", named)]


def _prebuilt(job: JsonObject) -> str:
    return str(labels_of(job).get(PREBUILT_WORKLOAD_NAME) or _said(job, PREBUILT_WORKLOAD_NAME) or "")


def _of_running(kind: JobKind, old: JsonObject, new: JsonObject) -> list[Problem]:
    """What may not change of a job that runs: its queue, how long it may run, and how many pods it has, where these may be fewer."""
    found: list[Problem] = []
    runs, ran = not _waits(kind, new), not _waits(kind, old)
    if runs and named_queue(old) != named_queue(new):
        found.append(immutable(f"metadata.labels[{QUEUE_NAME}]", named_queue(new)))
    seconds = labels_of(new).get(MAX_EXEC_TIME_SECONDS)
    if (runs or ran) and labels_of(old).get(MAX_EXEC_TIME_SECONDS) != seconds:
        found.append(immutable(f"metadata.labels[{MAX_EXEC_TIME_SECONDS}]", seconds or ""))
    if kind.reader == JOB.reader and runs and ran and _wants_as_many(old) != _wants_as_many(new):
        what = "field is immutable while the job is not suspended"
        found.append(forbidden(_AS_MANY, what, _STOP_FIRST))
    if _said(old, JOB_MIN_PARALLELISM) is not None and ran and look(old, _PARALLELISM) != look(new, _PARALLELISM):
        # Also by the write that suspends it: how many pods it was let in with would be lost.
        what = "cannot change when partial admission is enabled and the job is not suspended"
        found.append(forbidden(_PARALLELISM, what, _STOP_FIRST))
    return found
