"""Which jobs may not be elastic, and that none becomes so later, in Kueue's words.

Rule: docs/rules/elastic.md#refused
"""

from events.api.labels import ELASTIC_JOB, JOB_MIN_PARALLELISM
from events.job_kind import JobKind
from events.json_object import JsonObject, object_at
from events.json_path import dotted
from events.settings import SettingsObserved
from projections.feature_gates import enabled
from projections.workloads.slices import ELASTIC_JOBS
from services.jobs.kinds.elastic import may_be_elastic
from services.jobs.kinds.managed_kinds import kinds_of
from services.jobs.kinds.named_queue import known_before
from services.jobs.kinds.ray import autoscaling_at
from services.validation.problem import Problem, forbidden, immutable, invalid

_AT = f"metadata.annotations[{ELASTIC_JOB}]"
BOTH = "partial admission and elastic job cannot be used together"
AUTOSCALED = "a kueue managed job should only use autoscaling when workload slicing is enabled"


def elastic_problems(old: JsonObject | None, new: JsonObject, settings: SettingsObserved) -> list[Problem]:
    """What is wrong with the annotation by which a job says that it is elastic, or with one that would have to; `old` is the job before a change.

    What was wrong of it in its queue already may stay so.
    """
    known = known_before(old, new)
    wrong = [] if known is None else _as_it_is(known, settings)
    found = [one for one in _as_it_is(new, settings) if one not in wrong]
    if old is None or not _managed(new, settings) or not enabled(settings, ELASTIC_JOBS):
        return found
    said, before = (object_at(one, "metadata", "annotations").get(ELASTIC_JOB) for one in (new, old))
    return found if before == said else [immutable(_AT, said or ""), *found]


def _as_it_is(job: JsonObject, settings: SettingsObserved) -> list[Problem]:
    annotations = object_at(job, "metadata", "annotations")
    kind = _managed(job, settings)
    if kind is None:
        return []
    if annotations.get(ELASTIC_JOB) != "true" or not enabled(settings, ELASTIC_JOBS):
        at = autoscaling_at(kind, job)
        return [] if at is None else [invalid(dotted(at), "true", AUTOSCALED, f'the annotation {ELASTIC_JOB}: "true"')]
    if not may_be_elastic(kind):
        told = _group_version_kind(str(job.get("apiVersion") or ""), str(job.get("kind") or ""))
        return [forbidden(_AT, f'elastic job is not supported for "{told}"', "leave it out")]
    if JOB_MIN_PARALLELISM in annotations:
        return [forbidden(f"metadata.annotations[{JOB_MIN_PARALLELISM}]", BOTH, f"one of it and {ELASTIC_JOB}")]
    return []


def _managed(job: JsonObject, settings: SettingsObserved) -> JobKind | None:
    return kinds_of(settings).of(str(job.get("apiVersion") or ""), str(job.get("kind") or ""))


def _group_version_kind(api: str, kind: str) -> str:
    return f"{api if '/' in api else f'/{api}'}, Kind={kind}"
