"""Workloads that no job stands behind, and what whoever runs one does when it is evicted, as Kueue has that of him."""

from typing import Any

from events.api.labels import MULTIKUEUE_ORIGIN
from events.json_object import JsonObject
from events.json_path import look
from events.timestamp import format_timestamp
from ops.production.kubernetes.client import ApiRequests
from services.applier.workloads.known_objects import WORKLOADS
from services.runtime.cluster_port import ObjectConflict, ObjectMissing, Resource
from tests.stage.stage import Stage, job


def without_job(name: str, **spec: object) -> JsonObject:
    """A Workload with the pod of a job of the stage, and none that it is for."""
    pods = [{"name": "main", "count": 1, "template": job(name, 1)["spec"]["template"]}]
    meta = {"name": name, "namespace": "default"}
    spec = {"queueName": "team", "podSets": pods, **spec}
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": meta, "spec": spec}


def has_to_stop(value: JsonObject) -> bool:
    """Whether it is evicted and holds quota still; whoever runs a copy of another cluster's is its job."""
    has = holds(value, "Evicted") and holds(value, "QuotaReserved") and not holds(value, "Finished")
    return has and not is_copy(value)


def is_copy(value: JsonObject) -> bool:
    """Whether the manager of another cluster has made it."""
    return MULTIKUEUE_ORIGIN in (value["metadata"].get("labels") or {})


def holds(value: JsonObject, kind: str) -> bool:
    """Whether it has this condition, and that is true."""
    return look(value, f"status.conditions[{kind}].status") == "True"


async def give_back(client: ApiRequests, value: JsonObject, now: int) -> None:
    """Take its quota from it, as nothing of it runs any more; not if somebody has written it since it was read."""
    evicted, at = look(value, "status.conditions[Evicted]"), format_timestamp(now)
    again = "True" if evicted["reason"] in ("Preempted", "NodeFailures") else "False"

    def told(kind: str, status: str, reason: str, message: str) -> JsonObject:
        found = {"type": kind, "status": status, "reason": reason, "message": message}
        return {**found, "lastTransitionTime": at, "observedGeneration": value["metadata"]["generation"]}

    conditions = [
        *([told("PodsReady", "False", "WaitForStart", "")] if look(value, "status.conditions[PodsReady]") else []),
        told("Requeued", again, evicted["reason"], evicted["message"]),
        told("QuotaReserved", "False", "Pending", evicted["message"]),
    ]
    if holds(value, "Admitted"):
        ready = all(one["state"] == "Ready" for one in look(value, "status.admissionChecks") or ())
        conditions.append(
            told("Admitted", "False", "NoReservation", "The workload has no reservation")
            if ready
            else told(
                "Admitted",
                "False",
                "NoReservationUnsatisfiedChecks",
                "The workload has no reservation and not all checks ready",
            )
        )
    try:
        await show(client, value, conditions, admission=None)
    except (ObjectConflict, ObjectMissing):
        return


async def show(client: ApiRequests, workload: JsonObject, conditions: list[JsonObject], **more: Any) -> None:
    """Have a workload show these conditions in the place of others of their types, on condition that it is as it was read."""
    await write_status(client, WORKLOADS, workload, {"conditions": with_conditions(workload, conditions), **more})


def with_conditions(value: JsonObject, conditions: list[JsonObject]) -> list[JsonObject]:
    """The conditions of an object, with these in the place of others of their types."""
    types = {one["type"] for one in conditions}
    return [*(one for one in look(value, "status.conditions") or () if one["type"] not in types), *conditions]


async def write_status(client: ApiRequests, resource: Resource, value: JsonObject, status: JsonObject) -> None:
    """Write a part of the status of an object, on condition that it is as it was read. Raises `ObjectConflict`, `ObjectMissing`."""
    meta = value["metadata"]
    patch = {"metadata": {"resourceVersion": meta["resourceVersion"]}, "status": status}
    await client.merge(resource, meta["namespace"], meta["name"], patch, subresource="status")


async def stops(stage: Stage, name: str) -> None:
    """Have whoever runs it stop once it has to, and say so, however often somebody else writes it meanwhile."""
    await stage.until(lambda: has_to_stop(stage.get("workloads.kueue.x-k8s.io", "default", name)))
    while has_to_stop(value := await stage.client.get(WORKLOADS, "default", name)):
        await give_back(stage.client, value, stage.clock.now())
