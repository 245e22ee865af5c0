"""How a step of a world is done on an API, whoever decides behind it."""

from collections.abc import Iterable
from contextlib import suppress

from msgspec.structs import replace

from events.event import Millis
from events.json_object import JsonObject
from events.json_path import look
from events.timestamp import format_timestamp
from ops.production.kubernetes.client import ApiRequests, path_of
from services.jobs.kinds.training_runtime import RUNTIMES
from services.runtime.cluster_port import ObjectConflict, ObjectInvalid, ObjectMissing, Resource
from tests.peers.worlds.drawn import STARTS, Step
from tests.peers.worlds.elastic import newest_of
from tests.peers.worlds.job_kinds import PLAYED, Objects, do_to_job_kind
from tests.peers.worlds.jobs import do_to_job, job_of
from tests.peers.worlds.pods import do_to_pods
from tests.peers.worlds.preemption_gates import turn_gate
from tests.peers.worlds.provisioning import do_to_request
from tests.peers.worlds.rays import autoscale
from tests.peers.worlds.serving import SERVED, do_to_served, part_of
from tests.stage.without_jobs import give_back, has_to_stop, holds, show

_KUEUE = (
    "Workload",
    "ClusterQueue",
    "LocalQueue",
    "ResourceFlavor",
    "Cohort",
    "Topology",
    "AdmissionCheck",
    "WorkloadPriorityClass",
    "ProvisioningRequestConfig",
    "MultiKueueConfig",
    "MultiKueueCluster",
)
_GROUPS = {
    "RuntimeClass": "node.k8s.io",
    "Job": "batch",
    "ResourceClaimTemplate": "resource.k8s.io",
    "DeviceClass": "resource.k8s.io",
}
_SPACED = frozenset({"Workload", "LocalQueue", "LimitRange", "Job", "Pod", "ResourceClaimTemplate", "Secret"})
_PLURALS = {
    "Topology": "topologies",
    "RuntimeClass": "runtimeclasses",
    "WorkloadPriorityClass": "workloadpriorityclasses",
    "DeviceClass": "deviceclasses",
}


def resource_of(kind: str) -> Resource:
    """The place of a kind that worlds have."""
    if kind in PLAYED:
        return PLAYED[kind].resource
    if kind in RUNTIMES or kind in SERVED:
        return (RUNTIMES | SERVED)[kind]
    group, version = ("kueue.x-k8s.io", "v1beta2") if kind in _KUEUE else (_GROUPS.get(kind, ""), "v1")
    plural = _PLURALS.get(kind, f"{kind.lower()}s")
    return Resource(group=group, version=version, plural=plural, kind=kind, namespaced=kind in _SPACED)


WORKLOADS = resource_of("Workload")
MANAGED = ("Workload", "Job", "Pod", *PLAYED, *SERVED)
"""What a manager decides about, or makes a Workload of."""


async def make(client: ApiRequests, value: JsonObject) -> JsonObject:
    """Create an object with the status that it brings."""
    meta, resource = value["metadata"], resource_of(value["kind"])
    made = await client.create(
        resource, meta.get("namespace", ""), {name: one for name, one in value.items() if name != "status"}
    )
    if value["kind"] == "Node":
        # An API server gives it the taint of a node that is not ready, which its controllers would take away.
        await client.merge(resource, "", meta["name"], {"spec": {"taints": None}})
    if "status" in value:
        await client.merge(resource, "", meta["name"], {"status": value["status"]}, subresource="status")
    return made


async def do(client: ApiRequests, step: Step, now: Millis) -> JsonObject | None:
    """Do it, and tell what was made; what is not there any more, or may not be made or changed so, is let be."""
    try:
        if step.kind in SERVED and step.verb != "create":
            if step.verb == "check" or "active" in step.value.get("spec", {}):
                await _do_to_workload(client, replace(step, kind="Workload", name=part_of(step)), now)
            else:
                await do_to_served(client, step)
        elif step.kind in ("Job", *PLAYED) and step.verb != "create":
            await _do_to_job(client, step, now)
        elif step.kind == "Pod" and step.verb != "create":
            await do_to_pods(client, step)
        elif step.kind == "Workload" and step.verb != "create":
            await _do_to_workload(client, step, now)
        elif step.verb in ("answer", "lose"):
            await do_to_request(
                client, step, await client.get(WORKLOADS, step.namespace, await _named(client, step)), now
            )
        else:
            return await _change(client, step)
    except ObjectMissing:
        return None
    return None


async def _do_to_workload(client: ApiRequests, step: Step, now: Millis) -> None:
    """Do it to a Workload, whoever has made it."""
    step = replace(step, name=await _named(client, step))
    if step.verb == "gate":
        await turn_gate(client, WORKLOADS, step, now)
    elif step.verb in ("finish", "check", "reclaim", "unready"):
        await _show(client, step, now)
    else:
        await _change(client, step)


async def collect(client: ApiRequests, resource: Resource, objects: Objects, *owners: Objects) -> None:
    """Delete objects none of whose owners is there any more, as the garbage collector of a cluster does, which is not here."""
    living = {one["metadata"]["uid"] for kind in owners for one in kind.values()}
    for (space, name), one in list(objects.items()):
        owned = one["metadata"].get("ownerReferences") or ()
        if owned and not living & {own["uid"] for own in owned} and not one["metadata"].get("deletionTimestamp"):
            with suppress(ObjectMissing, ObjectConflict):
                await client.delete(resource, space, name, uid=one["metadata"]["uid"])


async def _do_to_job(client: ApiRequests, step: Step, now: Millis) -> None:
    """Do it to a Job, or to its Workload."""
    if step.verb == "check" or "active" in step.value.get("spec", {}):
        await _do_to_workload(client, replace(step, kind="Workload"), now)
    elif step.verb == "autoscale":
        await autoscale(client, step)
    elif step.kind in PLAYED:
        await do_to_job_kind(client, step, now)
    else:
        await do_to_job(client, step, now)


async def _named(client: ApiRequests, step: Step) -> str:
    """The name of the Workload of a step, whoever has made it."""
    try:
        return await _made_for(client, step)
    except ObjectMissing:
        return step.name


async def _made_for(client: ApiRequests, step: Step) -> str:
    """The name of the Workload of a Job, or of pods. Raises `ObjectMissing`."""
    found = await client.request("GET", path_of(WORKLOADS, step.namespace))
    newest = newest_of(found["items"], step.name)
    if newest is None:
        raise ObjectMissing(step.name)
    return newest["metadata"]["name"]


async def _change(client: ApiRequests, step: Step) -> JsonObject | None:
    resource = resource_of(step.kind)
    try:
        match step.verb:
            case "create":
                return await make(client, step.value)
            case "merge":
                await client.merge(resource, step.namespace, step.name, step.value)
            case "status":
                await client.merge(resource, step.namespace, step.name, step.value, subresource="status")
            case "move":
                if not look(await client.get(resource, step.namespace, step.name), "status.admission"):
                    await client.merge(resource, step.namespace, step.name, step.value)
            case "delete":
                await client.delete(resource, step.namespace, step.name)
            case _:
                raise AssertionError(step.verb)
    except (ObjectInvalid, ObjectConflict):
        if step.kind in MANAGED and step.verb == "create":
            raise
    return None


async def _show(client: ApiRequests, step: Step, now: Millis) -> None:
    """What a workload shows of its pods, or of its checks."""
    match step.verb:
        case "finish":
            ended = {"type": "Finished", "status": "True", "reason": "Succeeded", "message": "it has ended"}
            found = await client.get(WORKLOADS, step.namespace, step.name)
            # A head that ends while it waits is put back into line by Kueue 0.17, and nobody behind it is tried any more.
            if look(found, "status.admission"):
                await show(client, found, [{**ended, "lastTransitionTime": format_timestamp(now)}])
        case "check":
            await _answer(client, step, now)
        case "unready":
            found = await client.get(WORKLOADS, step.namespace, step.name)
            if holds(found, "PodsReady") and holds(found, "Admitted"):
                lost = ("False", "WaitForRecovery", "At least one pod has failed, waiting for recovery")
                await show(client, found, [_pods(*lost, now)])
        case _:
            await _reclaim(client, step)


async def start(client: ApiRequests, workloads: Iterable[JsonObject], now: Millis) -> None:
    """Have the pods of those get ready that were admitted and are to start now."""
    for one in workloads:
        starts = (one["metadata"].get("labels") or {}).get(STARTS)
        turns = look(one, "status.requeueState.count") or 0
        if starts not in ("at-once", "second") or (starts == "second" and not turns):
            continue
        waits = look(one, "status.conditions[PodsReady].reason") in (None, "WaitForStart")
        if waits and holds(one, "Admitted") and not holds(one, "Evicted") and not holds(one, "Finished"):
            ready = ("True", "Started", "All pods reached readiness and the workload is running")
            with suppress(ObjectConflict, ObjectMissing):
                await show(client, one, [_pods(*ready, now)])


async def let_go(client: ApiRequests, workloads: Objects, now: Millis) -> bool:
    """Have whoever runs those without a job say that they stopped, of each that has to; whether there was one."""
    leaving = [one for one in workloads.values() if has_to_stop(one) and not job_of(one)]
    for one in leaving:
        await give_back(client, one, now)
    return bool(leaving)


def _pods(status: str, reason: str, message: str, now: Millis) -> JsonObject:
    told = {"type": "PodsReady", "status": status, "reason": reason, "message": message}
    return {**told, "lastTransitionTime": format_timestamp(now)}


async def _answer(client: ApiRequests, step: Step, now: Millis) -> None:
    found = await client.get(WORKLOADS, step.namespace, step.name)
    checks = look(found, "status.admissionChecks") or ()
    if not any(one["name"] == step.value["name"] for one in checks) or not look(found, "status.admission"):
        return
    said = {
        **step.value,
        "message": f"says {step.value['state']}",
        "lastTransitionTime": format_timestamp(now),
    }
    await show(
        client,
        found,
        [],
        admissionChecks=[{**one, **said} if one["name"] == step.value["name"] else one for one in checks],
    )


async def _reclaim(client: ApiRequests, step: Step) -> None:
    found = await client.get(WORKLOADS, step.namespace, step.name)
    done = {one["name"]: one["count"] for one in look(found, "status.reclaimablePods") or ()}
    left = [one for one in look(found, "spec.podSets") if done.get(one["name"], 0) < one["count"] - 1]
    if not left or not look(found, "status.admission"):
        return
    done[left[0]["name"]] = done.get(left[0]["name"], 0) + 1
    await show(client, found, [], reclaimablePods=[{"name": name, "count": count} for name, count in done.items()])
