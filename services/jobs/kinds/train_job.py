"""TrainJob: its pods are those of the JobSet that its runtime makes of it; what is injected goes in as a runtime patch."""

from collections.abc import Sequence

from events.api.labels import CARDS_GATE, QUEUE_NAME, TOPOLOGY_GATE
from events.job_kind import JobKind
from events.json_object import JsonObject, object_at, objects_at
from events.json_path import get, put, whole
from services.jobs.kinds.table import COMPLETION_INDEX, JOB_INDEX
from services.jobs.pod_sets.pod_set import Injection, PodIndex, Pods
from services.jobs.pod_sets.scheduling_gates import gate_closed
from services.jobs.pod_sets.updates import PodFields, with_updates

CHILD = "kuelog.io/child"
"""Where the watcher puts the JobSet that belongs to a TrainJob before it asks about it."""
_MANAGER = "kueue.x-k8s.io/manager"
_PATCHES = ("spec", "runtimePatches")
_JOBS = ("trainingRuntimeSpec", "template", "spec", "replicatedJobs")
_TEMPLATE = ("template", "spec", "template")


def train_pods(kind: JobKind, job: JsonObject) -> list[Pods]:
    """The replicated jobs of its JobSet; none before the JobSet is there. Raises `FieldBroken`."""
    del kind
    child = job.get(CHILD)
    found: list[Pods] = []
    for index in range(len(get(child, ("spec", "replicatedJobs")) or [])):
        one = ("spec", "replicatedJobs", index)
        parallelism = whole(child, "template.spec.parallelism", 1, one)
        pods = min(parallelism, whole(child, "template.spec.completions", parallelism, one))
        replicas = whole(child, "replicas", 1, one)
        at = (*one, *_TEMPLATE)
        name = str(get(child, (*one, "name")) or "")
        index = PodIndex(label=COMPLETION_INDEX, sub_group_label=JOB_INDEX, sub_group_count=replicas)
        template: JsonObject = get(child, at) or {}
        found.append(Pods(name=name, count=replicas * pods, replicas=replicas, template=template, at=at, index=index))
    return found


def with_patch(job: JsonObject, queue: str) -> JsonObject:
    """A new TrainJob with the runtime patch that is ours, as Kueue's webhook adds it: by it the JobSet gets the name of the queue."""
    if _ours(job):
        return job
    named = {"metadata": {"labels": {QUEUE_NAME: queue}}} if queue else {}
    return put(job, _PATCHES, [*_others(job), _patch({**named, "spec": {}})])


def is_patched(job: JsonObject) -> bool:
    """Whether anything for its pods is in the runtime patch that is ours."""
    return bool(get(_ours(job), _JOBS))


def patched(job: JsonObject, injections: Sequence[Injection]) -> JsonObject:
    """The job with our runtime patch, which says of each replicated job what its pods get. Raises `UpdateConflict`.

    What the runtime gives the pods besides their node selectors is not known here, and no conflict with it is found. What is empty
    is left out, as the webhooks of others leave it out when they pass a job on: a job that says all of it is returned as it is.
    """
    jobs: list[JsonObject] = []
    for one in injections:
        asked = one.original.node_selector
        given = PodFields(
            labels=one.labels,
            annotations=one.annotations,
            node_selector={**asked, **one.node_selector},
            tolerations=one.tolerations,
        )
        wanted = with_updates(given, one.updates, one.original.name)
        selector = {key: value for key, value in wanted.node_selector.items() if key not in asked}
        meta = _filled({"labels": wanted.labels, "annotations": wanted.annotations})
        spec = _filled({"nodeSelector": {**selector, **one.node_selector}, "tolerations": list(wanted.tolerations)})
        patch = put({"name": one.original.name}, _TEMPLATE, _filled({"metadata": meta, "spec": spec}))
        for gate in ((CARDS_GATE,) if one.gated else ()) + ((TOPOLOGY_GATE,) if one.placed else ()):
            patch = gate_closed(patch, gate, (*_TEMPLATE, "spec"))
        jobs.append(patch)
    return _with_jobs(job, jobs or None)


def patched_annotations(job: JsonObject) -> dict[str, dict[str, str]]:
    """What the runtime patches of others say of the annotations of its pods, by replicated job; a later one has the last word."""
    found: dict[str, dict[str, str]] = {}
    for patch in _others(job):
        for one in objects_at(patch, *_JOBS):
            notes = object_at(one, *_TEMPLATE, "metadata", "annotations")
            found.setdefault(str(one.get("name") or ""), {}).update({name: str(text) for name, text in notes.items()})
    return found


def restored_patch(job: JsonObject) -> JsonObject:
    """The job with nothing for its pods in our runtime patch, which stays."""
    return _with_jobs(job, None) if is_patched(job) else job


def unpatched(job: JsonObject) -> JsonObject:
    """The job without our runtime patch."""
    return put(job, _PATCHES, _others(job) or None)


def _with_jobs(job: JsonObject, jobs: list[JsonObject] | None) -> JsonObject:
    """The job with these replicated jobs in our patch, beside what else that says; where there was none it comes last."""
    if not _ours(job):
        return put(job, _PATCHES, [*_others(job), put(_patch({}), _JOBS, jobs)])
    found = [put(one, _JOBS, jobs) if one.get("manager") == _MANAGER else one for one in get(job, _PATCHES)]
    return put(job, _PATCHES, found)


def _patch(template: JsonObject) -> JsonObject:
    return {"manager": _MANAGER, "trainingRuntimeSpec": {"template": template}}


def _ours(job: JsonObject) -> JsonObject:
    """The runtime patch that is ours; empty where there is none."""
    nothing: JsonObject = {}
    return next((one for one in get(job, _PATCHES) or () if one.get("manager") == _MANAGER), nothing)


def _others(job: JsonObject) -> list[JsonObject]:
    return [one for one in get(job, _PATCHES) or () if one.get("manager") != _MANAGER]


def _filled(value: JsonObject) -> JsonObject:
    return {name: one for name, one in value.items() if one}
