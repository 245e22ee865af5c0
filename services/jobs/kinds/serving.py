"""Serving kinds (Deployment, StatefulSet, LeaderWorkerSet): their pods are admitted, so the pod templates name the queue."""

from events.api.labels import (
    MANAGED,
    MULTIKUEUE_ORIGIN_UID,
    POD_GROUP_FAST_ADMISSION,
    POD_GROUP_NAME,
    POD_GROUP_POD_INDEX_LABEL,
    POD_GROUP_SERVING,
    POD_GROUP_TOTAL_COUNT,
    POD_SUSPENDING_PARENT,
    PRIORITY_CLASS,
    QUEUE_NAME,
    ROLE_HASH,
    USER,
)
from events.json_object import JsonMapping, JsonObject, object_at
from events.json_path import Location, get, put, whole
from services.jobs.kinds.pods import LEADER_WORKER_SETS, annotations_of, labels_of, stateful_set_group
from services.jobs.kinds.table import STATEFUL_SET_INDEX, WORKER_INDEX
from services.jobs.pod_sets.index_offset import behind_leader
from services.jobs.pod_sets.pod_set import PodIndex, Pods

MAIN = "main"
_LABELLED = ("Deployment", "StatefulSet")
"""Kinds whose templates say, as under Kueue, that their pods are managed."""
SET_LABEL = "leaderworkerset.sigs.k8s.io/name"
_LEADER_NAME = "leaderworkerset.sigs.k8s.io/leader-name"
_TEMPLATE: Location = ("spec", "template")
_LEADER: Location = ("spec", "leaderWorkerTemplate", "leaderTemplate")
_WORKER: Location = ("spec", "leaderWorkerTemplate", "workerTemplate")
_TEMPLATES: dict[tuple[str, str], tuple[Location, ...]] = {
    ("apps", "Deployment"): (_TEMPLATE,),
    ("apps", "StatefulSet"): (_TEMPLATE,),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): (_LEADER, _WORKER),
}


def queued_pods(group: str, kind: str, value: JsonObject, *, takes_all: bool, by_topology: bool) -> JsonObject:
    """The object with its queue on its pods: one workload per pod of a Deployment, one for all pods of a StatefulSet.

    `by_topology` says whether pods are placed by topology at all.
    """
    labels = labels_of(value)
    if not labels.get(QUEUE_NAME) and not takes_all:
        return value
    for at in _TEMPLATES.get((group, kind), ()):
        if get(value, at) is not None:
            value = _queued(value, kind, at, by_topology=by_topology)
    return value


def _queued(value: JsonObject, kind: str, at: Location, *, by_topology: bool) -> JsonObject:
    """The object with what one of its templates says of the queue."""
    labels, made_by = labels_of(value), annotations_of(get(value, at) or {}).get(POD_SUSPENDING_PARENT)
    new = made_by is None
    word = LEADER_WORKER_SETS if kind == "LeaderWorkerSet" else kind.lower()
    value = put(value, (*at, "metadata", "annotations", POD_SUSPENDING_PARENT), made_by or word)
    if kind == "StatefulSet" and not _names_group(value):
        return value  # Each pod gets it when it is let through.
    if new and kind in _LABELLED:
        value = put(value, (*at, "metadata", "labels", MANAGED), "true")
    for label in (QUEUE_NAME, PRIORITY_CLASS, USER):
        if labels.get(label) and not _stays(kind, label, labels_of(get(value, at) or {})):
            value = put(value, (*at, "metadata", "labels", label), labels[label])
    if kind == "StatefulSet":
        value = _grouped(value, at, new=new)
    if new and kind == "LeaderWorkerSet":
        value = put(value, (*at, "metadata", "annotations", POD_GROUP_SERVING), "true")
        if by_topology and at == _WORKER:
            value = behind_leader(value, _WORKER, _LEADER)
    return value


def _stays(kind: str, label: str, there: JsonMapping) -> bool:
    """Whether a template goes on to say what it says of the queue: another label would have all pods made anew.

    Pods of a LeaderWorkerSet or StatefulSet have the queue of that, and get its name when they are let through.
    """
    match kind:
        case "LeaderWorkerSet":
            return label == QUEUE_NAME
        case "StatefulSet":
            return label != USER and label in there
        case _:
            return False


def templates_of(group: str, kind: str, value: JsonObject) -> list[tuple[Location, JsonObject]]:
    """Its pod templates, and where they are."""
    return [(at, found) for at in _TEMPLATES.get((group, kind), ()) if (found := get(value, at)) is not None]


def group_named(value: JsonObject) -> str:
    """The group that all pods of a StatefulSet are: that which its template names, or called by its UID as Kueue calls it.

    A copy from another cluster goes by the UID of what it is a copy of.

    Rule: docs/jobs.md#what-serves
    """
    named = labels_of(get(value, _TEMPLATE) or {}).get(POD_GROUP_NAME)
    uid = annotations_of(value).get(MULTIKUEUE_ORIGIN_UID) or value["metadata"].get("uid", "")
    return str(named or stateful_set_group(str(value["metadata"].get("name", "")), str(uid)))


def _names_group(value: JsonObject) -> bool:
    """Whether the template of a StatefulSet says which group its pods are: that of a copy, or one from before rules of Kueue 0.17."""
    named = labels_of(get(value, _TEMPLATE) or {}).get(POD_GROUP_NAME)
    return bool(named or annotations_of(value).get(MULTIKUEUE_ORIGIN_UID))


def replicas_of(value: JsonObject) -> int:
    """How many pods, or groups of pods, it is to have. Raises `FieldBroken`."""
    return whole(value, "spec.replicas", 1)


def pods_of_parent(kind: str, value: JsonObject) -> list[Pods]:
    """The pods of one of its workloads, by shape: all of a StatefulSet's, or one group of a LeaderWorkerSet's."""
    if kind == "StatefulSet":
        template = dict(object_at(value, "spec", "template"))
        name = str(annotations_of(template).get(ROLE_HASH) or MAIN)
        index = PodIndex(label=STATEFUL_SET_INDEX)
        return [Pods(name=name, count=replicas_of(value), template=template, at=_TEMPLATE, index=index)]
    size = whole(value, "spec.leaderWorkerTemplate.size", 1)
    leader: JsonObject | None = get(value, _LEADER)
    worker = dict(object_at(value, "spec", "leaderWorkerTemplate", "workerTemplate"))
    index = PodIndex(label=WORKER_INDEX)
    if leader is None:
        return [Pods(name=MAIN, count=size, template=worker, at=_WORKER, index=index)]
    first = Pods(name="leader", count=1, template=leader, at=_LEADER)
    workers = Pods(name="worker", count=size - 1, template=worker, at=_WORKER, index=index)
    return [first, workers] if size > 1 else [first]


def role_in(pod: JsonObject, value: JsonObject) -> str:
    """Which of those shapes a pod has, as Kueue knows it: a worker has its leader's name."""
    if get(value, _LEADER) is None:
        return MAIN
    return "worker" if annotations_of(pod).get(_LEADER_NAME) else "leader"


def _grouped(value: JsonObject, at: Location, *, new: bool) -> JsonObject:
    replicas = get(value, ("spec", "replicas"))
    value = put(value, (*at, "metadata", "labels", POD_GROUP_NAME), group_named(value))
    notes = {
        POD_GROUP_TOTAL_COUNT: str(1 if replicas is None else replicas),
        POD_GROUP_FAST_ADMISSION: "true",
        POD_GROUP_SERVING: "true",
    }
    if new:
        # Kueue finds the pod set of a pod by its role, and would write the other one at the next change of a template.
        notes |= {ROLE_HASH: MAIN, POD_GROUP_POD_INDEX_LABEL: STATEFUL_SET_INDEX}
    for note, text in notes.items():
        # A template that changes makes all pods anew: what it says of their number stays as it was at first.
        if get(value, (*at, "metadata", "annotations", note)) is None:
            value = put(value, (*at, "metadata", "annotations", note), text)
    return value
