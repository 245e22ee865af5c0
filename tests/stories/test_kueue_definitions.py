"""The whole life of jobs over HTTP on Kueue's own definitions, as where kuelog takes Kueue's place."""

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from events.api.labels import RESOURCE_IN_USE
from events.json_object import JsonObject
from events.json_path import look
from ops.production.process.clock import ScaledClock
from services.applier.workloads.known_objects import WORKLOADS
from tests.stage.cluster import Cluster, Embedded
from tests.stage.definitions import definitions_of
from tests.stage.real import Real
from tests.stage.stage import CLUSTER_QUEUES, JOBS, PODS, Stage, job

CHECK = "example.com/looks"
RUNNER = "runner"


@pytest.fixture(params=["embedded", "real"])
async def kueues(request: pytest.FixtureRequest, tmp_path: Path, clock: ScaledClock) -> AsyncIterator[Stage]:
    """A stage whose cluster has Kueue's definitions and no others of Kueue's kinds."""
    if request.param == "embedded":
        cluster: Cluster = Embedded(tmp_path, clock, defined=definitions_of("kueue"))
    else:
        cluster = Real(request.getfixturevalue("installation_on_kueues"), clock)
    async with Stage(tmp_path, cluster, clock) as found:
        yield found


def workload(stage: Stage, owner: str) -> JsonObject:
    found = stage.of("workloads.kueue.x-k8s.io")
    owned = (one for one in found if one["metadata"]["ownerReferences"][0]["name"] == owner)
    return next(owned, {})


def told(stage: Stage, owner: str, kind: str) -> tuple[str, str]:
    found = look(workload(stage, owner), f"status.conditions[{kind}]") or {}
    return found.get("status", ""), found.get("reason", "")


def kinds(value: JsonObject) -> set[str]:
    return {one["type"] for one in look(value, "status.conditions") or ()}


def state_of_check(stage: Stage, owner: str) -> str:
    found = look(workload(stage, owner), "status.admissionChecks") or [{}]
    return str(found[0].get("state", ""))


async def test_a_job_makes_room_comes_back_and_ends(kueues: Stage) -> None:
    stage = kueues
    stage.serve()
    asked = (await stage.client.create(JOBS, "default", job("patient", 50_000)))["spec"]["template"]
    await stage.until(lambda: stage.running("patient"))
    await stage.add(job("urgent", 50_000, urgent=True))
    await stage.until(lambda: stage.running("urgent") and told(stage, "patient", "Preempted")[0] == "True")
    await stage.until(lambda: stage.get("jobs.batch", "default", "patient")["spec"]["template"] == asked)
    await stage.end_pods("urgent")
    await stage.until(lambda: told(stage, "urgent", "Finished") == ("True", "Succeeded") and stage.running("patient"))
    found = workload(stage, "patient")
    assert found["status"]["admission"]["clusterQueue"] == "team"
    assert found["spec"]["podSets"][0]["template"]["spec"]["containers"][0]["image"] == "x"


async def test_a_running_job_has_the_workload_that_kueues_own_reconciler_would_take_for_its_own(kueues: Stage) -> None:
    """By the rules of its job framework: found by owner, alike in containers and tolerations, admitted in its form."""
    stage = kueues
    stage.serve()
    made = await stage.client.create(JOBS, "default", job("runs", 3600))
    await stage.until(lambda: stage.running("runs") and told(stage, "runs", "Admitted")[0] == "True")
    found, runs = workload(stage, "runs"), stage.get("jobs.batch", "default", "runs")
    uid = made["metadata"]["uid"]
    digest = hashlib.sha1(f"Job\nbatch\nruns\n{uid}".encode(), usedforsecurity=False).hexdigest()
    meta = found["metadata"]
    assert meta["name"] == f"job-runs-{digest[:5]}"
    assert (meta["labels"]["kueue.x-k8s.io/job-uid"], meta["finalizers"]) == (uid, [RESOURCE_IN_USE])
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "runs", "uid": uid}
    assert meta["ownerReferences"] == [{**owner, "controller": True, "blockOwnerDeletion": True}]
    (asked,) = found["spec"]["podSets"]
    assert (asked["name"], asked["count"]) == ("main", 1)
    kept, running = asked["template"]["spec"], runs["spec"]["template"]["spec"]
    assert kept == made["spec"]["template"]["spec"]
    assert kept["containers"] == running["containers"]
    flavor = {"key": "nvidia.com/gpu", "operator": "Exists"}
    assert [*kept.get("tolerations", ()), flavor] == running["tolerations"]
    (given,) = found["status"]["admission"]["podSetAssignments"]
    assert found["status"]["admission"]["clusterQueue"] == "team"
    assert (given["name"], given["count"], set(given["flavors"].values())) == ("main", 1, {"v100"})
    assert set(given["flavors"]) == set(given["resourceUsage"])
    assert told(stage, "runs", "QuotaReserved") == ("True", "QuotaReserved")
    assert told(stage, "runs", "Admitted") == ("True", "Admitted")


async def test_a_job_that_has_ended_keeps_the_workload_that_kueues_own_reconciler_would_take_for_its_own(
    kueues: Stage,
) -> None:
    """It is held against its job as it ran: who is admitted no more by its status would have to be as it was asked for."""
    stage = kueues
    stage.serve()
    await stage.add(job("over", 50_000))
    await stage.until(lambda: stage.running("over"))
    await stage.end_pods("over")
    await stage.until(lambda: told(stage, "over", "Finished") == ("True", "Succeeded"))
    found, ended = workload(stage, "over"), stage.get("jobs.batch", "default", "over")
    (asked,), there = found["spec"]["podSets"], ended["spec"]["template"]["spec"]
    assert told(stage, "over", "QuotaReserved")[0] == told(stage, "over", "Admitted")[0] == "True"
    (given,) = found["status"]["admission"]["podSetAssignments"]
    assert (given["name"], given["count"], set(given["flavors"].values())) == ("main", 1, {"v100"})
    kept = asked["template"]["spec"]
    assert kept["containers"] == there["containers"]
    assert [*kept.get("tolerations", ()), {"key": "nvidia.com/gpu", "operator": "Exists"}] == there["tolerations"]


async def test_that_somebody_else_has_ended_a_workload_by_apply_stays(kueues: Stage) -> None:
    stage = kueues
    stage.serve()
    pods = job("x", 1)["spec"]["template"]["spec"]
    value = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "own", "namespace": "default"},
        "spec": {"queueName": "team", "podSets": [{"name": "main", "count": 1, "template": {"spec": pods}}]},
    }
    await stage.add(value)

    def own() -> JsonObject:
        return stage.get("workloads.kueue.x-k8s.io", "default", "own")

    await stage.until(lambda: look(own(), "status.conditions[Admitted].status") == "True")
    ended = {
        "type": "Finished",
        "status": "True",
        "reason": "ByTest",
        "message": "over",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    head = {"apiVersion": value["apiVersion"], "kind": "Workload", "metadata": value["metadata"]}
    whole = {**head, "status": {"conditions": [ended]}}
    await stage.client.apply(WORKLOADS, "default", whole, manager=RUNNER, subresource="status")
    await stage.add(job("next", 3600))
    await stage.until(lambda: stage.running("next"))
    assert {"Finished", "Admitted", "QuotaReserved"} <= kinds(own())
    assert look(own(), "status.conditions[Finished].reason") == "ByTest"


async def test_a_check_that_is_answered_by_its_controller_lets_the_job_in(kueues: Stage) -> None:
    stage = kueues
    stage.serve()
    check = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "AdmissionCheck",
        "metadata": {"name": "looks"},
        "spec": {"controllerName": CHECK},
        "status": {
            "conditions": [
                {
                    "type": "Active",
                    "status": "True",
                    "reason": "Active",
                    "message": "",
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }
            ]
        },
    }
    await stage.add(check)
    rules = {"spec": {"admissionChecksStrategy": {"admissionChecks": [{"name": "looks"}]}}}
    await stage.client.merge(CLUSTER_QUEUES, "", "team", rules)
    await stage.add(job("checked", 3600))
    await stage.until(lambda: state_of_check(stage, "checked") == "Pending")
    await stage.until(lambda: bool(look(workload(stage, "checked"), "status.admission")))
    assert not stage.running("checked")
    found = workload(stage, "checked")
    answer = {**found["status"]["admissionChecks"][0], "state": "Ready", "message": "go"}
    head = {"apiVersion": found["apiVersion"], "kind": "Workload"}
    meta = {"name": found["metadata"]["name"], "namespace": "default"}
    whole = {**head, "metadata": meta, "status": {"admissionChecks": [answer]}}
    await stage.client.apply(WORKLOADS, "default", whole, manager=CHECK, subresource="status")
    await stage.until(lambda: stage.running("checked"))
    assert state_of_check(stage, "checked") == "Ready"


async def test_pods_of_a_group_are_let_in_together(kueues: Stage) -> None:
    stage = kueues
    stage.serve()
    labels = {"kueue.x-k8s.io/queue-name": "team", "kueue.x-k8s.io/pod-group-name": "gang"}
    limits = {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 8000, "nvidia.com/gpucores": 20}
    for name in ("a", "b"):
        notes = {"kueue.x-k8s.io/pod-group-total-count": "2", "kuelog.io/run-seconds": "3600"}
        container = {"name": "main", "image": "x", "resources": {"limits": limits}}
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "default", "labels": labels, "annotations": notes},
            "spec": {"restartPolicy": "Never", "containers": [container]},
        }
        await stage.client.create(PODS, "default", pod)
    phases = ("Running", "Running")
    await stage.until(lambda: tuple(look(stage.get("pods", "default", one), "status.phase") for one in "ab") == phases)
    gang = stage.get("workloads.kueue.x-k8s.io", "default", "gang")
    assert len(gang["metadata"]["ownerReferences"]) == len(phases)
    assert look(gang, "status.conditions[Admitted].status") == "True"
