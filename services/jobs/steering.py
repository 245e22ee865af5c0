"""A job of any kind, suspended, started with what is injected into it, or put back to what it asked for."""

from collections.abc import Sequence
from typing import Any

from events.job_kind import JobKind
from projections.devices.annotations import CARD_POLICY
from projections.devices.vendors import VENDORS
from services.jobs.found import Form, Injection, Original, Pods
from services.jobs.paths import Plain, get, look, put
from services.jobs.pod_sets import pods_of
from services.jobs.train_job import is_patched, patched, unpatched

WORKLOAD = "kueue.x-k8s.io/workload"
POD_SET = "kueue.x-k8s.io/podset"
CLUSTER_QUEUE = "kueue.x-k8s.io/cluster-queue-name"
LOCAL_QUEUE = "kueue.x-k8s.io/local-queue-name"
_COMPLETIONS_TOO = "kueue.x-k8s.io/job-completions-equal-parallelism"
_LABELS = (POD_SET, CLUSTER_QUEUE, LOCAL_QUEUE)
_ANNOTATIONS = (WORKLOAD, CARD_POLICY, *sorted({one.use_uuid for one in VENDORS if one.use_uuid}))
"""What is injected by name, so that it can be taken out again."""


def with_suspend(kind: JobKind, job: Plain, *, suspend: bool) -> Plain:
    """The job, meant to stand still or to run."""
    return put(job, tuple(kind.suspend.split(".")), suspend)


def holds_injection(kind: JobKind, job: Plain) -> bool:
    """Whether anything that was injected is in it."""
    if kind.reader == "train job":
        return is_patched(job)
    return any(WORKLOAD in (_metadata(job, one).get("annotations") or {}) for one in pods_of(kind, job))


def injected(kind: JobKind, job: Plain, injections: Sequence[Injection]) -> Plain:
    """The job with what each of its pod sets gets. Raises `FieldBroken`."""
    if kind.reader == "train job":
        return patched(job, injections)
    by_name = {one.original.name: one for one in injections}
    for pods in pods_of(kind, job):
        injection = by_name.get(pods.name)
        if injection is None:
            continue
        job = _inject(job, pods, injection)
        if kind.reader == "job" and injection.count < injection.original.count:
            job = _with_parallelism(job, injection.count)
    return job


def restored(kind: JobKind, job: Plain, originals: Sequence[Original]) -> Plain:
    """The job as it was before anything was injected. Raises `FieldBroken`."""
    if kind.reader == "train job":
        return unpatched(job)
    by_name = {one.name: one for one in originals}
    for pods in pods_of(kind, job):
        original = by_name.get(pods.name)
        if original is not None:
            job = _restore(job, pods, original)
        if original is not None and kind.reader == "job" and pods.count < original.count:
            job = _with_parallelism(job, original.count)
    return job


def _inject(job: Plain, pods: Pods, injection: Injection) -> Plain:
    original, at = injection.original, pods.at
    if pods.form is Form.TEMPLATE and get(job, at) is None:
        job = put(job, at, pods.template)
    alone = pods.form is Form.INFO
    selector = injection.node_selector if alone else {**original.node_selector, **injection.node_selector}
    own = () if alone else original.tolerations
    tolerations = [*own, *(one for one in injection.tolerations if one not in own)]
    old = _metadata(job, pods)
    meta = {
        "labels": {**(old.get("labels") or {}), **injection.labels},
        "annotations": {**(old.get("annotations") or {}), **injection.annotations},
    }
    return _placed(job, pods, meta, selector, tolerations)


def _restore(job: Plain, pods: Pods, original: Original) -> Plain:
    match pods.form:
        case Form.INFO:
            return put(job, pods.at[:-1], None)
        case Form.TEMPLATE | Form.FLAT:
            if get(job, pods.at) is None:
                return job
            old = _metadata(job, pods)
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


def _metadata(job: Plain, pods: Pods) -> Plain:
    at = (*pods.at, "metadata") if pods.form is Form.TEMPLATE else pods.at
    return get(job, at) or {}


def _with_parallelism(job: Plain, count: int) -> Plain:
    job = put(job, ("spec", "parallelism"), count)
    wanted = look(job, "metadata.annotations") or {}
    return put(job, ("spec", "completions"), count) if wanted.get(_COMPLETIONS_TOO) == "true" else job
