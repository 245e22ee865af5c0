"""What is injected for one pod set, put into the job and taken out again."""

from collections.abc import Iterable
from typing import Any

from events.api.labels import (
    CARDS_GATE,
    CLUSTER_QUEUE_NAME,
    ELASTIC_JOB,
    LOCAL_QUEUE_NAME,
    MULTIKUEUE_WORKER_POD,
    POD_SET,
    PODSET_UNCONSTRAINED_TOPOLOGY,
    TOPOLOGY_GATE,
    WORKLOAD,
    WORKLOAD_SLICE_NAME,
)
from events.json_object import JsonObject, object_at
from events.json_path import Location, get, put
from projections.checks.provisioning import CLASS_NAME, CONSUMES
from projections.devices.annotations.pins import is_pin
from services.jobs.pod_sets.pod_set import Injection, InjectionForm, Original, Pods
from services.jobs.pod_sets.scheduling_gates import gate_closed, gate_opened
from services.jobs.pod_sets.updates import PodFields, added_to, noted, with_updates

_LABELS = (POD_SET, CLUSTER_QUEUE_NAME, LOCAL_QUEUE_NAME, MULTIKUEUE_WORKER_POD)
_ANNOTATIONS = (WORKLOAD, WORKLOAD_SLICE_NAME)
"""What is injected by name beside pins, so that it can be taken out again."""


def inject(job: JsonObject, pods: Pods, injection: Injection) -> JsonObject:
    """The job with what one of its pod sets gets. Raises `UpdateConflict`."""
    original, at = injection.original, pods.at
    if pods.form is InjectionForm.TEMPLATE and get(job, at) is None:
        job = put(job, at, pods.template)
    alone = pods.form is InjectionForm.INFO
    old = metadata_of(job, pods)
    own = () if alone else original.tolerations
    selector = {**_beyond_its_workload(job, pods, original), **original.node_selector}
    given = PodFields(
        labels={**_without(old.get("labels"), added_to(job, pods.name, "labels")), **injection.labels},
        annotations={
            **_without(old.get("annotations"), added_to(job, pods.name, "annotations")),
            **injection.annotations,
        },
        node_selector=injection.node_selector if alone else {**selector, **injection.node_selector},
        tolerations=(*own, *(one for one in injection.tolerations if one not in own)),
    )
    wanted = _updated(given, pods, injection)
    restorable = bool(at) and not alone  # A pod is never put back, and what stands alone goes as a whole.
    job = _placed(noted(job, pods.name, given, wanted) if restorable else job, pods, wanted)
    lower = lower_of(pods)
    # Spark describes its executors without gates: all of them are kept to the cards that they have together.
    cards = gate_closed if injection.gated and pods.form is not InjectionForm.FLAT else gate_opened
    domain = gate_closed if injection.placed else gate_opened
    job = domain(cards(job, CARDS_GATE, lower), TOPOLOGY_GATE, _topology_at(pods))
    return gate_closed(job, ELASTIC_JOB, lower) if injection.sliced else job


def _beyond_its_workload(job: JsonObject, pods: Pods, original: Original) -> dict[str, str]:
    """The node selector of a job that names its Workload, unless something was injected into it already."""
    if not original.named or WORKLOAD in object_at(metadata_of(job, pods), "annotations"):
        return {}
    return get(job, (*lower_of(pods), "nodeSelector")) or {}


def _topology_at(pods: Pods) -> Location:
    """Where the gate for topologies is: Spark takes it in the template beside its own description alone."""
    return (*pods.at, "template", "spec") if pods.form is InjectionForm.FLAT else lower_of(pods)


def _updated(given: PodFields, pods: Pods, injection: Injection) -> PodFields:
    """With what checks add; where what is injected stands alone, the template below it is looked at, too."""
    if pods.form is not InjectionForm.INFO:
        return with_updates(given, injection.updates, pods.name)
    below = object_at(pods.template, "metadata")
    base = PodFields(
        labels={**object_at(below, "labels"), **given.labels},
        annotations={**object_at(below, "annotations"), **given.annotations},
        node_selector={**injection.original.node_selector, **given.node_selector},
        tolerations=given.tolerations,
    )
    full = with_updates(base, injection.updates, pods.name)
    return PodFields(
        labels={**given.labels, **_without(full.labels, base.labels)},
        annotations={**given.annotations, **_without(full.annotations, base.annotations)},
        node_selector={**given.node_selector, **_without(full.node_selector, base.node_selector)},
        tolerations=full.tolerations,
    )


def _without(fields: dict[str, str] | None, keys: Iterable[str]) -> dict[str, str]:
    left_out = set(keys)
    return {key: value for key, value in (fields or {}).items() if key not in left_out}


def restore(job: JsonObject, pods: Pods, original: Original) -> JsonObject:
    """The job with one of its pod sets as it was asked for."""
    match pods.form:
        case InjectionForm.INFO:
            return put(job, pods.at[:-1], None)
        case InjectionForm.TEMPLATE | InjectionForm.FLAT:
            if get(job, pods.at) is None:
                return job
            old = metadata_of(job, pods)
            free = () if original.unconstrained else (PODSET_UNCONSTRAINED_TOPOLOGY,)
            ours = (
                *_ANNOTATIONS,
                *free,
                *added_to(job, pods.name, "annotations"),
                *_left_by_kueue(old),
                *(name for name in object_at(old, "annotations") if is_pin(name)),
            )
            asked = PodFields(
                labels=_without(old.get("labels"), (*_LABELS, *added_to(job, pods.name, "labels"))),
                annotations={**_without(old.get("annotations"), ours), **original.annotations},
                node_selector=original.node_selector,
                tolerations=original.tolerations,
            )
            job = gate_opened(_placed(job, pods, asked), CARDS_GATE, lower_of(pods))
            job = gate_opened(job, TOPOLOGY_GATE, _topology_at(pods))
            job = gate_opened(job, ELASTIC_JOB, lower_of(pods))
            return put(job, pods.at, None) if get(job, pods.at) == pods.implied else job


def _left_by_kueue(meta: JsonObject) -> tuple[str, ...]:
    """What Kueue had put into a job that it started before us, to take nodes that were provisioned for it."""
    found = object_at(meta, "annotations")
    made_for_it = WORKLOAD in found and str(found.get(CONSUMES, "")).startswith(f"{found[WORKLOAD]}-")
    return (CONSUMES, CLASS_NAME) if made_for_it else ()


def _placed(job: JsonObject, pods: Pods, fields: PodFields) -> JsonObject:
    template = pods.form is InjectionForm.TEMPLATE
    upper = (*pods.at, "metadata") if template else pods.at
    lower = lower_of(pods)
    job = _put(job, (*upper, "labels"), fields.labels)
    job = _put(job, (*upper, "annotations"), fields.annotations)
    if template and not get(job, upper):
        job = put(job, upper, None)
    job = _put(job, (*lower, "nodeSelector"), fields.node_selector)
    there: list[JsonObject] = get(job, (*lower, "tolerations")) or []
    return _put(job, (*lower, "tolerations"), [_as_it_stands(one, there) for one in fields.tolerations])


def _as_it_stands(wanted: JsonObject, there: Iterable[JsonObject]) -> JsonObject:
    """A toleration in the words of the one there that means the same: who names no operator means `Equal`."""
    return next((one for one in there if _meant(one) == _meant(wanted)), wanted)


def _meant(toleration: JsonObject) -> JsonObject:
    return {"operator": "Equal", **{name: value for name, value in toleration.items() if value not in ("", None)}}


def lower_of(pods: Pods) -> Location:
    """Where node selector, tolerations and gates of a pod set are."""
    return (*pods.at, "spec") if pods.form is InjectionForm.TEMPLATE else pods.at


def _put(job: JsonObject, at: tuple[Any, ...], value: Any) -> JsonObject:
    """What is empty is not written where nothing is."""
    return job if not value and get(job, at) is None else put(job, at, value or None)


def metadata_of(job: JsonObject, pods: Pods) -> JsonObject:
    """Where labels and annotations of a pod set are."""
    at = (*pods.at, "metadata") if pods.form is InjectionForm.TEMPLATE else pods.at
    return get(job, at) or {}
