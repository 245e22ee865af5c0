"""Jobs that Kueue has put on cards keep them, and nobody else is given what their pods hold."""

import asyncio
from pathlib import Path
from typing import Any

from ops.cluster.embedded import EmbeddedCluster
from ops.cluster.nodes import gpu_node
from ops.kube.client import connect
from ops.kube.reflector import Reflector
from ops.log.jetstream import connect as connect_bus
from ops.wiring import Ports, Running, stopped
from services.watcher.jobs import workload_name
from tests.ops.deploy.small_cluster import KUEUE, job
from tests.ops.test_adopt import condition, left, look, spec_of, until

Plain = dict[str, Any]
ASKED = {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "30000", "nvidia.com/gpucores": "50"}
TAINT = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}


def platform() -> list[Plain]:
    quotas = [{"name": name, "nominalQuota": 200000} for name in ASKED]
    group = {"coveredResources": list(ASKED), "flavors": [{"name": "v100", "resources": quotas}]}
    return [
        gpu_node("g1", product="V100", zone="z", cards=2, memory_mib=32768, model="NVIDIA-V100"),
        {
            "apiVersion": KUEUE,
            "kind": "ResourceFlavor",
            "metadata": {"name": "v100"},
            "spec": {"nodeLabels": {"nvidia.com/gpu.product": "V100"}, "tolerations": [TAINT]},
        },
        {
            "apiVersion": KUEUE,
            "kind": "ClusterQueue",
            "metadata": {"name": "gq"},
            "spec": {"namespaceSelector": {}, "resourceGroups": [group]},
        },
        {
            "apiVersion": KUEUE,
            "kind": "LocalQueue",
            "metadata": {"name": "gl", "namespace": "team"},
            "spec": {"clusterQueue": "gq"},
        },
    ]


def card_job(embedded: EmbeddedCluster, name: str, *, runs: bool) -> str:
    """A job for one card, as Kueue has started it or not; its workload's name."""
    value = job(name, suspend=not runs)
    value["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "gl"
    container = value["spec"]["template"]["spec"]["containers"][0]
    container["resources"] = {"limits": ASKED}
    if runs:
        value["spec"]["template"]["spec"]["nodeSelector"] = {"nvidia.com/gpu.product": "V100"}
        value["spec"]["template"]["spec"]["tolerations"] = [TAINT]
    embedded.add(value)
    uid = (embedded.store.get("jobs.batch", ("team", name)) or {})["metadata"]["uid"]
    key = workload_name("Job", "batch", name, uid)
    if not runs:
        return key
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": uid, "controller": True}
    pod_set = {"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}}
    embedded.add(
        {
            "apiVersion": KUEUE,
            "kind": "Workload",
            "metadata": {"name": key, "namespace": "team", "ownerReferences": [owner]},
            "spec": {"queueName": "gl", "active": True, "priority": 0, "podSets": [pod_set]},
        }
    )
    given = {"name": "main", "count": 1, "flavors": dict.fromkeys(ASKED, "v100"), "resourceUsage": ASKED}
    status = {
        "conditions": [condition(one) for one in ("QuotaReserved", "Admitted", "PodsReady")],
        "admission": {"clusterQueue": "gq", "podSetAssignments": [given]},
    }
    kind = embedded.resources.kind("kueue.x-k8s.io", "v1beta2", "workloads")
    embedded.resources.update(kind, ("team", key), {"metadata": {}, "status": status}, subresource="status")
    return key


async def test_who_has_cards_keeps_them_and_the_next_one_waits_for_cards(tmp_path: Path) -> None:
    async with left(tmp_path) as (embedded, server):
        for one in platform():
            embedded.add(one)
        runs = [card_job(embedded, name, runs=True) for name in ("one", "two")]
        await until(
            lambda: (
                sum(one.get("status", {}).get("phase") == "Running" for one in embedded.store.of("pods").values()) == 2
            )
        )
        waits = card_job(embedded, "three", runs=False)
        told = await look(tmp_path, server.url)
        assert told.recorded and (told.admitted, told.running) == (2, 2)
        bus, client = await connect_bus(server.url), await connect(str(tmp_path / "kubeconfig"))
        running = Running(Ports(bus=bus, reader=Reflector(client), writer=client, clock=embedded.clock))
        task = asyncio.create_task(running.run())
        try:
            await until(lambda: "LOG_0" in running.hosts)
            world = running.hosts["LOG_0"].fold.world
            await until(
                lambda: (
                    (found := world.workloads.get(f"team/{waits}")) is not None
                    and "QuotaReserved" in found.conditions
                    and found.conditions["QuotaReserved"].reason == "WaitingForDevices"
                )
            )
            for key in runs:
                assert world.workloads[f"team/{key}"].admitted and not world.workloads[f"team/{key}"].evicted
            assert [spec_of(embedded, name)["suspend"] for name in ("one", "two", "three")] == [False, False, True]
        finally:
            await stopped(task)
            await client.close()
            await bus.close()
