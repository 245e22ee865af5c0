"""The pods that a job of any kind is made of, and where in the job they are described."""

from collections.abc import Callable
from math import prod

import msgspec

from events.api.labels import JOB_MIN_PARALLELISM
from events.job_kind import Factor, JobKind, PodsAt
from events.json_object import JsonObject, is_object, object_at
from events.json_path import FieldBroken, Location, dotted, get, locate, whole
from events.whole_number import whole_number
from services.jobs.kinds.app_wrapper import component_pods
from services.jobs.kinds.ray import cluster_pods, job_pods, service_pods
from services.jobs.kinds.spark import spark_pods
from services.jobs.kinds.train_job import train_pods
from services.jobs.pod_sets.pod_set import PodIndex, Pods
from services.validation.kinds.definition_bounds import POD_SETS_AT_MOST


def pods_of(kind: JobKind, job: JsonObject) -> list[Pods]:
    """All pod sets of a job; none when it does not say them yet. Raises `FieldBroken`."""
    reader = READERS.get(kind.reader)
    found = reader(kind, job) if reader is not None else plain_pods(kind, job)
    if len(found) > POD_SETS_AT_MOST:
        raise FieldBroken("spec", f"it has {len(found)} pod sets", f"at most {POD_SETS_AT_MOST}")
    names = [one.name for one in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise FieldBroken("spec", f"two pod sets are called {twice!r}", "a name for each")
    return found


def plain_pods(kind: JobKind, job: JsonObject) -> list[Pods]:
    """The pod sets that paths lead to. Raises `FieldBroken`."""
    found = [_pods(rule, job, place) for rule in kind.pods for place in locate(job, rule.at)]
    if not found:
        raise FieldBroken(kind.pods[0].at if kind.pods else "spec", "it describes no pods", "at least one pod template")
    return found


def _job_pods(kind: JobKind, job: JsonObject) -> list[Pods]:
    (found,) = plain_pods(kind, job)
    text = object_at(job, "metadata", "annotations").get(JOB_MIN_PARALLELISM)
    if text is None:
        return [found]
    minimum = whole_number(text)
    if not minimum:
        where = f"metadata.annotations[{JOB_MIN_PARALLELISM}]"
        raise FieldBroken(where, f"{text!r} is not a whole number of at least 1", "e.g. 3600")
    # One that is not below the count lets nothing be fewer.
    return [msgspec.structs.replace(found, minimum=minimum)] if minimum < found.count else [found]


READERS: dict[str, Callable[[JobKind, JsonObject], list[Pods]]] = {
    "job": _job_pods,
    "ray cluster": cluster_pods,
    "ray job": job_pods,
    "ray service": service_pods,
    "train job": train_pods,
    "components": component_pods(plain_pods),
    "spark": spark_pods,
}


def _pods(rule: PodsAt, job: JsonObject, place: Location) -> Pods:
    at = (*place, *rule.template.split("."))
    template = get(job, at)
    if not is_object(template):
        raise FieldBroken(dotted(at), "there is no pod template", "a template with a spec")
    numbers = [_number(factor, job, place) for factor in rule.count]
    return Pods(
        name=rule.name or _name(rule, job, place),
        count=prod(numbers),
        replicas=numbers[0] if numbers else 1,
        template=template,
        at=at,
        index=_index(rule, numbers),
    )


def _index(rule: PodsAt, numbers: list[int]) -> PodIndex:
    parts = numbers[0] if rule.sub_group_index_label and numbers else 0
    return PodIndex(label=rule.pod_index_label, sub_group_label=rule.sub_group_index_label, sub_group_count=parts)


def _number(factor: Factor, job: JsonObject, place: Location) -> int:
    number = whole(job, factor.path, factor.default, place)
    return min(number, whole(job, factor.cap, number, place)) if factor.cap else number


def _name(rule: PodsAt, job: JsonObject, place: Location) -> str:
    if rule.name_at:
        return str(get(job, (*place, *rule.name_at.split("."))) or "")
    last = place[-1] if place else ""
    return str(last).lower()
