"""Pods that run and that no queue manages, brought into queues as Kueue's importer does: each gets a Workload that holds its quota.

Rule: docs/adopt.md#pods-that-nobody-manages
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress

import msgspec

from events.api.labels import JOB_UID, MANAGED, QUEUE_NAME, RESOURCE_IN_USE
from events.api.pods import ApiPod, PodTemplate
from events.event import Millis
from events.json_object import JsonObject, array_at, object_at, objects_at
from events.pod_set import PodSet
from events.quantity import from_units
from events.quota import StopPolicy
from events.settings import SettingsObserved
from events.timestamp import format_timestamp
from ops.production.kubernetes.client import KubeClient, path_of
from projections.quota.effective_requests import pod_set_requests
from services.jobs.kinds.managed_kinds import kinds_of
from services.jobs.workload_name import workload_name
from services.runtime.cluster_port import NAMESPACES, ObjectConflict, Resource
from services.watcher.fields.object_reading import read
from services.watcher.fields.pod_shapes import pod_shape
from services.watcher.fields.problems import Refused

GROUP, VERSION = "kueue.x-k8s.io", "v1beta2"
PODS = Resource(plural="pods", kind="Pod")
NODES = Resource(plural="nodes", kind="Node", namespaced=False)
PRIORITY_CLASSES = Resource(group="scheduling.k8s.io", plural="priorityclasses", kind="PriorityClass", namespaced=False)
WORKLOADS = Resource(group=GROUP, version=VERSION, plural="workloads", kind="Workload")
LOCAL_QUEUES = Resource(group=GROUP, version=VERSION, plural="localqueues", kind="LocalQueue")
CLUSTER_QUEUES = Resource(group=GROUP, version=VERSION, plural="clusterqueues", kind="ClusterQueue", namespaced=False)
FLAVORS = Resource(group=GROUP, version=VERSION, plural="resourceflavors", kind="ResourceFlavor", namespaced=False)
IMPORTED = "Imported"
_MAIN = "main"
_OVER = ("Succeeded", "Failed")
SET_LABELS = frozenset({QUEUE_NAME, MANAGED, JOB_UID})
"""The labels that say whose a pod or a Workload is."""


class MappingRule(msgspec.Struct, frozen=True, kw_only=True):
    """Pods with all of these labels, and of this class if one is named, go to a local queue or are left out."""

    labels: Mapping[str, str]
    priority_class: str = ""
    to_local_queue: str = ""
    skip: bool = False

    def matches(self, pod: JsonObject) -> bool:
        """Whether a pod is meant."""
        labels = object_at(pod, "metadata", "labels")
        named = self.priority_class in ("", object_at(pod, "spec").get("priorityClassName"))
        return named and all(labels.get(name) == value for name, value in self.labels.items())


class PodImport(msgspec.Struct, frozen=True, kw_only=True):
    """What is to become of one pod: a Workload in a queue, or the problem because of which it stays as it is."""

    pod: str
    """`namespace/name`."""
    queue: str = ""
    cluster_queue: str = ""
    flavors: Mapping[str, str] = {}
    usage: Mapping[str, str] = {}
    problem: str = ""
    workload: JsonObject = {}


class ImportTargets(msgspec.Struct, frozen=True, kw_only=True):
    """What there is in the cluster besides pods, by name."""

    local_queues: Mapping[str, JsonObject]
    """By `namespace/name`."""
    cluster_queues: Mapping[str, JsonObject]
    flavors: Mapping[str, JsonObject]
    nodes: Mapping[str, JsonObject]
    classes: Mapping[str, JsonObject]


async def found_pods(client: KubeClient, namespaces: Sequence[str]) -> list[JsonObject]:
    """The pods of namespaces that have not ended, are not being deleted and that no queue manages.

    Raises `ObjectMissing` where there is no such namespace, since a list of its pods is merely empty.
    """
    for space in namespaces:
        await client.get(NAMESPACES, "", space)
    pods = [one for space in dict.fromkeys(namespaces) for one in await _all(client, PODS, space)]
    return [one for one in pods if _is_candidate(one)]


async def targets(client: KubeClient) -> ImportTargets:
    """All that the pods may be mapped to."""
    queues = {
        f"{one['metadata']['namespace']}/{one['metadata']['name']}": one for one in await _all(client, LOCAL_QUEUES)
    }
    return ImportTargets(
        local_queues=queues,
        cluster_queues=_by_name(await _all(client, CLUSTER_QUEUES)),
        flavors=_by_name(await _all(client, FLAVORS)),
        nodes=_by_name(await _all(client, NODES)),
        classes=_by_name(await _all(client, PRIORITY_CLASSES)),
    )


def planned(
    pods: Sequence[JsonObject], rules: Sequence[MappingRule], around: ImportTargets, settings: SettingsObserved
) -> list[PodImport]:
    """What is to become of each pod that is not left out, in the order of their names."""
    found: list[PodImport] = []
    for pod in sorted(pods, key=_key):
        rule = next((one for one in rules if one.matches(pod)), None)
        if rule is None:
            found.append(PodImport(pod=_key(pod), problem="no mapping says to which LocalQueue it goes"))
        elif not rule.skip:
            found.append(_planned(pod, rule.to_local_queue, around, settings))
    return found


async def carry_out(client: KubeClient, one: PodImport, add: Mapping[str, str], at: Millis) -> None:
    """Create the Workload with its admission, and then label the pod: at no time it is seen as one that waits.

    Raises what the API server answers.
    """
    namespace, _, name = one.pod.partition("/")
    value = {**one.workload, "metadata": {**one.workload["metadata"]}}
    value["metadata"]["labels"] = {**value["metadata"]["labels"], **add}
    key = value["metadata"]["name"]
    with suppress(ObjectConflict):  # It was begun before, and is finished now.
        await client.create(WORKLOADS, namespace, value)
    await client.merge(WORKLOADS, namespace, key, {"status": _status(one, at)}, subresource="status")
    labels = {QUEUE_NAME: one.queue, MANAGED: "true", **add}
    uid = value["metadata"]["ownerReferences"][0]["uid"]
    await client.merge(PODS, namespace, name, {"metadata": {"uid": uid, "labels": labels}})


def _planned(pod: JsonObject, queue: str, around: ImportTargets, settings: SettingsObserved) -> PodImport:
    key = _key(pod)
    space = key.partition("/")[0]

    def stays(problem: str) -> PodImport:
        return PodImport(pod=key, queue=queue, problem=problem)

    owner = next((one for one in objects_at(pod, "metadata", "ownerReferences") if one.get("controller")), None)
    if owner is not None and kinds_of(settings).owns_jobs(str(owner.get("apiVersion")), str(owner.get("kind"))):
        return stays(f"it belongs to {owner.get('kind')} {owner.get('name')}: that is what a queue manages")
    local = around.local_queues.get(f"{space}/{queue}")
    if local is None:
        return stays(f"there is no LocalQueue {queue} in its namespace")
    name = str(object_at(local, "spec").get("clusterQueue"))
    cluster_queue = around.cluster_queues.get(name)
    if cluster_queue is None:
        return stays(f"LocalQueue {queue} leads to ClusterQueue {name}, which is not there")
    for kind, value in (("LocalQueue", local), ("ClusterQueue", cluster_queue)):
        if (
            object_at(value, "spec").get("stopPolicy") == StopPolicy.HOLD_AND_DRAIN
        ):  # It would be ended as soon as it is in.
            return stays(f"{kind} {value['metadata']['name']} is stopped, and stops what runs in it: resume it first")
    named = object_at(pod, "spec").get("priorityClassName")
    if named and named not in around.classes:
        return stays(f"there is no PriorityClass {named}")
    try:
        template = read(pod, ApiPod)
        shape = pod_shape(PodTemplate(metadata=template.metadata, spec=template.spec), "pod")
    except Refused as refused:
        return stays(f"{refused.problems[0].field}: {refused.problems[0].message}")
    pod_set = PodSet(name=_MAIN, count=1, shape=shape)
    requests = pod_set_requests(pod_set, 1, settings, covers_pods=_covers_pods(cluster_queue))
    flavors = _flavors(requests, cluster_queue, _labels_of_node(pod, around), around)
    if isinstance(flavors, str):
        return stays(flavors)
    return PodImport(
        pod=key,
        queue=queue,
        cluster_queue=name,
        flavors=flavors,
        usage={resource: from_units(resource, requests[resource]) for resource in sorted(flavors)},
        workload=_workload(pod, queue, around.classes.get(str(named)) if named else None),
    )


def _flavors(
    requests: Mapping[str, int], cluster_queue: JsonObject, on: Mapping[str, str], around: ImportTargets
) -> dict[str, str] | str:
    """By resource that its queue covers, the first flavor of the node that it is on, else the first one; or what is wrong."""
    found: dict[str, str] = {}
    for group in objects_at(cluster_queue, "spec", "resourceGroups"):
        asked = [resource for resource in array_at(group, "coveredResources") if requests.get(str(resource))]
        names = [str(one.get("name")) for one in objects_at(group, "flavors")]
        missing = next((name for name in names if name not in around.flavors), None)
        if asked and missing is not None:
            return f"its ClusterQueue has the ResourceFlavor {missing}, which is not there"
        own = [name for name in names if object_at(around.flavors[name], "spec", "nodeLabels").items() <= on.items()]
        if asked and names:
            found.update({str(resource): (own or names)[0] for resource in asked})
    return found or "its ClusterQueue covers none of what it asks for"


def _workload(pod: JsonObject, queue: str, priority_class: JsonObject | None) -> JsonObject:
    meta = pod["metadata"]
    name, uid = str(meta["name"]), str(meta["uid"])
    labels = {key: value for key, value in object_at(meta, "labels").items() if key not in (QUEUE_NAME, MANAGED)}
    template = {"metadata": {"labels": labels} if labels else {}, "spec": object_at(pod, "spec")}
    spec: JsonObject = {
        "queueName": queue,
        "active": True,
        "priority": 0 if priority_class is None else priority_class.get("value", 0),
        "podSets": [{"name": _MAIN, "count": 1, "template": template}],
    }
    if priority_class is not None:
        named = priority_class["metadata"]["name"]
        spec["priorityClassRef"] = {"group": "scheduling.k8s.io", "kind": "PriorityClass", "name": named}
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "Workload",
        "metadata": {
            "name": workload_name("Pod", "", name, uid),
            "namespace": meta["namespace"],
            "labels": {JOB_UID: uid},
            "finalizers": [RESOURCE_IN_USE],
            "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid, "controller": True}],
        },
        "spec": spec,
    }


def _status(one: PodImport, at: Millis) -> JsonObject:
    told = {"reason": IMPORTED, "message": f"Imported into ClusterQueue {one.cluster_queue}"}
    assignment = {"name": _MAIN, "count": 1, "flavors": one.flavors, "resourceUsage": one.usage}
    return {
        "admission": {"clusterQueue": one.cluster_queue, "podSetAssignments": [assignment]},
        "conditions": [
            {"type": kind, "status": "True", "lastTransitionTime": format_timestamp(at), **told}
            for kind in ("QuotaReserved", "Admitted")
        ],
    }


async def _all(client: KubeClient, resource: Resource, namespace: str = "") -> list[JsonObject]:
    answer = await client.request("GET", path_of(resource, namespace))
    return [{**one} for one in objects_at(answer, "items")]


def _by_name(found: Sequence[JsonObject]) -> dict[str, JsonObject]:
    return {str(one["metadata"]["name"]): one for one in found}


def _key(pod: JsonObject) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def _is_candidate(pod: JsonObject) -> bool:
    meta = object_at(pod, "metadata")
    ended = object_at(pod, "status").get("phase") in _OVER
    return not ended and not meta.get("deletionTimestamp") and QUEUE_NAME not in object_at(meta, "labels")


def _covers_pods(cluster_queue: JsonObject) -> bool:
    groups = objects_at(cluster_queue, "spec", "resourceGroups")
    return any("pods" in array_at(group, "coveredResources") for group in groups)


def _labels_of_node(pod: JsonObject, around: ImportTargets) -> Mapping[str, str]:
    node = around.nodes.get(str(object_at(pod, "spec").get("nodeName") or ""))
    return {} if node is None else object_at(node, "metadata", "labels")
