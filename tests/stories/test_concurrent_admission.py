"""Concurrent admission on a cluster: a Workload with variants for two flavors, and a job that moves to the better one."""

import yaml

from events.json_object import JsonObject
from events.settings import SettingsObserved
from ops.sandbox.embedded_cluster.nodes.node_objects import gpu_node
from tests.stage.stage import JOBS, Stage

WORKLOADS = "workloads.kueue.x-k8s.io"
PARENT = "kueue.x-k8s.io/concurrent-admission-parent"
ALLOWED = "kueue.x-k8s.io/workload-allowed-resource-flavors"
SETUP = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: own}
spec: {nodeLabels: {zone: a}, tolerations: [{key: nvidia.com/gpu, operator: Exists}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: spot}
spec: {nodeLabels: {zone: b}, tolerations: [{key: nvidia.com/gpu, operator: Exists}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: both}
spec:
  namespaceSelector: {}
  concurrentAdmissionPolicy: {migration: {mode: TryPreferredFlavors}}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - {name: own, resources: [{name: cpu, nominalQuota: 1}]}
    - {name: spot, resources: [{name: cpu, nominalQuota: 1}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: both, namespace: default}
spec: {clusterQueue: both}
"""


def job(name: str) -> JsonObject:
    container = {"name": "main", "image": "work", "resources": {"requests": {"cpu": "1"}}}
    template = {
        "metadata": {"annotations": {"kuelog.io/run-seconds": "36000"}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    meta = {"name": name, "namespace": "default", "labels": {"kueue.x-k8s.io/queue-name": "both"}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {"suspend": True, "template": template}}


async def serve(stage: Stage) -> None:
    await stage.add(gpu_node("n2", product="V100", zone="b", cards=1, memory_mib=32768, model="NVIDIA-V100"))
    for document in yaml.safe_load_all(SETUP):
        await stage.add(document)
    stage.serve(settings=SettingsObserved(gates={"ConcurrentAdmission": True}))


def parent_of(stage: Stage, name: str) -> JsonObject:
    """The Workload object of a job; empty before it is there."""
    return next(
        (
            one
            for one in stage.of(WORKLOADS)
            if (one["metadata"].get("labels") or {}).get(PARENT) == "true"
            and one["metadata"]["ownerReferences"][0]["name"] == name
        ),
        {},
    )


def variants(stage: Stage, name: str) -> dict[str, JsonObject]:
    """By flavor the Workload objects that belong to that of a job."""
    uid = parent_of(stage, name).get("metadata", {}).get("uid")
    return {
        one["metadata"]["annotations"][ALLOWED]: one
        for one in stage.of(WORKLOADS)
        if one["metadata"]["ownerReferences"][0].get("uid") == uid
    }


def idle_variants(stage: Stage, name: str) -> set[str]:
    """The flavors of those that are not active."""
    return {flavor for flavor, one in variants(stage, name).items() if one["spec"].get("active") is False}


def admitted(found: JsonObject) -> tuple[str, str]:
    told = {one["type"]: one for one in (found.get("status") or {}).get("conditions") or ()}
    condition = told.get("Admitted", {})
    return condition.get("status", ""), condition.get("message", "")


def zone(stage: Stage, name: str) -> str:
    """Where the pods of a job may run by what it was started with."""
    found = stage.get("jobs.batch", "default", name)
    return found["spec"]["template"]["spec"].get("nodeSelector", {}).get("zone", "") if found else ""


async def test_a_job_runs_on_the_flavor_that_has_room_and_moves_when_the_better_one_has(stage: Stage) -> None:
    await serve(stage)
    await stage.add(job("first"))
    await stage.until(lambda: stage.running("first") and zone(stage, "first") == "a")
    await stage.add(job("moves"))
    await stage.until(lambda: stage.running("moves") and zone(stage, "moves") == "b")
    await stage.until(lambda: admitted(parent_of(stage, "moves"))[0] == "True" and len(variants(stage, "moves")) == 2)
    parent, found = parent_of(stage, "moves"), variants(stage, "moves")
    assert admitted(parent) == ("True", f"The variant {found['spot']['metadata']['name']} is admitted")
    assert parent["status"]["admission"]["podSetAssignments"][0]["flavors"] == {"cpu": "spot"}
    (owner,) = found["own"]["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("Workload", parent["metadata"]["name"], True)
    assert found["own"]["spec"]["preemptionGates"] == [{"name": "kueue.x-k8s.io/concurrent-admission"}]
    await stage.until(lambda: "spot" in idle_variants(stage, "first"))

    await stage.end_pods("first")
    await stage.until(lambda: stage.complete("first") and zone(stage, "moves") == "a" and stage.running("moves"))
    await stage.until(lambda: admitted(variants(stage, "moves")["own"])[0] == "True")
    await stage.until(lambda: "spot" in idle_variants(stage, "moves"))
    told = {one["type"]: one for one in variants(stage, "moves")["spot"]["status"]["conditions"]}
    assert told["Evicted"]["reason"] in ("FlavorMigration", "Deactivated")
    over = {
        name
        for name, one in variants(stage, "first").items()
        if any(each["type"] == "Finished" for each in one["status"]["conditions"])
    }
    assert over, "with the job its variants have ended"

    await stage.end_pods("moves")
    await stage.until(lambda: stage.complete("moves"))


async def test_with_a_job_its_workload_and_all_variants_go(stage: Stage) -> None:
    await serve(stage)
    await stage.add(job("goes"))
    await stage.until(lambda: stage.running("goes") and len(variants(stage, "goes")) == 2)
    await stage.client.delete(JOBS, "default", "goes")
    await stage.until(lambda: not stage.of(WORKLOADS))
