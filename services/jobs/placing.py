"""What is injected for one pod set, put into the job and taken out again."""

from typing import Any

from projections.devices.annotations import CARD_POLICY
from projections.devices.vendors import VENDORS
from services.jobs.found import Form, Injection, Original, Pods
from services.jobs.paths import Plain, get, put

WORKLOAD = "kueue.x-k8s.io/workload"
POD_SET = "kueue.x-k8s.io/podset"
CLUSTER_QUEUE = "kueue.x-k8s.io/cluster-queue-name"
LOCAL_QUEUE = "kueue.x-k8s.io/local-queue-name"
_LABELS = (POD_SET, CLUSTER_QUEUE, LOCAL_QUEUE)
_ANNOTATIONS = (WORKLOAD, CARD_POLICY, *sorted({one.use_uuid for one in VENDORS if one.use_uuid}))
"""What is injected by name, so that it can be taken out again."""


def inject(job: Plain, pods: Pods, injection: Injection) -> Plain:
    """The job with what one of its pod sets gets."""
    original, at = injection.original, pods.at
    if pods.form is Form.TEMPLATE and get(job, at) is None:
        job = put(job, at, pods.template)
    alone = pods.form is Form.INFO
    selector = injection.node_selector if alone else {**original.node_selector, **injection.node_selector}
    own = () if alone else original.tolerations
    tolerations = [*own, *(one for one in injection.tolerations if one not in own)]
    old = metadata_of(job, pods)
    meta = {
        "labels": {**(old.get("labels") or {}), **injection.labels},
        "annotations": {**(old.get("annotations") or {}), **injection.annotations},
    }
    return _placed(job, pods, meta, selector, tolerations)


def restore(job: Plain, pods: Pods, original: Original) -> Plain:
    """The job with one of its pod sets as it was asked for."""
    match pods.form:
        case Form.INFO:
            return put(job, pods.at[:-1], None)
        case Form.TEMPLATE | Form.FLAT:
            if get(job, pods.at) is None:
                return job
            old = metadata_of(job, pods)
            labels = {key: value for key, value in (old.get("labels") or {}).items() if key not in _LABELS}
            annotations = {
                key: value for key, value in (old.get("annotations") or {}).items() if key not in _ANNOTATIONS
            }
            meta = {"labels": labels, "annotations": {**annotations, **original.annotations}}
            job = _placed(job, pods, meta, original.node_selector, list(original.tolerations))
            return put(job, pods.at, None) if get(job, pods.at) == pods.implied else job


def _placed(job: Plain, pods: Pods, meta: Plain, selector: dict[str, str], tolerations: list[Plain]) -> Plain:
    template = pods.form is Form.TEMPLATE
    upper = (*pods.at, "metadata") if template else pods.at
    lower = (*pods.at, "spec") if template else pods.at
    for field, value in meta.items():
        job = _put(job, (*upper, field), value)
    if template and not get(job, upper):
        job = put(job, upper, None)
    job = _put(job, (*lower, "nodeSelector"), selector)
    return _put(job, (*lower, "tolerations"), tolerations)


def _put(job: Plain, at: tuple[Any, ...], value: Any) -> Plain:
    """What is empty is not written where nothing is."""
    return job if not value and get(job, at) is None else put(job, at, value or None)


def metadata_of(job: Plain, pods: Pods) -> Plain:
    """Where labels and annotations of a pod set are."""
    at = (*pods.at, "metadata") if pods.form is Form.TEMPLATE else pods.at
    return get(job, at) or {}
