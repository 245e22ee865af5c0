"""Two-phase admission with somebody else's check, and what happens when it says no: the whole way through a cluster."""

import asyncio
from typing import Any

from services.applier.writing import WORKLOADS
from services.runtime.cluster_port import ObjectConflict, Resource
from tests.stage.cluster import UNTIL_ENDED_S
from tests.stage.stage import CLUSTER_QUEUES, Stage, job

CHECK = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "AdmissionCheck",
    "spec": {"controllerName": "example.com/budget"},
}
ACTIVE = {"status": {"conditions": [{"type": "Active", "status": "True", "reason": "Ready", "message": ""}]}}
CHECKS = Resource(
    group="kueue.x-k8s.io", version="v1beta2", plural="admissionchecks", kind="AdmissionCheck", namespaced=False
)


async def require(stage: Stage, *names: str) -> None:
    """The queue requires these checks, each of which says that it is at work."""
    for name in names:
        await stage.add({**CHECK, "metadata": {"name": name}})
        await stage.client.merge(CHECKS, "", name, ACTIVE, subresource="status")
    strategy = {"admissionChecks": [{"name": name} for name in names]}
    await stage.client.merge(CLUSTER_QUEUES, "", "team", {"spec": {"admissionChecksStrategy": strategy}})


def workload(stage: Stage) -> dict[str, Any]:
    """The only Workload object, or nothing yet."""
    return next(iter(stage.of("workloads.kueue.x-k8s.io")), {})


def conditions(stage: Stage) -> dict[str, tuple[str, str]]:
    found = workload(stage).get("status", {}).get("conditions") or ()
    return {one["type"]: (one["status"], one["reason"]) for one in found}


def check(stage: Stage) -> str:
    found = workload(stage).get("status", {}).get("admissionChecks") or ()
    return found[0]["state"] if found else ""


async def say(stage: Stage, state: str) -> None:
    """What the controller of the check writes."""
    while True:
        now = workload(stage)
        told = [{**one, "state": state, "message": f"said {state}"} for one in now["status"]["admissionChecks"]]
        patch = {
            "metadata": {"resourceVersion": now["metadata"]["resourceVersion"]},
            "status": {"admissionChecks": told},
        }
        try:
            await stage.client.merge(WORKLOADS, "default", now["metadata"]["name"], patch, subresource="status")
        except ObjectConflict:
            continue
        return


async def play(stage: Stage) -> None:
    await stage.add(job("patient", UNTIL_ENDED_S))
    await stage.until(lambda: check(stage) == "Pending" and "QuotaReserved" in conditions(stage))
    assert not stage.running("patient")
    await say(stage, "Ready")
    await stage.until(lambda: stage.running("patient"))
    await say(stage, "Rejected")
    await stage.until(lambda: conditions(stage).get("QuotaReserved") == ("False", "Deactivated"))
    assert conditions(stage)["Evicted"] == ("True", "DeactivatedDueToAdmissionCheck")
    assert conditions(stage)["Requeued"] == ("False", "DeactivatedDueToAdmissionCheck")
    assert workload(stage)["spec"]["active"] is False
    assert not stage.running("patient")
    wanted = {"AdmissionCheckRejected", "EvictedDueToDeactivatedDueToAdmissionCheck"}
    await stage.until(lambda: wanted <= {one["reason"] for one in stage.of("events")})
    name = workload(stage)["metadata"]["name"]
    await stage.client.merge(WORKLOADS, "default", name, {"spec": {"active": True}})
    await stage.until(lambda: conditions(stage).get("Requeued") == ("True", "Reactivated"))
    await stage.until(lambda: conditions(stage).get("QuotaReserved") == ("True", "QuotaReserved"))
    assert check(stage) == "Pending", "what was said before counts no more"
    await say(stage, "Ready")
    await stage.until(lambda: stage.running("patient"))


async def test_a_check_lets_in_throws_out_and_lets_in_again_once_the_workload_is_set_active(stage: Stage) -> None:
    await require(stage, "budget")
    stage.serve()
    await asyncio.wait_for(play(stage), 60)
