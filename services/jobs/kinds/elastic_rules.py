"""Which jobs may not be elastic, and that none becomes so later, in Kueue's words.

Rule: docs/rules/elastic.md#refused
"""

from events.api.labels import ELASTIC_JOB, JOB_MIN_PARALLELISM
from events.json_object import JsonObject, object_at
from events.json_path import dotted
from events.settings import SettingsObserved
from projections.feature_gates import enabled
from projections.workloads.slices import ELASTIC_JOBS
from services.jobs.kinds.elastic import may_be_elastic
from services.jobs.kinds.managed_kinds import kinds_of
from services.jobs.kinds.ray import autoscaling_at
from services.validation.problem import Problem, forbidden, immutable, invalid

_AT = f"metadata.annotations[{ELASTIC_JOB}]"
BOTH = "partial admission and elastic job cannot be used together"
AUTOSCALED = "a kueue managed job should only use autoscaling when workload slicing is enabled"


def elastic_problems(old: JsonObject | None, new: JsonObject, settings: SettingsObserved) -> list[Problem]:
    """What is wrong with the annotation by which a job says that it is elastic; `old` is the job before a change."""
    annotations = object_at(new, "metadata", "annotations")
    said = annotations.get(ELASTIC_JOB)
    api, word = str(new.get("apiVersion") or ""), str(new.get("kind") or "")
    kind = kinds_of(settings).of(api, word)
    if kind is None:
        return []
    if old is None and (said != "true" or not enabled(settings, ELASTIC_JOBS)):
        at = autoscaling_at(kind, new)
        return [] if at is None else [invalid(dotted(at), "true", AUTOSCALED, f'the annotation {ELASTIC_JOB}: "true"')]
    if not enabled(settings, ELASTIC_JOBS):
        return []
    if old is not None:
        before = object_at(old, "metadata", "annotations").get(ELASTIC_JOB)
        return [] if before == said else [immutable(_AT, said or "")]
    if not may_be_elastic(kind):
        return [forbidden(_AT, f'elastic job is not supported for "{_group_version_kind(api, word)}"', "leave it out")]
    if JOB_MIN_PARALLELISM in annotations:
        return [forbidden(f"metadata.annotations[{JOB_MIN_PARALLELISM}]", BOTH, f"one of it and {ELASTIC_JOB}")]
    return []


def _group_version_kind(api: str, kind: str) -> str:
    return f"{api if '/' in api else f'/{api}'}, Kind={kind}"
