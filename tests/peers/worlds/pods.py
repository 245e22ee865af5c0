"""Plain pods, alone and in groups, in the place of Workloads: how a world gets them, and what happens to them.

No scheduler and no kubelet is there: that a pod has ended is shown on it by who plays the world, and one that is deleted is gone.
"""

import random
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from events.api.labels import POD_GROUP_NAME, POD_GROUP_TOTAL_COUNT, PRIORITY_CLASS, QUEUE_NAME
from events.json_object import JsonObject
from events.json_path import look
from ops.production.kubernetes.client import ApiRequests
from services.runtime.cluster_port import ObjectConflict, ObjectInvalid, ObjectMissing, Resource
from tests.peers.worlds.drawn import Step, World
from tests.peers.worlds.jobs import TOPOLOGY, but_for_ours, class_of, served_by, text_of, with_classes

PODS = Resource(plural="pods", kind="Pod")
_LIMITED = "kubernetes.io/limit-ranger"
"""Where the API server notes what a LimitRange gave a pod."""


def with_pods(world: World, chance: random.Random) -> World:
    """The world with pods in the place of most Workloads that have one set of them."""
    pods: dict[str, list[str]] = {}
    classes: dict[int, str] = {}
    steps: list[Step] = []
    for step in world.steps:
        if step.kind != "Workload":
            steps.append(step)
        elif step.verb == "create" and len(step.value["spec"]["podSets"]) == 1 and chance.random() < 0.85:
            made = _pods(step.value, world, classes, chance)
            pods[step.name] = [one["metadata"]["name"] for one in made]
            steps += [
                Step(verb="create", kind="Pod", name=one["metadata"]["name"], namespace=world.space, value=one)
                for one in made
            ]
        elif step.name in pods:
            steps += _of_pods(step, pods[step.name], chance)
        else:
            steps.append(step)
    return with_classes(replace(world, steps=tuple(steps)), classes)


def _pods(workload: JsonObject, world: World, classes: dict[int, str], chance: random.Random) -> list[JsonObject]:
    """The pods of a workload: one alone, or a group."""
    spec, name = workload["spec"], workload["metadata"]["name"]
    pod_set = spec["podSets"][0]
    labels = {QUEUE_NAME: spec["queueName"], "app": name}
    if spec["priority"] or "priorityClassRef" in spec:
        labels[PRIORITY_CLASS] = class_of(spec, world, classes)
    topology = {
        TOPOLOGY[key]: text_of(one)
        for key, one in pod_set.get("topologyRequest", {}).items()
        if key in ("required", "preferred", "unconstrained")
    }
    if chance.random() < 0.5:
        topology["note"] = "drawn"
    count = pod_set["count"]
    alone = count == 1 and chance.random() < 0.6
    notes = topology if alone else {**topology, POD_GROUP_TOTAL_COUNT: str(count)}
    if not alone:
        labels[POD_GROUP_NAME] = name
    return [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name if alone else f"{name}-{number}",
                "namespace": world.space,
                "labels": labels,
                "annotations": notes,
            },
            "spec": pod_set["template"]["spec"],
        }
        for number in range(count)
    ]


def _of_pods(step: Step, pods: Sequence[str], chance: random.Random) -> list[Step]:
    """What happens to the pods when that would have happened to the Workload."""
    of_pods = replace(step, kind="Pod", value={"pods": list(pods), "fails": chance.random() < 0.3})
    match step.verb:
        case "finish" | "delete":
            return [of_pods]
        case "reclaim":
            return [replace(of_pods, verb="finish", value={"pods": [chance.choice(list(pods))], "fails": False})]
        case "check":
            return [step]
        case "merge" if "active" in step.value.get("spec", {}):
            return [step]
        case _ if chance.random() < 0.5:
            return [replace(of_pods, verb="ungate")]
        case _:
            return []


async def do_to_pods(client: ApiRequests, step: Step) -> None:
    """Do it to all pods of a step; to those that are gone nothing is done, and those that wait at a gate do not end."""
    for name in step.value["pods"]:
        try:
            match step.verb:
                case "delete":
                    await client.delete(PODS, step.namespace, name, at_once=True)
                case "ungate":
                    await client.merge(PODS, step.namespace, name, {"spec": {"schedulingGates": None}})
                case _:
                    await _end(client, step, name)
        except (ObjectMissing, ObjectConflict, ObjectInvalid):
            continue


async def _end(client: ApiRequests, step: Step, name: str) -> None:
    found = await client.get(PODS, step.namespace, name)
    waits = look(found, "spec.schedulingGates") or look(found, "metadata.deletionTimestamp")
    if not waits and look(found, "status.phase") not in ("Succeeded", "Failed"):
        phase = "Failed" if step.value["fails"] else "Succeeded"
        await client.merge(PODS, step.namespace, name, {"status": {"phase": phase}}, subresource="status")


def group_of(pod: JsonObject) -> str:
    """The group that a pod names; empty for one alone."""
    named = str((pod["metadata"].get("labels") or {}).get(POD_GROUP_NAME) or "")
    return served_by(named) or named


def _told(words: Mapping[str, str]) -> dict[str, str]:
    """Labels or annotations, with what serves in the place of how its Workload is called, and without the digest of its template."""
    kept = {name: one for name, one in words.items() if name != "controller-revision-hash"}
    return {name: served_by(one) or one for name, one in kept.items()}


def seen_of_pod(pod: JsonObject) -> dict[str, Any]:
    """What is seen of a pod."""
    meta, spec = pod["metadata"], pod["spec"]
    notes = but_for_ours(meta)
    notes.pop(_LIMITED, None)
    return {
        "labels": _told(meta.get("labels") or {}),
        "annotations": _told(notes),
        "finalizers": sorted(meta.get("finalizers") or ()),
        "leaving": bool(meta.get("deletionTimestamp")),
        "phase": look(pod, "status.phase"),
        "nodeSelector": spec.get("nodeSelector") or None,
        "gates": sorted(one["name"] for one in spec.get("schedulingGates") or ()),
        "tolerations": [{"operator": "Equal", **one} for one in spec.get("tolerations") or ()],
    }
