"""The Workload object of a job as it is created, with all that its job asks for."""

from collections.abc import Mapping

from events.api.labels import (
    ADMISSION_GATED_BY,
    COMPONENT_WORKLOAD_INDEX,
    ELASTIC_JOB,
    IS_GROUP_WORKLOAD,
    JOB_OWNER_GVK,
    JOB_OWNER_NAME,
    JOB_UID,
    POD_SETS,
    RESOURCE_IN_USE,
    WORKLOAD_ALLOWED_RESOURCE_FLAVORS,
    WORKLOAD_SLICE_NAME,
    WORKLOAD_SLICE_REPLACEMENT_FOR,
)
from events.api.workload import MAXIMUM_EXECUTION_TIME
from events.event import Millis
from events.json_object import JsonObject
from events.pod_set import ContainerShape, PodSet, PodShape
from events.topology import TopologyRequest
from events.workload import Owner
from projections.workloads.lifecycle import Workload, first_slice_name
from projections.workloads.pod_sets_digest import pod_sets_digest
from projections.workloads.pods import made_of_pods
from services.applier.manifests import texts, toleration
from services.provisioning_kinds import PARAMETERS


def workload_object(
    workload: Workload, templates: Mapping[str, JsonObject] | None = None, parent: Owner | None = None
) -> JsonObject:
    """The Workload object of a job, as it is created; with the outlines of its pods where no template is known.

    That of a variant is owned by its `parent`, the Workload of the job.
    """
    owner = workload.owner
    meta: JsonObject = {"name": workload.name, "namespace": workload.namespace}
    annotations = {f"{PARAMETERS}{name}": value for name, value in workload.spec.provisioning.items()}
    if workload.spec.gated_by:
        annotations[ADMISSION_GATED_BY] = gates_of(workload)
    if workload.spec.elastic:
        annotations |= _slice(workload)
    if workload.spec.variant_of:
        annotations[WORKLOAD_ALLOWED_RESOURCE_FLAVORS] = ",".join(workload.spec.allowed_flavors)
    if owner is not None:
        meta["labels"] = {**workload.spec.labels, JOB_UID: owner.uid}
        meta["ownerReferences"] = owner_references(workload, parent)
        meta["finalizers"] = [RESOURCE_IN_USE]
        annotations |= _about(workload, owner)
    if annotations:
        meta["annotations"] = annotations
    value = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": meta}
    return {**value, "spec": workload_spec(workload, templates or {})}


def workload_spec(workload: Workload, templates: Mapping[str, JsonObject]) -> JsonObject:
    """What is asked for, with the whole templates of its pods as far as they are known."""
    asked = workload.spec
    spec: JsonObject = {
        **({"queueName": asked.queue} if asked.queue else {}),
        "priority": asked.priority,
        "active": asked.active,
        "podSets": [_pod_set(one, templates.get(one.name)) for one in asked.pod_sets],
    }
    if asked.max_execution is not None:
        spec[MAXIMUM_EXECUTION_TIME] = seconds_of(asked.max_execution)
    if asked.preemption_gates:
        spec["preemptionGates"] = [{"name": name} for name in asked.preemption_gates]
    if asked.priority_class is not None:
        found = asked.priority_class
        group, kind = (
            ("kueue.x-k8s.io", "WorkloadPriorityClass") if found.workload else ("scheduling.k8s.io", "PriorityClass")
        )
        spec["priorityClassRef"] = {"group": group, "kind": kind, "name": found.name}
    return spec


def gates_of(workload: Workload) -> str:
    """What keeps a workload out of the queue, as the annotation of its object has it."""
    return ",".join(workload.spec.gated_by)


def seconds_of(duration: Millis | None) -> int | None:
    """A duration as objects tell it."""
    return None if duration is None else duration // 1000


def owner_references(workload: Workload, parent: Owner | None = None) -> list[JsonObject]:
    """Who owns the Workload object of a job: its `parent`, or else the job; that of a group all its pods."""
    return _members(workload) or [_owner(workload, parent)]


def _owner(workload: Workload, parent: Owner | None) -> JsonObject:
    owner = parent or workload.owner
    assert owner is not None
    found = {"apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name, "uid": owner.uid}
    # Kueue's manager ends all pods that name a Workload of their own which something else controls.
    alone = parent is not None or not is_of_group(workload)
    return {**found, "controller": True, "blockOwnerDeletion": True} if alone else found


def is_of_group(workload: Workload) -> bool:
    """Whether it is of several pods that no job starts and stops."""
    return made_of_pods(workload) and workload.owner is not None and workload.owner.kind != "Pod"


def _about(workload: Workload, owner: Owner) -> dict[str, str]:
    group, _, version = owner.api_version.rpartition("/")
    found = {POD_SETS: pod_sets_digest(workload)}
    if owner.kind != "PodGroup":
        found |= {JOB_OWNER_GVK: f"{group}/{version}, Kind={owner.kind}", JOB_OWNER_NAME: owner.name}
    if is_of_group(workload):
        found[IS_GROUP_WORKLOAD] = "true"
    if owner.part:
        found[COMPONENT_WORKLOAD_INDEX] = owner.part
    return found


def _slice(workload: Workload) -> dict[str, str]:
    """Which slice of its elastic job it is."""
    found = {ELASTIC_JOB: "true", WORKLOAD_SLICE_NAME: first_slice_name(workload)}
    return {**found, WORKLOAD_SLICE_REPLACEMENT_FOR: workload.spec.replaces} if workload.spec.replaces else found


def _pod_set(pod_set: PodSet, template: JsonObject | None) -> JsonObject:
    least = {} if pod_set.minimum is None else {"minCount": pod_set.minimum}
    asked = {} if pod_set.topology is None else {"topologyRequest": topology_request_object(pod_set.topology)}
    template = template or _outline(pod_set.shape)
    return {"name": pod_set.name, "count": pod_set.count, **least, "template": template, **asked}


def topology_request_object(asked: TopologyRequest) -> JsonObject:
    """A request for a topology as a pod set of a Workload has it, with the fields that are set."""
    layers = [{"topology": one.topology, "size": one.size} for one in asked.slices]
    alone = layers[0] if layers and not asked.layered else {}
    fields: JsonObject = {
        "required": asked.required,
        "preferred": asked.preferred,
        "podIndexLabel": asked.pod_index_label,
        "subGroupIndexLabel": asked.sub_group_index_label,
        "subGroupCount": asked.sub_group_count,
        "podSetGroupName": asked.pod_set_group,
        "podSetSliceRequiredTopology": alone.get("topology"),
        "podSetSliceSize": alone.get("size"),
        "podsetSliceRequiredTopologyConstraints": layers if asked.layered else None,
    }
    chosen = {} if asked.unconstrained is None else {"unconstrained": asked.unconstrained}
    return {**{name: value for name, value in fields.items() if value}, **chosen}


def _outline(shape: PodShape) -> JsonObject:
    """What is known of pods that nobody describes any more."""
    spec: JsonObject = {"containers": [_container(one) for one in shape.containers]}
    if shape.init_containers:
        spec["initContainers"] = [_container(one) for one in shape.init_containers]
    if shape.node_selector:
        spec["nodeSelector"] = shape.node_selector
    if shape.tolerations:
        spec["tolerations"] = [toleration(one) for one in shape.tolerations]
    return {"metadata": {}, "spec": spec}


def _container(one: ContainerShape) -> JsonObject:
    found: JsonObject = {"name": one.name, "resources": {"requests": texts(one.requests), "limits": texts(one.limits)}}
    return {**found, "restartPolicy": "Always"} if one.restartable else found


def _members(workload: Workload) -> list[JsonObject]:
    """The pods of a group own its object together; a pod alone owns it like any job."""
    if workload.owner is None or workload.owner.kind != "PodGroup":
        return []
    return [{"apiVersion": "v1", "kind": "Pod", "name": one.name, "uid": one.uid} for one in workload.spec.members]
