"""Ray's kinds: a head with its sidecars, worker groups of several hosts, and the pod that submits."""

from collections.abc import Mapping
from typing import Any

import msgspec

from events.api.labels import ELASTIC_JOB
from events.job_kind import JobKind
from events.json_object import JsonObject, array_at, is_array, is_object, object_at
from events.json_path import FieldBroken, Location, dotted, get, put, whole
from events.quantity import BadQuantity, parse_quantity
from services.jobs.kinds.managed_by import MULTIKUEUE_MANAGER
from services.jobs.pod_sets.pod_set import Pods

_AUTOSCALER: JsonObject = {
    "requests": {"cpu": "500m", "memory": "512Mi"},
    "limits": {"cpu": "500m", "memory": "512Mi"},
}
_SUBMITTER: JsonObject = {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m", "memory": "200Mi"}}
"""What KubeRay gives the autoscaler beside the head, and the pod that submits, when nobody says otherwise."""
_CLEANS_UP = {"cpu": "200m", "memory": "256Mi"}
"""What KubeRay gives the Job that cleans up in Redis, once the head is gone whose state was kept there."""
_KEPT = "ray.io/ft-enabled"
_BY_POD = "K8sJobMode"
CLUSTER = "rayCluster"
"""Where the watcher puts the RayCluster that a RayJob or RayService runs in before it asks about it."""
CLUSTER_AT: Mapping[str, tuple[str, ...]] = {
    "ray cluster": ("spec",),
    "ray job": ("spec", "rayClusterSpec"),
    "ray service": ("spec", "rayClusterConfig"),
}
"""By reader, where a kind describes its cluster."""
WORKER_GROUPS = "workerGroupSpecs"
"""Of a cluster, where its groups of workers are."""
_SIZE = ("replicas", "numOfHosts")
"""Of a worker group, what says how many pods it has."""
_BOUNDS = ("minReplicas", "maxReplicas")
"""Of a worker group, between what its operator keeps the replicas."""
CLUSTER_NAME_AT: Mapping[str, Location] = {
    "ray job": ("status", "rayClusterName"),
    "ray service": ("status", "activeServiceStatus", "rayClusterName"),
}
"""By reader, where a kind says which cluster it runs in."""


def cluster_pods(kind: JobKind, job: JsonObject) -> list[Pods]:
    """Head and worker groups of a RayCluster, or of what has one in it. Raises `FieldBroken`."""
    return _cluster(job, CLUSTER_AT[kind.reader])


def service_pods(kind: JobKind, job: JsonObject) -> list[Pods]:
    """Head and worker groups of a RayService. Raises `FieldBroken`."""
    return _scaled(job, _cluster(job, CLUSTER_AT[kind.reader]))


def job_pods(kind: JobKind, job: JsonObject) -> list[Pods]:
    """Head, worker groups and submitter of a RayJob; none when it uses a cluster that is there. Raises `FieldBroken`."""
    if get(job, ("spec", "clusterSelector")):
        return []
    found = _scaled(job, _cluster(job, CLUSTER_AT[kind.reader]))
    if not has_submitter(kind, job):
        return found
    at = ("spec", "submitterPodTemplate")
    image = get(found[0].template, ("spec", "containers", 0, "image")) or ""
    container = {"name": "ray-job-submitter", "image": image, "resources": _SUBMITTER}
    implied: JsonObject = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    template = get(job, at) or implied
    return [*found, Pods(name="submitter", count=1, template=template, at=at, implied=implied)]


def autoscaling_at(kind: JobKind, job: JsonObject) -> Location | None:
    """Where a job of Ray's says that Ray's own autoscaler changes how many workers it has; None where it does not."""
    at = CLUSTER_AT.get(kind.reader)
    if at is None or get(job, (*at, "enableInTreeAutoscaling")) is not True:
        return None
    return (*at, "enableInTreeAutoscaling")


def autoscaled_cluster(kind: JobKind, job: JsonObject) -> str:
    """The name of the RayCluster here that says how many workers an elastic RayJob or RayService wants; empty where it says so itself.

    Ray's autoscaler changes the cluster and not the job that it is made for. Of one that runs elsewhere the cluster is there,
    and what is changed of it is written into the job here.

    Rule: docs/rules/elastic.md#ray
    """
    if CLUSTER_NAME_AT.get(kind.reader) is None or get(job, ("spec", "managedBy")) == MULTIKUEUE_MANAGER:
        return ""
    return cluster_name(kind, job) if is_autoscaled(kind, job) else ""


def is_autoscaled(kind: JobKind, job: JsonObject) -> bool:
    """Whether Ray's own autoscaler changes the size of a job, which has to be elastic for that."""
    elastic = object_at(job, "metadata", "annotations").get(ELASTIC_JOB) == "true"
    return elastic and autoscaling_at(kind, job) is not None


def cluster_name(kind: JobKind, job: JsonObject) -> str:
    """The RayCluster in which a job of Ray's runs by its status: itself if it is one; empty while it says none."""
    at = CLUSTER_NAME_AT.get(kind.reader)
    return str(get(job, at) or "") if at is not None else str(object_at(job, "metadata")["name"])


def has_submitter(kind: JobKind, job: JsonObject) -> bool:
    """Whether a pod of its own submits what a RayJob is to run."""
    return kind.reader == "ray job" and (get(job, ("spec", "submissionMode")) or _BY_POD) == _BY_POD


def with_groups(kind: JobKind, job: JsonObject, written: JsonObject, counts: Mapping[str, int]) -> JsonObject:
    """A job of Ray's with as many workers of each group as its slice has; `counts` are pods, by pod set.

    It has the bounds of the groups of what is `written`, and those groups as they are there where that is the size of the slice.
    Where Ray's autoscaler changes it, it keeps its sizes and gets the bounds alone.
    """
    at = (*CLUSTER_AT[kind.reader], WORKER_GROUPS)
    wanted = {str(one.get("groupName")): one for one in array_at(written, *at)}
    found: list[JsonObject] = []
    for group in array_at(job, *at):
        here = wanted.get(str(group.get("groupName")), group)
        changed = {name: here[name] for name in _BOUNDS if name in here}
        pods = counts.get(str(group.get("groupName")).lower())
        if pods is not None and not is_autoscaled(kind, written) and _pods_in(group) != pods:
            sized = here if _pods_in(here) == pods else {"replicas": pods // max(group.get("numOfHosts") or 1, 1)}
            changed |= {name: sized[name] for name in _SIZE if name in sized}
        found.append({**group, **changed})
    return put(job, at, found) if found != array_at(job, *at) else job


def pending_is_suspended(kind: JobKind, job: JsonObject) -> bool:
    """Whether a RayService has no cluster yet but one that has never served, and that is suspended."""
    status = object_at(job, "status")
    if kind.reader != "ray service" or object_at(status, "activeServiceStatus").get("rayClusterName"):
        return False
    return get(status, ("pendingServiceStatus", "rayClusterStatus", "state")) == "suspended"


def groups_of(kind: JobKind, job: JsonObject, cluster: JsonObject) -> list[JsonObject]:
    """The worker groups of a job of Ray's, with as many workers as a RayCluster has of each."""
    sizes = {str(one.get("groupName")): one for one in array_at(cluster, "spec", WORKER_GROUPS)}
    return [
        {**one, **{name: value for name, value in sizes.get(str(one.get("groupName")), {}).items() if name in _SIZE}}
        for one in array_at(job, *CLUSTER_AT[kind.reader], WORKER_GROUPS)
    ]


def _pods_in(group: JsonObject) -> int:
    replicas, hosts = group.get("replicas"), group.get("numOfHosts")
    return (1 if replicas is None else replicas) * (1 if hosts is None else hosts)


def _scaled(job: JsonObject, found: list[Pods]) -> list[Pods]:
    """The pod sets with as many workers as its RayCluster has by now, where that is beside the job. Raises `FieldBroken`."""
    cluster = job.get(CLUSTER)
    if not is_object(cluster):
        return found
    names = [one.name for one in found]
    counts: dict[str, int] = {}
    for index, group in enumerate(array_at(cluster, "spec", "workerGroupSpecs")):
        at = ("spec", "workerGroupSpecs", index)
        name = str(group.get("groupName") or "").lower()
        if name not in names:
            which = f"its RayCluster {object_at(cluster, 'metadata').get('name')} has a worker group {name!r} of which it knows nothing"
            raise FieldBroken(dotted(at), which, f"one of {', '.join(names[1:]) or 'none'}")
        if group.get("replicas") is not None:
            counts[name] = whole(cluster, "replicas", 1, at) * whole(cluster, "numOfHosts", 1, at)
    return [msgspec.structs.replace(one, count=counts.get(one.name, one.count)) for one in found]


def _cluster(job: JsonObject, at: Location) -> list[Pods]:
    head = (*at, "headGroupSpec", "template")
    template = _template(job, head)
    if get(job, (*at, "gcsFaultToleranceOptions")) is not None or _is_kept(job):
        template = _with_clean_up(template)
    if get(job, (*at, "enableInTreeAutoscaling")) is True:
        said = get(job, (*at, "autoscalerOptions", "resources"))
        template = _with_autoscaler(template, _AUTOSCALER if said is None else said)
    found = [Pods(name="head", count=1, template=template, at=head)]
    groups = get(job, (*at, "workerGroupSpecs"))
    for index in range(len(groups) if is_array(groups) else 0):
        group = (*at, "workerGroupSpecs", index)
        place = (*group, "template")
        count = whole(job, "replicas", 1, group) * whole(job, "numOfHosts", 1, group)
        name = str(get(job, (*group, "groupName")) or "").lower()
        if not name:
            raise FieldBroken(dotted((*group, "groupName")), "the worker group has no name", "a name for each group")
        found.append(Pods(name=name, count=count, template=_template(job, place), at=place))
    return found


def _template(job: JsonObject, at: Location) -> JsonObject:
    found = get(job, at)
    if not is_object(found):
        raise FieldBroken(dotted(at), "there is no pod template", "a template with a spec")
    return found


def _is_kept(job: JsonObject) -> bool:
    return str(object_at(job, "metadata", "annotations").get(_KEPT)).lower() == "true"


def _with_clean_up(template: JsonObject) -> JsonObject:
    """The template of a head whose first container asks for no less than the Job that comes after it."""
    first, *others = array_at(template, "spec", "containers") or [None]
    if not is_object(first):
        return template
    resources = object_at(first, "resources")
    asked = {**object_at(resources, "limits"), **object_at(resources, "requests")}
    requests = asked | {name: _larger(asked.get(name, 0), least) for name, least in _CLEANS_UP.items()}
    container = {**first, "resources": {**resources, "requests": requests}}
    return put(template, ("spec", "containers"), [container, *others])


def _larger(asked: Any, least: str) -> Any:
    """The larger of two quantities; what is none is refused by who reads the pods."""
    try:
        return asked if parse_quantity(asked) >= parse_quantity(least) else least
    except (BadQuantity, TypeError):
        return asked


def _with_autoscaler(template: JsonObject, resources: Any) -> JsonObject:
    spec = object_at(template, "spec")
    sidecar = {"name": "autoscaler", "resources": resources}
    return {**template, "spec": {**spec, "containers": [*array_at(spec, "containers"), sidecar]}}
