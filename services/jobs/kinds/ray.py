"""Ray's kinds: a head with its sidecars, worker groups of several hosts, and the pod that submits."""

from typing import Any

from events.job_kind import JobKind
from events.json_object import JsonObject, array_at, is_array, is_object, object_at
from events.json_path import FieldBroken, Location, dotted, get, whole
from services.jobs.pod_sets.pod_set import Pods

_AUTOSCALER: JsonObject = {
    "requests": {"cpu": "500m", "memory": "512Mi"},
    "limits": {"cpu": "500m", "memory": "512Mi"},
}
_SUBMITTER: JsonObject = {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m", "memory": "200Mi"}}
"""What KubeRay gives the autoscaler beside the head, and the pod that submits, when nobody says otherwise."""


def cluster_pods(kind: JobKind, job: JsonObject) -> list[Pods]:
    """Head and worker groups of a RayCluster. Raises `FieldBroken`."""
    del kind
    return _cluster(job, ("spec",))


def service_pods(kind: JobKind, job: JsonObject) -> list[Pods]:
    """Head and worker groups of a RayService. Raises `FieldBroken`."""
    del kind
    return _cluster(job, ("spec", "rayClusterConfig"))


def job_pods(kind: JobKind, job: JsonObject) -> list[Pods]:
    """Head, worker groups and submitter of a RayJob; none when it uses a cluster that is there. Raises `FieldBroken`."""
    del kind
    if get(job, ("spec", "clusterSelector")):
        return []
    found = _cluster(job, ("spec", "rayClusterSpec"))
    if (get(job, ("spec", "submissionMode")) or "K8sJobMode") != "K8sJobMode":
        return found
    at = ("spec", "submitterPodTemplate")
    image = get(found[0].template, ("spec", "containers", 0, "image")) or ""
    container = {"name": "ray-job-submitter", "image": image, "resources": _SUBMITTER}
    implied: JsonObject = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    template = get(job, at) or implied
    return [*found, Pods(name="submitter", count=1, template=template, at=at, implied=implied)]


def _cluster(job: JsonObject, at: Location) -> list[Pods]:
    head = (*at, "headGroupSpec", "template")
    template = _template(job, head)
    if get(job, (*at, "enableInTreeAutoscaling")) is True:
        template = _with_autoscaler(template, get(job, (*at, "autoscalerOptions", "resources")) or _AUTOSCALER)
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


def _with_autoscaler(template: JsonObject, resources: Any) -> JsonObject:
    spec = object_at(template, "spec")
    sidecar = {"name": "autoscaler", "resources": resources}
    return {**template, "spec": {**spec, "containers": [*array_at(spec, "containers"), sidecar]}}
