"""Defaults set on a job at its creation, so that it waits until it is admitted."""

from events.api.labels import POD_SUSPENDING_PARENT, QUEUE_NAME
from events.job_kind import JobKind
from events.json_object import JsonObject, object_at
from events.settings import SettingsObserved
from services.jobs.kinds.managed_kinds import Kinds, kinds_of
from services.jobs.kinds.named_queue import named_queue
from services.jobs.kinds.owner_references import belongs_to_job
from services.jobs.kinds.pods import annotations_of, gated, labels_of, waits_for_its_group
from services.jobs.kinds.serving import queued_pods
from services.jobs.kinds.table import POD, TRAIN_JOB
from services.jobs.kinds.train_job import with_patch
from services.jobs.pod_sets.index_offset import behind_launcher
from services.jobs.start_stop import with_suspend

_MPI_JOB = "kubeflow.org/mpijob"
PLAIN = kinds_of(SettingsObserved())
"""The kinds that are managed when nothing is configured."""


def waiting(value: JsonObject, word: str, kinds: Kinds = PLAIN, *, owned: bool | None = None) -> JsonObject:
    """A new job of a managed kind suspended, if it names a queue or all jobs are managed; any other object as it is.

    `owned` says whether a managed job owns it; where nobody has looked, its owner's kind has to do.
    """
    api = str(value.get("apiVersion") or "")
    group = api.rpartition("/")[0]
    if kinds.serves(group, word):
        return queued_later(value, word, kinds, owned=owned)
    goes_with_owner = belongs_to_job(value, kinds) if owned is None else owned
    if word == POD.kind and not group:
        named = labels_of(value).get(QUEUE_NAME) or kinds.takes_all or waits_for_its_group(value)
        waits = named and _is_managed(value, kinds) and (made_by_parent(value, kinds) or not goes_with_owner)
        return gated(value, by_topology=kinds.by_topology) if waits else value
    kind = kinds.of(api, word) if api else next((one for one in kinds.by_place.values() if one.kind == word), None)
    if (
        kind is None
        or kind.reader == POD.reader
        or not (named_queue(value) or kinds.takes_all)
        or goes_with_owner
        or _has_cluster(kind, value)
    ):
        return value
    if kinds.by_topology and kind.name == _MPI_JOB:
        value = behind_launcher(value)
    if kind is TRAIN_JOB:
        value = with_patch(value, named_queue(value))
    return with_suspend(kind, value, suspend=True)


def queued_later(value: JsonObject, word: str, kinds: Kinds = PLAIN, *, owned: bool | None = None) -> JsonObject:
    """A serving object with its current queue name on its pod template, unless a managed job owns it; any other object as it is."""
    group = str(value.get("apiVersion") or "").rpartition("/")[0]
    return value if owned or not kinds.serves(group, word) else _queued(group, word, value, kinds)


def suspend_queued(
    operation: str, kind: str, value: JsonObject, kinds: Kinds = PLAIN, *, owned: bool | None = None
) -> JsonObject:
    """What the mutating webhook makes of a job: `waiting` at its creation, `queued_later` at any other operation."""
    made = waiting if operation == "CREATE" else queued_later
    return made(value, kind, kinds, owned=owned)


def _queued(group: str, word: str, value: JsonObject, kinds: Kinds) -> JsonObject:
    taken = kinds.takes_serving(labels_of(value))
    return queued_pods(group, word, value, takes_all=taken, by_topology=kinds.by_topology)


def _is_managed(pod: JsonObject, kinds: Kinds) -> bool:
    """Whether the object is to be suspended or gated: a pod of a serving kind if that is managed, any other if pods are."""
    if annotations_of(pod).get(POD_SUSPENDING_PARENT):
        return made_by_parent(pod, kinds)
    return POD.place in kinds.by_place


def made_by_parent(pod: JsonObject, kinds: Kinds) -> bool:
    """Whether something that serves has made a pod, and said that it waits: it is nobody else's."""
    made_by = annotations_of(pod).get(POD_SUSPENDING_PARENT)
    return bool(made_by) and kinds.maker_named(str(made_by)) is not None


def _has_cluster(kind: JobKind, value: JsonObject) -> bool:
    """A RayJob on a cluster that is there can't be suspended, and takes no room of its own."""
    return kind.reader == "ray job" and bool(object_at(value, "spec").get("clusterSelector"))
