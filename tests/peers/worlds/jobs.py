"""Batch Jobs in the place of Workloads, so that managers make the Workloads themselves: how a world gets them, and what happens to them.

No controller of Jobs is there: who plays the world shows on a Job that it is suspended, that pods are ready where the world has `ready`, and that they
have ended.
"""

import json
import random
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from events.api.labels import (
    ADMISSION_GATED_BY,
    IS_GROUP_WORKLOAD,
    JOB_COMPLETIONS_EQUAL_PARALLELISM,
    JOB_MIN_PARALLELISM,
    JOB_OWNER_GVK,
    JOB_OWNER_NAME,
    JOB_UID,
    MAX_EXEC_TIME_SECONDS,
    MULTIKUEUE_WORKER_POD,
    PODSET_PREFERRED_TOPOLOGY,
    PODSET_REQUIRED_TOPOLOGY,
    PODSET_SLICE_LAYERS,
    PODSET_SLICE_REQUIRED_TOPOLOGY,
    PODSET_SLICE_SIZE,
    PODSET_UNCONSTRAINED_TOPOLOGY,
    PRIORITY_CLASS,
    QUEUE_NAME,
)
from events.event import Millis
from events.json_object import JsonObject
from events.json_path import look
from events.timestamp import format_timestamp
from ops.production.kubernetes.client import ApiRequests
from services.runtime.cluster_port import ObjectConflict, ObjectInvalid, ObjectMissing, Resource
from tests.peers.worlds.drawn import KUEUE, STARTS, Step, World

JOBS = Resource(group="batch", version="v1", plural="jobs", kind="Job")
_LATER = (JOB_OWNER_GVK, JOB_OWNER_NAME)
"""Annotations that Kueue 0.17 does not write yet."""
_NONE_LEFT: JsonObject = {"active": 0, "ready": 0}
"""What a Job shows of its pods when none is there any more."""
OWN_CONTROLLER = "kubernetes.io/job-controller"
"""Whose a Job is that says nothing of it."""
_ALONE = 1
"""A Job has one set of pods; who has more stays a Workload."""
TOPOLOGY = {
    "required": PODSET_REQUIRED_TOPOLOGY,
    "preferred": PODSET_PREFERRED_TOPOLOGY,
    "podSetSliceRequiredTopology": PODSET_SLICE_REQUIRED_TOPOLOGY,
    "podSetSliceSize": PODSET_SLICE_SIZE,
    "podsetSliceRequiredTopologyConstraints": PODSET_SLICE_LAYERS,
    "unconstrained": PODSET_UNCONSTRAINED_TOPOLOGY,
}


def with_jobs(world: World, chance: random.Random) -> World:
    """The world with Jobs in the place of most Workloads that have one set of pods, and with what people do to Jobs."""
    names = {
        step.name
        for step in world.steps
        if step.verb == "create"
        and step.kind == "Workload"
        and len(step.value["spec"]["podSets"]) == _ALONE
        and chance.random() < 0.85
    }
    classes: dict[int, str] = {}
    steps: list[Step] = []
    for step in world.steps:
        mine = step.kind == "Workload" and step.name in names
        steps.append(of_job(step, "Job", world, classes, chance, _job) if mine else step)
    insert_changes(steps, names, lambda made: _change(world, made, chance), chance)
    return with_classes(replace(world, steps=tuple(steps)), classes)


def insert_changes(
    steps: list[Step], names: Iterable[str], change: Callable[[Step], Step], chance: random.Random
) -> None:
    """Have people change jobs of these names by hand, each sometime after the step that makes it."""
    for name in sorted(names):
        first = next(number for number, one in enumerate(steps) if one.name == name and one.verb == "create")
        for _ in range(chance.choice((0, 0, 1, 1, 2))):
            steps.insert(chance.randint(first + 1, len(steps)), change(steps[first]))


def with_classes(world: World, classes: Mapping[int, str]) -> World:
    """The world with a WorkloadPriorityClass for each of these priorities."""
    there = {one["metadata"]["name"] for one in world.objects if one["kind"] == "WorkloadPriorityClass"}
    made = [
        {"apiVersion": KUEUE, "kind": "WorkloadPriorityClass", "metadata": {"name": name}, "value": value}
        for value, name in sorted(classes.items())
        if name not in there
    ]
    return replace(world, objects=(*world.objects, *made))


def class_of(spec: JsonObject, world: World, classes: dict[int, str]) -> str:
    """The class that a Workload names, else one of its priority, which is then among `classes`."""
    named = look(spec, "priorityClassRef.name")
    return named or classes.setdefault(spec["priority"], f"{world.space}-of-{spec['priority']}")


def of_job(
    step: Step,
    kind: str,
    world: World,
    classes: dict[int, str],
    chance: random.Random,
    made: Callable[[JsonObject, str, random.Random], JsonObject],
) -> Step:
    """What happens to a job of a kind when that would have happened to the Workload, of which and of whose class the job is `made`."""
    job = replace(step, kind=kind)
    match step.verb:
        case "create":
            return replace(job, value=made(step.value, class_of(step.value["spec"], world, classes), chance))
        case "finish":
            return replace(job, value={"fails": chance.random() < 0.3})
        case "move":
            return replace(job, value={"metadata": {"labels": {QUEUE_NAME: step.value["spec"]["queueName"]}}})
        case "merge" if "priority" in step.value.get("spec", {}):
            named = class_of(step.value["spec"], world, classes)
            return replace(job, value={"metadata": {"labels": {PRIORITY_CLASS: named}}})
        case _:
            return job


def _job(workload: JsonObject, priority_class: str, chance: random.Random) -> JsonObject:
    spec, meta = workload["spec"], workload["metadata"]
    pod_set = spec["podSets"][0]
    count = pod_set["count"]
    labels = job_labels(workload, priority_class, chance)
    notes = dict(meta.get("annotations") or {})
    many = chance.choice((count, count, count + 2, max(count - 1, 1), None))
    found: JsonObject = {"parallelism": count, "completions": many, "suspend": chance.random() < 0.8}
    if "minCount" in pod_set:
        notes[JOB_MIN_PARALLELISM] = str(pod_set["minCount"])
        found["completions"] = count
        if chance.random() < 0.3:
            notes[JOB_COMPLETIONS_EQUAL_PARALLELISM] = "true"
            found["completionMode"] = "Indexed"
    elif many is not None and chance.random() < 0.3:
        found["completionMode"] = "Indexed"
    drawn = topology_notes(pod_set) or chance.random() < 0.5
    found["template"] = annotated(pod_set, meta["name"]) if drawn else pod_set["template"]
    where = {"name": meta["name"], "namespace": meta["namespace"], "labels": labels, "annotations": notes}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": where, "spec": found}


def job_labels(workload: JsonObject, priority_class: str, chance: random.Random) -> JsonObject:
    """The labels of the job in the place of a Workload."""
    spec, meta = workload["spec"], workload["metadata"]
    labels = {QUEUE_NAME: spec["queueName"], "team": "a"}
    if spec["priority"] or chance.random() < 0.5:
        labels[PRIORITY_CLASS] = priority_class
    if "maximumExecutionTimeSeconds" in spec:
        labels[MAX_EXEC_TIME_SECONDS] = str(spec["maximumExecutionTimeSeconds"])
    if STARTS in (meta.get("labels") or {}):
        labels[STARTS] = meta["labels"][STARTS]
    return labels


def topology_notes(pod_set: JsonObject) -> JsonObject:
    """What a pod set asks for of a topology, as annotations of its template."""
    asked = pod_set.get("topologyRequest", {})
    return {TOPOLOGY[key]: text_of(one) for key, one in asked.items() if key in TOPOLOGY}


def annotated(pod_set: JsonObject, name: str) -> JsonObject:
    """Its template with these annotations, with one that says nothing, and with a label of who it is of."""
    told = {"annotations": {"note": "drawn", **topology_notes(pod_set)}, "labels": {"app": name}}
    return {"metadata": told, "spec": pod_set["template"]["spec"]}


def text_of(value: str | int | bool | list[JsonObject]) -> str:  # noqa: FBT001 - one of the values of a field
    """A value of a field as an annotation has it."""
    if isinstance(value, list):
        return json.dumps(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _change(world: World, made: Step, chance: random.Random) -> Step:
    """What somebody does to a Job by hand; Kueue puts its size back where it would have fewer pods than the least that it says."""
    least = int(made.value["metadata"]["annotations"].get(JOB_MIN_PARALLELISM, 0))
    selector = {"spec": {"template": {"spec": {"nodeSelector": {"example.com/zone": chance.choice(("a", "b"))}}}}}
    value = chance.choice(
        (
            {"spec": {"parallelism": least + chance.choice((1, 2, 3))}},
            {"spec": {"parallelism": least + chance.choice((1, 2, 3))}},
            {"spec": {"suspend": False}},
            {"spec": {"suspend": True}},
            {"spec": {"template": {"metadata": {"labels": {"more": "x"}}}}},
            selector,
            {"metadata": {"annotations": {ADMISSION_GATED_BY: "a.io/x"}}},
            {"metadata": {"annotations": {ADMISSION_GATED_BY: None}}},
            {"metadata": {"labels": {MAX_EXEC_TIME_SECONDS: "9000"}}},
            {"metadata": {"labels": {"team": "b"}}},
        )
    )
    return Step(verb="merge", kind="Job", name=made.name, namespace=world.space, value=value)


async def do_to_job(client: ApiRequests, step: Step, now: Millis) -> None:
    """Do it to a Job; what may not be done so is let be."""
    found = await client.get(JOBS, step.namespace, step.name)
    runs = not found["spec"].get("suspend") and not look(found, "status.completionTime")
    try:
        match step.verb:
            case "delete":
                await client.delete(JOBS, step.namespace, step.name)
            case "finish" if runs and not _is_over(found):
                await _show(client, found, _ended(found, now, fails=step.value["fails"]))
            case "reclaim" if runs and not _is_over(found):
                done = (look(found, "status.succeeded") or 0) + 1
                if done < (found["spec"].get("completions") or 0):
                    await _show(client, found, {"startTime": format_timestamp(now), "succeeded": done})
            case "unready" if runs and (active := look(found, "status.active")):
                await _show(client, found, {"ready": active - 1})
            case "move" if not runs:
                await client.merge(JOBS, step.namespace, step.name, step.value)
            case "merge" if not _is_over(found):
                await client.merge(JOBS, step.namespace, step.name, step.value)
            case _:
                return
    except (ObjectInvalid, ObjectConflict):
        return


async def suspend_and_resume(client: ApiRequests, jobs: Iterable[JsonObject], now: Millis) -> None:
    """Have Jobs show that they are suspended or started, as their controller does; those that say so are another one's."""
    for job in jobs:
        if job["spec"].get("managedBy", OWN_CONTROLLER) != OWN_CONTROLLER:
            continue
        suspended, shown = bool(job["spec"].get("suspend")), look(job, "status.conditions[Suspended].status")
        status: JsonObject = {}
        if suspended and shown != "True":
            status = {
                "startTime": None,
                **_NONE_LEFT,
                **_with(job, "Suspended", "True", ("JobSuspended", "Job suspended"), now),
            }
        elif not suspended and shown == "True":
            status = _with(job, "Suspended", "False", ("JobResumed", "Job resumed"), now)
        if not suspended and not look(job, "status.startTime"):
            status["startTime"] = format_timestamp(now)
            if (job["metadata"].get("labels") or {}).get(STARTS, "never") != "never":
                status |= dict.fromkeys(("active", "ready"), job["spec"]["parallelism"])
        if status and not _is_over(job):
            with suppress(ObjectConflict, ObjectMissing):
                await _show(client, job, status)


def _with(job: JsonObject, kind: str, status: str, why: tuple[str, str], now: Millis) -> JsonObject:
    """Its conditions with one more."""
    at, (reason, message) = format_timestamp(now), why
    told = {"type": kind, "status": status, "reason": reason, "message": message}
    kept = [one for one in look(job, "status.conditions") or () if one["type"] != kind]
    return {"conditions": [*kept, {**told, "lastProbeTime": at, "lastTransitionTime": at}]}


def _is_over(job: JsonObject) -> bool:
    return any(one["type"] in ("Complete", "Failed") for one in look(job, "status.conditions") or ())


def _ended(job: JsonObject, now: Millis, *, fails: bool) -> JsonObject:
    at = format_timestamp(now)
    begun = {"startTime": look(job, "status.startTime") or at}
    if fails:
        why = ("BackoffLimitExceeded", "Job has reached the specified backoff limit")
        failing = {**job, "status": _with(job, "FailureTarget", "True", why, now)}
        return {**begun, **_NONE_LEFT, "failed": 1, **_with(failing, "Failed", "True", why, now)}
    why = ("CompletionsReached", "Reached expected number of succeeded pods")
    many = job["spec"].get("completions") or 1
    indexes = {"completedIndexes": "0" if many == 1 else f"0-{many - 1}"}
    ending = {**job, "status": _with(job, "SuccessCriteriaMet", "True", why, now)}
    return {
        **begun,
        **_NONE_LEFT,
        **(indexes if job["spec"].get("completionMode") == "Indexed" else {}),
        "completionTime": at,
        "succeeded": many,
        **_with(ending, "Complete", "True", why, now),
    }


async def _show(client: ApiRequests, job: JsonObject, status: JsonObject) -> None:
    meta = job["metadata"]
    patch = {"metadata": {"resourceVersion": meta["resourceVersion"]}, "status": status}
    await client.merge(JOBS, meta["namespace"], meta["name"], patch, subresource="status")


def job_of(workload: JsonObject) -> str:
    """The name of the job or pod that a Workload is for, or of the group of pods; empty where it is for none."""
    meta = workload["metadata"]
    owners = meta.get("ownerReferences") or ()
    if served := served_by(meta["name"]):
        return served
    if (meta.get("annotations") or {}).get(IS_GROUP_WORKLOAD) == "true":
        return meta["name"]
    return next((one["name"] for one in owners), "")


def served_by(name: str) -> str:
    """The StatefulSet, or LeaderWorkerSet and number of its group, whose Workload is called so; empty for any other."""
    for kind in ("statefulset-", "leaderworkerset-"):
        if name.startswith(kind):
            return name.removeprefix(kind).rpartition("-")[0]
    return ""


def seen_of_job(job: JsonObject) -> dict[str, Any]:
    """What is seen of a Job."""
    meta, spec = job["metadata"], job["spec"]
    template = spec["template"]
    told = template.get("metadata") or {}
    pods = template["spec"]
    return {
        "suspend": bool(spec.get("suspend")),
        "parallelism": spec.get("parallelism"),
        "completions": spec.get("completions"),
        "labels": meta.get("labels") or {},
        "annotations": but_for_ours(meta),
        "podLabels": {name: one for name, one in (told.get("labels") or {}).items() if name != MULTIKUEUE_WORKER_POD},
        "podAnnotations": but_for_ours(told),
        "nodeSelector": pods.get("nodeSelector") or None,
        "schedulingGates": sorted(pods.get("schedulingGates") or (), key=lambda one: one["name"]) or None,
        "tolerations": [{"operator": "Equal", **one} for one in pods.get("tolerations") or ()],
    }


def seen_of_made(workload: JsonObject) -> dict[str, Any]:
    """What is seen of a Workload that a manager has made."""
    meta, spec = workload["metadata"], workload["spec"]
    labels, ended = dict(meta.get("labels") or {}), look(workload, "status.conditions[Finished]")
    if (meta.get("annotations") or {}).get(IS_GROUP_WORKLOAD) == "true":
        labels.pop(JOB_UID, None)  # By it kuelog finds who was left by all its pods; Kueue has none there.
    return {
        "name": meta["name"],
        "labels": labels,
        "annotations": but_for_ours(meta),
        "finalizers": sorted(meta.get("finalizers") or ()),
        "owners": {
            one["name"]: {name: one.get(name) for name in ("apiVersion", "kind", "controller", "blockOwnerDeletion")}
            for one in meta.get("ownerReferences") or ()
        },
        "spec": {name: one for name, one in spec.items() if name not in ("podSets", "active", "priority")},
        "podSets": {one["name"]: {**one, "template": filled(_flat(one["template"]))} for one in spec["podSets"]},
        "reclaimable": [] if ended else look(workload, "status.reclaimablePods") or [],
    }


def but_for_ours(meta: JsonObject) -> dict[str, str]:
    """Annotations but for those that are about decisions of kuelog's log, and those that Kueue 0.17 does not write yet."""
    found = meta.get("annotations") or {}
    return {name: one for name, one in found.items() if not name.startswith("kuelog.io/") and name not in _LATER}


def filled(value: Any) -> Any:
    """A value without what is empty in it, which Go leaves out where it writes one."""
    match value:
        case dict():
            found = {name: filled(one) for name, one in value.items()}
            return {name: one for name, one in found.items() if one not in ({}, [], None)}
        case list():
            return [filled(one) for one in value]
        case _:
            return value


def _flat(template: Mapping[str, Any]) -> dict[str, Any]:
    return {**(template.get("metadata") or {}), **template["spec"]}
