"""Pods without a job, alone or as a group: gated at creation, and ungated with what is injected when they are admitted."""

import hashlib

import msgspec

from events.api.labels import (
    ADMISSION_GATE,
    MANAGED,
    POD_GROUP_FAST_ADMISSION,
    POD_GROUP_NAME,
    POD_GROUP_POD_INDEX,
    POD_GROUP_POD_INDEX_LABEL,
    POD_GROUP_SERVING,
    POD_GROUP_TOTAL_COUNT,
    POD_SUSPENDING_PARENT,
    PREBUILT_WORKLOAD_NAME,
    QUEUE_NAME,
    ROLE_HASH,
    TOPOLOGY_GATE,
)
from events.json_object import JsonMapping, JsonObject, array_at, object_at, objects_at
from events.json_path import FieldBroken, get, put
from events.whole_number import whole_number
from services.jobs.kinds.table import STATEFUL_SET_INDEX
from services.jobs.pod_sets.injection import inject
from services.jobs.pod_sets.pod_set import Injection, InjectionForm, Pods
from services.jobs.pod_sets.scheduling_gates import gate_closed, waits_at
from services.jobs.workload_name import workload_name

LEADER_WORKER_SETS = "leaderworkerset.x-k8s.io/leaderworkerset"
"""Kueue's name for the kind LeaderWorkerSet, which its pods bear as the kind that has made them."""
STATEFUL_SETS = "statefulset"
"""The same for the kind StatefulSet."""
NUMBERED = {
    POD_GROUP_FAST_ADMISSION: "true",
    POD_GROUP_SERVING: "true",
    POD_GROUP_POD_INDEX_LABEL: STATEFUL_SET_INDEX,
}
"""What every pod of a StatefulSet bears that bears the name of its group."""
_LEADER_WORKER = "leaderworkerset.sigs.k8s.io/"
_READ = (
    *("affinity", "containers", "initContainers", "nodeSelector", "overhead", "priority"),
    *("resourceClaims", "runtimeClassName", "tolerations", "topologySpreadConstraints"),
)
"""The fields of a pod that are part of its role, in the order in which Kueue spells them."""
_ESCAPED = {b"<": b"\\u003c", b">": b"\\u003e", b"&": b"\\u0026"}


def labels_of(pod: JsonMapping) -> JsonMapping:
    """The labels of a pod; empty where it has none."""
    return object_at(pod, "metadata", "labels")


def annotations_of(pod: JsonMapping) -> JsonMapping:
    """The annotations of a pod; empty where it has none."""
    return object_at(pod, "metadata", "annotations")


def is_managed(pod: JsonObject) -> bool:
    """Whether it was held back at its creation, by us or by Kueue."""
    return labels_of(pod).get(MANAGED) == "true" or is_gated(pod)


def is_gated(pod: JsonObject) -> bool:
    """Whether it still waits at our gate."""
    return waits_at(pod, ADMISSION_GATE)


def is_held(pod: JsonObject) -> bool:
    """Whether it bears our finalizer, which keeps it after its deletion until we remove that."""
    return MANAGED in (get(pod, ("metadata", "finalizers")) or ())


def has_parent(pod: JsonObject) -> bool:
    """Whether a serving object has made it: that replaces it by itself, so no finalizer is needed."""
    return bool(annotations_of(pod).get(POD_SUSPENDING_PARENT)) or f"{_LEADER_WORKER}name" in labels_of(pod)


def is_over(pod: JsonObject) -> bool:
    """Whether a pod has ended, well or not."""
    return get(pod, ("status", "phase")) in ("Succeeded", "Failed")


def is_waiting(pod: JsonObject) -> bool:
    """Whether it waits at our gate and is nowhere else: one that runs in another cluster keeps its gate, and shows the status there."""
    return is_gated(pod) and get(pod, ("status", "phase")) not in ("Running", "Succeeded", "Failed")


def runs_here(pod: JsonObject) -> bool:
    """Whether it went through the gate, and neither has ended nor is being deleted."""
    return not (is_gated(pod) or is_over(pod) or is_leaving(pod))


def is_leaving(pod: JsonObject) -> bool:
    """Whether a pod is being deleted, which its finalizers may hold up."""
    meta: JsonMapping = pod.get("metadata") or {}
    return bool(meta.get("deletionTimestamp"))


def is_ready(pod: JsonObject) -> bool:
    """Whether a pod is ready, or has ended well."""
    ready = any(
        (one.get("type"), one.get("status")) == ("Ready", "True") for one in objects_at(pod, "status", "conditions")
    )
    return ready or get(pod, ("status", "phase")) == "Succeeded"


def group_of(pod: JsonObject) -> str:
    """The group that it belongs to; empty when it stands alone. A LeaderWorkerSet's group is known by its labels, a StatefulSet's by its owner."""
    labels, annotations = labels_of(pod), annotations_of(pod)
    whose, index = labels.get(f"{_LEADER_WORKER}name"), labels.get(f"{_LEADER_WORKER}group-index")
    if whose and index:
        # What names the group is added when the pod is let through, here and by Kueue: it is the same group before.
        return leader_worker_group(str(whose), str(index))
    named = str(labels.get(POD_GROUP_NAME) or annotations.get(POD_GROUP_NAME) or "")
    return _numbered_group(pod) if not named and annotations.get(POD_SUSPENDING_PARENT) == STATEFUL_SETS else named


def _numbered_group(pod: JsonObject) -> str:
    """The group of a pod that bears no name of one, by the StatefulSet that has made it."""
    for one in objects_at(pod, "metadata", "ownerReferences"):
        if one.get("controller") and one.get("kind") == "StatefulSet":
            return stateful_set_group(str(one.get("name", "")), str(one.get("uid", "")))
    return ""


def stateful_set_group(name: str, uid: str) -> str:
    """The group that all pods of a StatefulSet are, called as their Workload."""
    return workload_name("StatefulSet", "apps", name, uid)


def leader_worker_group(name: str, index: str) -> str:
    """The group of a LeaderWorkerSet's pods with this index."""
    return f"leaderworkerset-{name}-{index}"


def waits_for_its_group(pod: JsonObject) -> bool:
    """Whether a LeaderWorkerSet or StatefulSet has made it that gives it queue and group only once the set is known, as under Kueue."""
    made_by = annotations_of(pod).get(POD_SUSPENDING_PARENT)
    return made_by == LEADER_WORKER_SETS or (made_by == STATEFUL_SETS and not labels_of(pod).get(POD_GROUP_NAME))


def total_of(pod: JsonObject) -> int:
    """How many pods the group of this one has. Raises `FieldBroken`."""
    annotations = annotations_of(pod)
    text = str(annotations.get(POD_GROUP_TOTAL_COUNT) or annotations.get(f"{_LEADER_WORKER}size") or "")
    total = whole_number(text)
    if not total:
        field = f"metadata.annotations[{POD_GROUP_TOTAL_COUNT}]"
        raise FieldBroken(field, f"{text!r} is not a whole number of at least 1", "how many pods the group has")
    return total


def comes_one_by_one(pod: JsonObject) -> bool:
    """Whether the group is admitted as soon as its first pod is there."""
    return annotations_of(pod).get(POD_GROUP_FAST_ADMISSION) == "true" or f"{_LEADER_WORKER}size" in annotations_of(pod)


def serves(pod: JsonObject) -> bool:
    """Whether the group runs until somebody takes it away."""
    return annotations_of(pod).get(POD_GROUP_SERVING) == "true" or f"{_LEADER_WORKER}size" in annotations_of(pod)


def role_of(pod: JsonObject) -> str:
    """Which of its group's pod sets it belongs to: those of one shape are one."""
    return str(annotations_of(pod).get(ROLE_HASH) or _digest(pod))


def gated(pod: JsonObject, *, by_topology: bool = True) -> JsonObject:
    """A new pod with the scheduling gates, label and finalizer; with its place in its group where pods are placed by topology."""
    names = (ADMISSION_GATE, TOPOLOGY_GATE) if by_topology else (ADMISSION_GATE,)
    held = pod
    for name in names:
        held = held if waits_at(held, name) else gate_closed(held, name)
    held = put(held, ("metadata", "annotations", ROLE_HASH), role_of(pod))
    bearer = annotations_of(pod).get(POD_GROUP_POD_INDEX_LABEL)
    if by_topology and bearer:
        held = put(held, ("metadata", "labels", POD_GROUP_POD_INDEX), str(labels_of(pod).get(bearer, "")))
    if waits_for_its_group(pod):
        # Kueue's manager completes the pods of a LeaderWorkerSet that name no queue, and leaves others alone; those of
        # StatefulSets have none, either.
        held = put(held, ("metadata", "labels", QUEUE_NAME), None)
    if not has_parent(pod) and not is_held(pod):
        held = put(held, ("metadata", "finalizers"), [*(get(pod, ("metadata", "finalizers")) or ()), MANAGED])
    return put(held, ("metadata", "labels", MANAGED), "true")


def in_its_group(pod: JsonObject, workload: str, queue: str, pod_set: str, total: int) -> JsonObject:
    """The pod of a LeaderWorkerSet or StatefulSet with all that Kueue gives it: which Workload is its group's, and its part in that."""
    numbered = annotations_of(pod).get(POD_SUSPENDING_PARENT) == STATEFUL_SETS
    for label, text in (
        (QUEUE_NAME, queue),
        (POD_GROUP_NAME, workload),
        (PREBUILT_WORKLOAD_NAME, workload),
        (MANAGED, "true"),
    ):
        pod = put(pod, ("metadata", "labels", label), text)
    more = NUMBERED if numbered else {}
    for note, text in {POD_GROUP_TOTAL_COUNT: str(total), ROLE_HASH: pod_set, **more}.items():
        pod = put(pod, ("metadata", "annotations", note), text)
    return pod


def let_through(pod: JsonObject, injection: Injection) -> JsonObject:
    """The pod without our gate and with what is injected; its own fields stay, because the API only allows adding to them."""
    own = msgspec.structs.replace(
        injection.original,
        node_selector=get(pod, ("spec", "nodeSelector")) or {},
        tolerations=tuple(get(pod, ("spec", "tolerations")) or ()),
    )
    passed = (ADMISSION_GATE,) if injection.placed else (ADMISSION_GATE, TOPOLOGY_GATE)
    gates = [one for one in array_at(pod, "spec", "schedulingGates") if one.get("name") not in passed]
    injection = msgspec.structs.replace(injection, original=own, placed=False)
    found = inject(pod, Pods(name="", count=1, template=pod, at=(), form=InjectionForm.TEMPLATE), injection)
    return put(found, ("spec", "schedulingGates"), gates or None)


def told_to_end(pod: JsonObject, reason: str, message: str) -> list[JsonMapping]:
    """Its conditions, with the one that says that it has to end and why."""
    kept = [one for one in objects_at(pod, "status", "conditions") if one.get("type") != "TerminationTarget"]
    return [*kept, {"type": "TerminationTarget", "status": "True", "reason": reason, "message": message}]


def shape_of(spec: JsonMapping) -> JsonObject:
    """By what of their spec Kueue tells pods of one role from others (its `SpecShape`), in the order in which it spells that."""
    shape: JsonObject = {field: spec.get(field) for field in _READ}
    for field in ("containers", "initContainers"):
        shape[field] = [_asked(one) for one in objects_at(spec, field)] or None
    for field in ("nodeSelector", "overhead"):
        shape[field] = _in_order(spec.get(field))
    return shape


def _digest(pod: JsonObject) -> str:
    """Kueue's own digest of a pod (kueue 0.15, role-hash), byte for byte: one that replaces another may meet its webhook."""
    spelled = msgspec.json.encode({"spec": shape_of(pod.get("spec") or {})})
    for sign, escape in _ESCAPED.items():
        spelled = spelled.replace(sign, escape)
    return hashlib.sha256(spelled).hexdigest()[:8]


def _asked(container: JsonMapping) -> JsonObject:
    resources: JsonMapping = container.get("resources") or {}
    limits: JsonMapping | None = resources.get("limits")
    requests: JsonMapping | None = resources.get("requests")
    # As the API server does: what is limited and not asked for is asked for.
    asked = requests if limits is None else {**limits, **(requests or {})}
    return {"ports": container.get("ports"), "resources": {"requests": _in_order(asked)}}


def _in_order(found: JsonMapping | None) -> JsonObject | None:
    return None if found is None else dict(sorted(found.items()))
