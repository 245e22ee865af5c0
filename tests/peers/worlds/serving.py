"""What serves in the place of Workloads: Deployments, StatefulSets and LeaderWorkerSets, and what people do to them.

Who makes their pods is played as well: `serving_controllers.py`.
"""

import random
from typing import Any

from msgspec.structs import replace

from events.api.labels import ADMISSION_GATED_BY, QUEUE_NAME
from events.json_object import JsonObject
from events.json_path import get, put
from ops.production.kubernetes.client import ApiRequests
from services.runtime.cluster_port import ObjectConflict, ObjectInvalid, ObjectMissing, Resource
from tests.peers.worlds.drawn import Step, World
from tests.peers.worlds.jobs import (
    annotated,
    but_for_ours,
    filled,
    insert_changes,
    job_labels,
    of_job,
    topology_notes,
    with_classes,
)
from tests.peers.worlds.pods import PODS

DEPLOYMENT, STATEFUL_SET, LEADER_WORKER_SET = "Deployment", "StatefulSet", "LeaderWorkerSet"
_SETS = "leaderworkerset.x-k8s.io"
SERVED = {
    DEPLOYMENT: Resource(group="apps", version="v1", plural="deployments", kind=DEPLOYMENT),
    STATEFUL_SET: Resource(group="apps", version="v1", plural="statefulsets", kind=STATEFUL_SET),
    LEADER_WORKER_SET: Resource(group=_SETS, version="v1", plural="leaderworkersets", kind=LEADER_WORKER_SET),
}
"""By kind, its place."""
SERVED_AT = {kind: f"{one.plural}.{one.group}" for kind, one in SERVED.items()}
"""By kind, how those who hold objects call its place."""
FRAMEWORK = "leaderworkerset.x-k8s.io/leaderworkerset"
"""What Kueue's configuration calls the kind that it does not manage in all worlds."""
_TEMPLATE = ("spec", "template")
_LEADER, _WORKER = (
    ("spec", "leaderWorkerTemplate", "leaderTemplate"),
    ("spec", "leaderWorkerTemplate", "workerTemplate"),
)
TEMPLATES = {DEPLOYMENT: (_TEMPLATE,), STATEFUL_SET: (_TEMPLATE,), LEADER_WORKER_SET: (_LEADER, _WORKER)}
"""By kind, where its templates are."""
_OF_TWO = 2
"""So many pod sets a LeaderWorkerSet has at most."""


def with_serving(world: World, chance: random.Random) -> World:
    """The world with such objects in the place of most Workloads."""
    kinds: dict[str, str] = {}
    classes: dict[int, str] = {}
    steps: list[Step] = []
    for step in world.steps:
        if step.kind == "Workload" and step.verb == "create" and chance.random() < 0.9:
            many = len(step.value["spec"]["podSets"])
            if many <= _OF_TWO:
                kinds[step.name] = chance.choice([*SERVED] if many == 1 else [LEADER_WORKER_SET])
        kind = kinds.get(step.name, "") if step.kind == "Workload" else ""
        if not kind:
            steps.append(step)
            continue
        made = of_job(step, kind, world, classes, chance, lambda *words, kind=kind: _served(kind, *words))
        steps.append(_as_served(made, chance))
    insert_changes(steps, kinds, lambda made: _change(world, made, chance), chance)
    insert_changes(steps, kinds, lambda made: _change(world, made, chance), chance)
    return with_classes(replace(world, steps=tuple(steps)), classes)


def _served(kind: str, workload: JsonObject, priority_class: str, chance: random.Random) -> JsonObject:
    meta, (first, *others) = workload["metadata"], workload["spec"]["podSets"]
    resource, labels = SERVED[kind], job_labels(workload, priority_class, chance)
    head = {
        "name": meta["name"],
        "namespace": meta["namespace"],
        "labels": labels,
        "annotations": dict(meta.get("annotations") or {}),
    }
    if kind == LEADER_WORKER_SET:
        leads = bool(others) or chance.random() < 0.4
        size = (others[0]["count"] if others else first["count"]) + leads
        inner: JsonObject = {
            "size": size,
            "workerTemplate": _template(others[0] if others else first, meta["name"], chance),
        }
        if leads:
            inner["leaderTemplate"] = _template(_alone(first), meta["name"], chance)
        # Groups that are made at once are in line in any order under Kueue.
        spec: JsonObject = {
            "replicas": 1,
            "leaderWorkerTemplate": inner,
            "rolloutStrategy": {"type": "RollingUpdate"},
            "networkConfig": {"subdomainPolicy": "Shared"},
        }
    else:
        template = _template(first, meta["name"], chance)
        spec = {"replicas": first["count"], "template": template, "selector": {"matchLabels": {"app": meta["name"]}}}
        if kind == DEPLOYMENT:
            spec["strategy"] = {"type": "Recreate"}
        else:
            spec |= {"serviceName": "s", "podManagementPolicy": chance.choice(("OrderedReady", "Parallel"))}
    api_version = f"{resource.group}/{resource.version}"
    return {"apiVersion": api_version, "kind": kind, "metadata": head, "spec": spec}


def _alone(pod_set: JsonObject) -> JsonObject:
    """The pod set of a leader, which is one pod: it asks for no slices, of which the webhook allows none that are larger."""
    asked = pod_set.get("topologyRequest", {})
    return {**pod_set, "topologyRequest": {name: one for name, one in asked.items() if "lice" not in name}}


def _template(pod_set: JsonObject, name: str, chance: random.Random) -> JsonObject:
    plain = not topology_notes(pod_set) and chance.random() < 0.5
    told = annotated(pod_set, name)
    if plain:
        told = put(told, ("metadata", "annotations"), None)
    return put(told, ("spec", "restartPolicy"), "Always")


def _as_served(step: Step, chance: random.Random) -> Step:
    """Nothing that serves ends by itself: it is scaled to nothing, or loses a pod."""
    match step.verb:
        case "finish":
            return replace(step, verb="scale", value={"replicas": 0})
        case "reclaim" | "unready":
            return replace(step, verb="lose", value={"which": chance.randrange(3)})
        case _:
            return step


def _change(world: World, made: Step, chance: random.Random) -> Step:
    """What somebody does to it by hand."""
    step = Step(verb="merge", kind=made.kind, name=made.name, namespace=world.space)
    changes = [
        replace(step, verb="scale", value={"more": 1}),
        replace(step, verb="scale", value={"more": -1}),
        replace(step, verb="scale", value={"replicas": 0}),
        replace(step, verb="scale", value={"more": 1}),
        replace(step, verb="lose", value={"which": chance.randrange(3)}),
        replace(step, value={"metadata": {"annotations": {ADMISSION_GATED_BY: "a.io/x"}}}),
        replace(step, value={"metadata": {"annotations": {ADMISSION_GATED_BY: None}}}),
        replace(step, value={"metadata": {"labels": {"team": "b"}}}),
        replace(step, value={"metadata": {"labels": {QUEUE_NAME: None}}}),
    ]
    if made.kind != LEADER_WORKER_SET:
        changes.append(replace(step, verb="scale", value={"replicas": chance.choice((1, 2, 3))}))
        changes.append(replace(step, value=put({}, (*_TEMPLATE, "metadata", "annotations", "more"), "x")))
    return chance.choice(changes)


async def do_to_served(client: ApiRequests, step: Step) -> None:
    """Do it; what may not be done so is let be."""
    place = SERVED[step.kind]
    found = await client.get(place, step.namespace, step.name)
    try:
        match step.verb:
            case "delete":
                await client.delete(place, step.namespace, step.name)
            case "scale":
                wanted = step.value.get("replicas", max(found["spec"]["replicas"] + step.value.get("more", 0), 0))
                await client.merge(place, step.namespace, step.name, {"spec": {"replicas": wanted}})
            case "lose":
                await _lose(client, step)
            case "move" | "merge":
                await client.merge(place, step.namespace, step.name, step.value)
            case _:
                return
    except (ObjectInvalid, ObjectConflict, ObjectMissing):
        return


async def _lose(client: ApiRequests, step: Step) -> None:
    """Delete a pod of it by hand."""
    number = str(step.value["which"])
    name = f"{step.name}-{number}"
    await client.delete(PODS, step.namespace, name, at_once=True)


def part_of(step: Step) -> str:
    """What the first of its workloads is called, as it is seen."""
    return step.name if step.kind == STATEFUL_SET else f"{step.name}-0"


def seen_of_served(kind: str, value: JsonObject) -> dict[str, Any]:
    """What is seen of it."""
    meta = value["metadata"]
    templates = {at[-1]: one for at in TEMPLATES[kind] if (one := get(value, at)) is not None}
    return {
        "kind": kind,
        "replicas": value["spec"].get("replicas"),
        "labels": meta.get("labels") or {},
        "annotations": but_for_ours(meta),
        "templates": {
            name: filled(
                {
                    "labels": (one.get("metadata") or {}).get("labels"),
                    "annotations": but_for_ours(one.get("metadata") or {}),
                    "spec": {key: part for key, part in one["spec"].items() if part is not None},
                }
            )
            for name, one in templates.items()
        },
        "status": {name: get(value, ("status", name)) or 0 for name in ("replicas", "readyReplicas")},
    }
