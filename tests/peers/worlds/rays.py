"""Elastic jobs of Ray's in the place of Workloads: how a world gets them, and who makes their clusters and pods.

No operator and no autoscaler of Ray's is there. Who plays the world makes the RayCluster of a RayJob or RayService that runs, with its
labels, annotations and spec, and names it in its status; and the pods of RayClusters, which show how many of their workers run.
"""

import random
from collections.abc import Mapping
from contextlib import suppress
from copy import deepcopy

from msgspec.structs import replace

from events.api.labels import ELASTIC_JOB
from events.json_object import JsonObject
from events.json_path import get, look, put
from ops.production.kubernetes.client import ApiRequests
from services.jobs.kinds.ray import CLUSTER_AT, CLUSTER_NAME_AT
from services.jobs.kinds.table import RAY_CLUSTER, RAY_JOB, RAY_SERVICE
from services.runtime.cluster_port import ObjectConflict, ObjectInvalid, ObjectMissing
from tests.peers.worlds.drawn import Step, World
from tests.peers.worlds.elastic_pods import bring_to, pods_of, remove, remove_orphans
from tests.peers.worlds.job_kinds import PLAYED, Objects, with_job_kinds
from tests.peers.worlds.jobs import insert_changes

CLUSTERS = PLAYED["RayCluster"].resource
RAYS = {one.kind: one.reader for one in (RAY_CLUSTER, RAY_JOB, RAY_SERVICE)}
"""Its kinds, each with how it is read."""
_CLUSTER, _GROUP = "ray.io/cluster", "ray.io/group"


def with_elastic_rays(world: World, chance: random.Random) -> World:
    """The world with jobs of Ray's in the place of most Workloads, most of them elastic, which people and Ray's autoscaler resize."""
    steps = tuple(_with_workers(step) for step in world.steps)
    made = with_job_kinds(replace(world, steps=steps), chance, tuple(RAYS))
    # What stands beside the head would have the defaults of a LimitRange.
    scales = 0.0 if "limits" in world.features else 0.6
    changed = [
        _elastic(step, chance, scales) if step.kind in RAYS and step.verb == "create" else step for step in made.steps
    ]
    names = {step.name for step in changed if step.kind in RAYS and step.verb == "create"}
    for _ in range(2):
        insert_changes(changed, names, lambda made: _resized(world, made, chance), chance)
    return replace(made, steps=tuple(changed))


def _with_workers(step: Step) -> Step:
    """A head and workers, none of which lies in a domain that it names."""
    if step.kind != "Workload" or step.verb != "create":
        return step
    sets = [
        {**one, "topologyRequest": {"unconstrained": True}} if "topologyRequest" in one else one
        for one in step.value["spec"]["podSets"]
    ]
    if len(sets) == 1:
        sets.insert(0, {"name": "first", "count": 1, "template": sets[0]["template"]})
    return replace(step, value=put(step.value, ("spec", "podSets"), sets))


def _elastic(step: Step, chance: random.Random, scales: float) -> Step:
    if chance.random() < 0.15:
        return step
    value = put(step.value, ("metadata", "annotations", ELASTIC_JOB), "true")
    at = CLUSTER_AT[RAYS[step.kind]]
    value = put(value, (*at, "enableInTreeAutoscaling"), chance.random() < scales)
    # Kueue 0.17 does not count what KubeRay puts beside the head, later versions do.
    return replace(step, value=put(value, (*at, "autoscalerOptions"), {"resources": {}}))


def _resized(world: World, made: Step, chance: random.Random) -> Step:
    verb = "resize" if made.kind == CLUSTERS.kind or chance.random() < 0.4 else "autoscale"
    more = chance.choice((1, 1, 2, 3, -1, -1, -2, 9))
    return Step(verb=verb, kind=made.kind, name=made.name, namespace=world.space, value={"more": more})


async def autoscale(client: ApiRequests, step: Step) -> None:
    """Have the RayCluster of a job want so many more workers of its last group, as Ray's autoscaler does, which asks nobody."""
    found = await client.get(CLUSTERS, step.namespace, _named(step.name))
    if not found["spec"].get("enableInTreeAutoscaling"):
        return
    spec = deepcopy(found["spec"])
    PLAYED[CLUSTERS.kind].resized(spec, step.value["more"])
    with suppress(ObjectConflict, ObjectInvalid):
        await client.merge(CLUSTERS, step.namespace, _named(step.name), {"spec": spec})


async def operate(client: ApiRequests, jobs: Mapping[str, Objects], pods: Objects) -> None:
    """Bring the clusters of jobs, by kind and name, and the pods of clusters to where these want them, as Ray's operator does."""
    clusters = jobs.get(CLUSTERS.kind, {})
    for kind in (RAY_JOB.kind, RAY_SERVICE.kind):
        for (space, name), job in list(jobs.get(kind, {}).items()):
            await _with_cluster(client, job, clusters.get((space, _named(name))))
    living = {one["metadata"]["uid"] for kind in RAYS for one in jobs.get(kind, {}).values()}
    for cluster in list(clusters.values()):
        if any(one["uid"] not in living for one in cluster["metadata"].get("ownerReferences") or ()):
            await remove(client, CLUSTERS, cluster)
    await remove_orphans(client, pods, CLUSTERS.kind, clusters)
    for cluster in list(clusters.values()):
        await _with_pods(client, cluster, pods)


def _named(job: str) -> str:
    return f"{job}-ray"


async def _with_cluster(client: ApiRequests, job: JsonObject, there: JsonObject | None) -> None:
    played, reader, meta = PLAYED[job["kind"]], RAYS[job["kind"]], job["metadata"]
    runs = not get(job, played.suspend) and not played.is_over(job) and not meta.get("deletionTimestamp")
    named = CLUSTER_NAME_AT[reader]
    if not runs and there is not None:
        await remove(client, CLUSTERS, there)
    elif runs and there is None:
        owner = {"apiVersion": job["apiVersion"], "kind": job["kind"], "name": meta["name"], "uid": meta["uid"]}
        head = {
            "name": _named(meta["name"]),
            "namespace": meta["namespace"],
            "labels": meta.get("labels") or {},
            "annotations": meta.get("annotations") or {},
            "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
        }
        spec = {**get(job, CLUSTER_AT[reader]), "suspend": False}
        value = {"apiVersion": "ray.io/v1", "kind": CLUSTERS.kind, "metadata": head, "spec": spec}
        with suppress(ObjectConflict, ObjectInvalid):
            await client.create(CLUSTERS, meta["namespace"], value)
    wanted = _named(meta["name"]) if runs else None
    if (get(job, named) or None) != wanted:
        patch = put({"metadata": {"resourceVersion": meta["resourceVersion"]}}, named, wanted)
        with suppress(ObjectConflict, ObjectMissing, ObjectInvalid):
            await client.merge(played.resource, meta["namespace"], meta["name"], patch, subresource="status")


async def _with_pods(client: ApiRequests, cluster: JsonObject, pods: Objects) -> None:
    meta, spec = cluster["metadata"], cluster["spec"]
    runs = not spec.get("suspend") and not meta.get("deletionTimestamp")
    wanted = {"head": (1, spec["headGroupSpec"]["template"])}
    for one in spec.get("workerGroupSpecs") or ():
        hosts = max(one.get("numOfHosts") or 1, 1)
        wanted[one["groupName"]] = (one.get("replicas", 1) * hosts, one["template"])
    mine = pods_of(cluster, pods)
    for group, (most, template) in wanted.items():
        there = {name: pod for name, pod in mine.items() if pod["metadata"]["labels"].get(_GROUP) == group}
        labels = {_CLUSTER: meta["name"], _GROUP: group}
        await bring_to(client, cluster, there, most if runs else 0, f"{meta['name']}-{group}", template, labels)
    workers = [pod for pod in mine.values() if pod["metadata"]["labels"].get(_GROUP) != "head"]
    shown = {
        "desiredWorkerReplicas": sum(many for group, (many, _) in wanted.items() if group != "head") if runs else 0,
        "availableWorkerReplicas": sum(look(pod, "status.phase") == "Running" for pod in workers),
    }
    if any((look(cluster, f"status.{name}") or 0) != many for name, many in shown.items()):
        patch = {"metadata": {"resourceVersion": meta["resourceVersion"]}, "status": shown}
        with suppress(ObjectConflict, ObjectMissing, ObjectInvalid):
            await client.merge(CLUSTERS, meta["namespace"], meta["name"], patch, subresource="status")
