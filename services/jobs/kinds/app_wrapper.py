"""AppWrapper: pods of the things that it wraps, as it says itself or as their kinds say."""

from collections.abc import Callable
from typing import Any

import msgspec

from events.job_kind import JobKind
from events.json_object import JsonMapping, JsonObject, array_at, is_object, object_at, objects_at
from events.json_path import FieldBroken, Location, dotted, get, locate, whole
from events.whole_number import whole_number
from services.jobs.kinds.ray import cluster_pods
from services.jobs.kinds.table import KINDS, RAY_CLUSTER, RAY_JOB
from services.jobs.pod_sets.pod_set import InjectionForm, PodIndex, Pods

Read = Callable[[JobKind, JsonObject], list[Pods]]
_BARE = {"Pod": "", "Deployment": "spec.template", "StatefulSet": "spec.template", "ReplicaSet": "spec.template"}
"""Where the pods of kinds are that are no jobs."""
_POD_DEFAULTS: JsonObject = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "securityContext": {},
    "schedulerName": "default-scheduler",
    "preemptionPolicy": "PreemptLowerPriority",
}
_POD_FIELDS = (
    "nodeSelector",
    "nodeName",
    "affinity",
    "tolerations",
    "priorityClassName",
    "overhead",
    "topologySpreadConstraints",
)
_CONTAINER_DEFAULTS: JsonObject = {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}
_CONTAINER_FIELDS = ("name", "image", "command", "args", "resources", "imagePullPolicy", "securityContext")
_SUSPEND, _INFOS = ("spec", "suspend"), "podSetInfos"
_INDEX = "workload.codeflare.dev.appwrapper/tas-"
"""How the annotations of declared pods begin that say which labels bear their ranks."""


def component_pods(plain: Read) -> Read:
    """Reads an AppWrapper; components that are jobs are read by `plain`."""

    def read(kind: JobKind, job: JsonObject) -> list[Pods]:
        del kind
        name = object_at(job, "metadata").get("name", "")
        found: list[Pods] = []
        let_in = _is_let_in(job)
        for index, component in enumerate(array_at(job, "spec", "components")):
            at = ("spec", "components", index)
            for number, one in enumerate(_of_component(component, at, plain, let_in=let_in)):
                place = (*at, _INFOS, number)
                found.append(
                    msgspec.structs.replace(
                        one,
                        name=f"{name}-{len(found)}",
                        former=f"{name}-{index}-{number}",
                        at=place,
                        form=InjectionForm.INFO,
                    )
                )
        if not found:
            raise FieldBroken("spec.components", "it wraps no pods", "at least one component with pods")
        return found

    return read


def counted_part(template: JsonObject) -> JsonObject:
    """What a Workload has of the template of wrapped pods, in Kueue: a part of it, with the defaults that no API server has set in it.

    A worker under Kueue holds what is in a copy against the same part of the AppWrapper there.
    """
    spec = object_at(template, "spec")
    lists = {
        name: [_counted_container(one) for one in objects_at(spec, name)]
        for name in ("initContainers", "containers")
        if objects_at(spec, name)
    }
    own = {name: spec[name] for name in (*_POD_DEFAULTS, *_POD_FIELDS) if spec.get(name)}
    return {**template, "spec": {**_POD_DEFAULTS, **own, **lists}}


def _counted_container(container: JsonMapping) -> JsonObject:
    tag = "IfNotPresent" if _has_version(str(container.get("image", ""))) else "Always"
    own = {name: container[name] for name in (*_CONTAINER_DEFAULTS, *_CONTAINER_FIELDS) if container.get(name)}
    return {"imagePullPolicy": tag, **_CONTAINER_DEFAULTS, **own}


def _has_version(image: str) -> bool:
    """Whether an image is named by a digest, or by another tag than `latest`."""
    named, digest, _ = image.partition("@")
    tag = named.rpartition("/")[2].partition(":")[2]
    return tag not in ("", "latest") or (bool(digest) and not tag)


def _is_let_in(job: JsonObject) -> bool:
    """Whether it runs with what was chosen for its pods."""
    return get(job, _SUSPEND) is not True and any(one.get(_INFOS) for one in objects_at(job, "spec", "components"))


def _of_component(component: Any, at: Location, plain: Read, *, let_in: bool) -> list[Pods]:
    """The pods of a component, each still to be named.

    Earlier versions took a wrapped cluster of Ray's for something without pods: what runs so goes on, and is counted when it starts anew.
    """
    if not is_object(component) or not is_object(component.get("template") or {}):
        raise FieldBroken(dotted(at), "it is no object that wraps a job", "a component with a template")
    wrapped: JsonObject = component.get("template") or {}
    declared = objects_at(component, "podSets")
    if declared:
        return [_declared(wrapped, one, (*at, "podSets", number)) for number, one in enumerate(declared)]
    word, api = str(wrapped.get("kind", "")), str(wrapped.get("apiVersion", ""))
    if word in _BARE and ("/" not in api or api.startswith("apps/")):
        template = get(wrapped, tuple(_BARE[word].split("."))) if _BARE[word] else wrapped
        count = whole(wrapped, "spec.replicas", 1) if _BARE[word] else 1
        return [Pods(name="", count=count, template=template or {}, at=at)]
    known = next((one for one in KINDS if (one.kind, one.group) == (word, api.rpartition("/")[0])), None)
    if known in (RAY_CLUSTER, RAY_JOB):
        # The controller of AppWrappers knows of no submitter of a RayJob.
        return [] if let_in and not component.get(_INFOS) else cluster_pods(known, wrapped)
    if known is None or (known.reader and known.reader != "job"):
        return []
    return plain(known, wrapped)


def _declared(wrapped: JsonObject, one: JsonMapping, at: Location) -> Pods:
    path = str(one.get("path", ""))
    template = wrapped if path == "template" else None
    if template is None:
        places = locate(wrapped, path.removeprefix("template.").replace("[", ".").replace("]", ""))
        template = get(wrapped, places[0]) if places else None
    if not is_object(template):
        raise FieldBroken(f"{dotted(at)}.path", f"{path!r} leads to no pod template", "e.g. template.spec.template")
    notes: JsonObject = one.get("annotations") or {}
    index = PodIndex(
        label=str(notes.get(f"{_INDEX}pod-index-label", "")),
        sub_group_label=str(notes.get(f"{_INDEX}sub-group-index-label", "")),
        sub_group_count=whole_number(str(notes.get(f"{_INDEX}sub-group-count", ""))) or 0,
    )
    return Pods(name="", count=whole({"one": one}, "one.replicas", 1), template=template, at=at, index=index)
