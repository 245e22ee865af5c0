"""Who makes the pods of elastic Jobs: as many as they want while they are not suspended. A pod that waits at no gate runs."""

from collections.abc import Mapping
from contextlib import suppress

from events.json_object import JsonObject
from events.json_path import look
from ops.production.kubernetes.client import ApiRequests
from services.runtime.cluster_port import ObjectConflict, ObjectInvalid, ObjectMissing, Resource
from tests.peers.worlds.elastic import is_elastic
from tests.peers.worlds.jobs import JOBS
from tests.peers.worlds.pods import PODS
from tests.peers.worlds.serving_controllers import completed

Objects = Mapping[tuple[str, str], JsonObject]


async def play_jobs(client: ApiRequests, jobs: Objects, pods: Objects) -> None:
    """Bring the pods of elastic Jobs to where these want them, and show on the Jobs how many there are."""
    await remove_orphans(client, pods, "Job", jobs)
    for (_, name), job in list(jobs.items()):
        if not is_elastic(job):
            continue
        mine = pods_of(job, pods)
        await bring_to(client, job, mine, _wanted(job), name, job["spec"]["template"], {})
        for pod in mine.values():
            if not _gates(pod) and look(pod, "status.phase") != "Running":
                await _run(client, pod)
        ready = sum(look(pod, "status.phase") == "Running" for pod in mine.values())
        await _show(client, job, {"active": len(mine), "ready": ready})


def _wanted(job: JsonObject) -> int:
    ended = any(one["type"] in ("Complete", "Failed") for one in look(job, "status.conditions") or ())
    if job["spec"].get("suspend") or ended or job["metadata"].get("deletionTimestamp"):
        return 0
    completions = job["spec"].get("completions")
    most: int = job["spec"]["parallelism"]
    return most if completions is None else min(most, completions - (look(job, "status.succeeded") or 0))


def _gates(pod: JsonObject) -> list[JsonObject]:
    return pod["spec"].get("schedulingGates") or []


def pods_of(owner: JsonObject, pods: Objects) -> dict[str, JsonObject]:
    """The pods of an owner that do not end, by their names."""
    uid = owner["metadata"]["uid"]
    return {
        pod["metadata"]["name"]: pod
        for pod in pods.values()
        if any(one["uid"] == uid for one in pod["metadata"].get("ownerReferences") or ())
        and not pod["metadata"].get("deletionTimestamp")
    }


async def remove_orphans(client: ApiRequests, pods: Objects, kind: str, owners: Objects) -> None:
    """Have pods be gone whose owner of that kind is gone."""
    living = {one["metadata"]["uid"] for one in owners.values()}
    for pod in list(pods.values()):
        whose = pod["metadata"].get("ownerReferences") or ()
        if any(one["kind"] == kind and one["uid"] not in living for one in whose):
            await remove(client, PODS, pod)


async def bring_to(  # noqa: PLR0913 - all of it says which pods
    client: ApiRequests,
    owner: JsonObject,
    mine: dict[str, JsonObject],
    wanted: int,
    begin: str,
    template: JsonObject,
    labels: Mapping[str, str],
) -> None:
    """Have an owner have so many pods, whose names begin alike: of those that are too many first who waits at a gate goes, then who came last."""
    ordered = sorted(mine, key=lambda name: (bool(_gates(mine[name])), int(name.rpartition("-")[2])))
    for name in ordered[wanted:]:
        await remove(client, PODS, mine.pop(name))
    free = (number for number in range(wanted + len(mine)) if f"{begin}-{number}" not in mine)
    for number, _ in zip(free, range(wanted - len(mine)), strict=False):
        await _add_pod(client, owner, f"{begin}-{number}", template, labels)


async def _add_pod(
    client: ApiRequests, owner: JsonObject, name: str, template: JsonObject, labels: Mapping[str, str]
) -> None:
    """Make a pod of a template, with these labels besides, as the controller of its owner does."""
    meta, told = owner["metadata"], template.get("metadata") or {}
    whose = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": meta["name"], "uid": meta["uid"]}
    value = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": meta["namespace"],
            "labels": {**(told.get("labels") or {}), **labels},
            "annotations": told.get("annotations") or {},
            "ownerReferences": [{**whose, "controller": True, "blockOwnerDeletion": True}],
        },
        "spec": completed(template["spec"]),
    }
    with suppress(ObjectConflict, ObjectInvalid):
        await client.create(PODS, meta["namespace"], value)


async def _run(client: ApiRequests, pod: JsonObject) -> None:
    meta = pod["metadata"]
    patch = {"metadata": {"resourceVersion": meta["resourceVersion"]}, "status": {"phase": "Running"}}
    with suppress(ObjectConflict, ObjectMissing, ObjectInvalid):
        await client.merge(PODS, meta["namespace"], meta["name"], patch, subresource="status")


async def remove(client: ApiRequests, resource: Resource, value: JsonObject) -> None:
    """Have an object be gone at once, if it is still there."""
    meta = value["metadata"]
    with suppress(ObjectMissing, ObjectConflict):
        await client.delete(resource, meta["namespace"], meta["name"], uid=meta["uid"], at_once=True)


async def _show(client: ApiRequests, job: JsonObject, counts: dict[str, int]) -> None:
    shown = {name: look(job, f"status.{name}") or 0 for name in counts}
    ended = any(one["type"] in ("Complete", "Failed") for one in look(job, "status.conditions") or ())
    if ended or shown == counts:
        return
    meta = job["metadata"]
    patch = {"metadata": {"resourceVersion": meta["resourceVersion"]}, "status": counts}
    with suppress(ObjectConflict, ObjectMissing, ObjectInvalid):
        await client.merge(JOBS, meta["namespace"], meta["name"], patch, subresource="status")
