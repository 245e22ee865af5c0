"""Pods without a job that Kueue has let through run on, count, and let those at the gate in when they have ended."""

from pathlib import Path
from typing import Any

from events.api.labels import RUN_SECONDS
from events.json_object import JsonObject
from ops.production.process.clock import ScaledClock
from services.applier.writing import WORKLOADS
from services.jobs.workload_name import workload_name
from tests.ops.cli.test_adopt import HELD, Left, Make, condition, left, until
from tests.ops.production.deploy.small_cluster import KUEUE
from tests.stage.cluster import PODS

MANAGED, ROLE = "kueue.x-k8s.io/managed", "4b0469f7"
GATES = ("kueue.x-k8s.io/admission", "kueue.x-k8s.io/topology")
CONTAINER = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}


def pod(name: str, *, group: str = "", waits: bool = False) -> JsonObject:
    """A pod as Kueue's webhook has made it; let through, with what its flavor adds."""
    labels = {"kueue.x-k8s.io/queue-name": "lq", MANAGED: "true"}
    notes = {"kueue.x-k8s.io/role-hash": ROLE, RUN_SECONDS: "3600"}
    if group:
        labels["kueue.x-k8s.io/pod-group-name"] = group
        notes["kueue.x-k8s.io/pod-group-total-count"] = "2"
    spec: dict[str, Any] = {"restartPolicy": "Never", "containers": [CONTAINER]}
    spec |= {"schedulingGates": [{"name": one} for one in GATES]} if waits else {"nodeSelector": {"pool": "a"}}
    meta = {"name": name, "namespace": "team", "labels": labels, "annotations": notes, "finalizers": [MANAGED]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


async def workload_of(found: Left, key: str, pod_set: str, *pods: str, admitted: bool = True) -> None:
    """The Workload of pods as Kueue leaves it."""
    uids = {one: (await found.client.get(PODS, "team", one))["metadata"]["uid"] for one in pods}
    alone = {"controller": True} if pod_set == "main" else {}
    owners = [{"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid, **alone} for name, uid in uids.items()]
    asked = {"name": pod_set, "count": len(pods), "template": {"spec": {"containers": [CONTAINER]}}}
    value = {
        "apiVersion": KUEUE,
        "kind": "Workload",
        "metadata": {"name": key, "namespace": "team", "finalizers": [HELD], "ownerReferences": owners},
        "spec": {"queueName": "lq", "active": True, "priority": 0, "podSets": [asked]},
    }
    await found.cluster.add(value)
    status: JsonObject = {"conditions": [condition("QuotaReserved", true=False, reason="Pending")]}
    if admitted:
        used = {"name": pod_set, "count": len(pods), "flavors": {"cpu": "a"}, "resourceUsage": {"cpu": str(len(pods))}}
        status = {
            "conditions": [condition("QuotaReserved"), condition("Admitted")],
            "admission": {"clusterQueue": "cq", "podSetAssignments": [used]},
        }
    await found.client.merge(WORKLOADS, "team", key, {"status": status}, subresource="status")


async def test_pods_that_run_go_on_and_those_at_both_gates_are_let_in_after_them(
    cluster_with: Make, tmp_path: Path, clock: ScaledClock
) -> None:
    async with left(cluster_with, tmp_path, clock, cpus=3) as found:
        cluster = found.cluster
        for one in (pod("alone"), pod("a", group="g"), pod("b", group="g"), pod("waits", waits=True)):
            await cluster.add(one)

        def of(name: str) -> JsonObject:
            return cluster.get("pods", ("team", name)) or {}

        def phase(name: str) -> str:
            return of(name).get("status", {}).get("phase", "")

        for name in ("alone", "waits"):
            key = workload_name("Pod", "", name, (await found.client.get(PODS, "team", name))["metadata"]["uid"])
            await workload_of(found, key, "main", name, admitted=name == "alone")
        await workload_of(found, "g", ROLE, "a", "b")
        await found.show_reserved(3)
        await cluster.until(lambda: all(phase(one) == "Running" for one in ("alone", "a", "b")))
        uids = {one: of(one)["metadata"]["uid"] for one in ("alone", "a", "b")}

        told = await found.look(found.server.url)
        assert told.recorded and told.differences == []
        assert (told.workloads, told.admitted, told.running) == (3, 2, 2)
        async with found.serving() as running:
            await until(lambda: running.watcher is not None and running.watcher.listed.is_set())
            await running.quiet()
            assert {one: of(one)["metadata"]["uid"] for one in uids} == uids, "no pod was stopped"
            assert [one["name"] for one in of("waits")["spec"]["schedulingGates"]] == list(GATES)
            await found.client.merge(PODS, "team", "alone", {"metadata": {"annotations": {RUN_SECONDS: "0"}}})
            await cluster.until(lambda: phase("waits") == "Running")
            assert {one: of(one)["metadata"]["uid"] for one in ("a", "b")} == {one: uids[one] for one in ("a", "b")}
            assert phase("a") == phase("b") == "Running"
