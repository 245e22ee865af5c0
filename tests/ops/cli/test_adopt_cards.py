"""Jobs that Kueue has put on cards keep them, and nobody else is given what their pods hold."""

from pathlib import Path

import pytest

from events.json_object import JsonObject
from ops.production.process.clock import ScaledClock
from ops.sandbox.embedded_cluster.nodes.node_objects import gpu_node
from services.applier.writing import WORKLOADS
from services.jobs.workload_name import workload_name
from tests.ops.cli.test_adopt import Left, Make, condition, left, until
from tests.ops.production.deploy.small_cluster import KUEUE, job
from tests.stage.stage import JOBS

ASKED = {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "30000", "nvidia.com/gpucores": "50"}
TAINT = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}


def platform() -> list[JsonObject]:
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


async def card_job(found: Left, name: str, *, runs: bool) -> str:
    """A job for one card, as Kueue has started it or not; its workload's name."""
    value = job(name, suspend=not runs)
    value["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "gl"
    container = value["spec"]["template"]["spec"]["containers"][0]
    container["resources"] = {"limits": ASKED}
    if runs:
        value["spec"]["template"]["spec"]["nodeSelector"] = {"nvidia.com/gpu.product": "V100"}
        value["spec"]["template"]["spec"]["tolerations"] = [TAINT]
    await found.cluster.add(value)
    uid = (await found.client.get(JOBS, "team", name))["metadata"]["uid"]
    key = workload_name("Job", "batch", name, uid)
    if not runs:
        return key
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": uid, "controller": True}
    pod_set = {"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}}
    given = {"name": "main", "count": 1, "flavors": dict.fromkeys(ASKED, "v100"), "resourceUsage": ASKED}
    await found.cluster.add(
        {
            "apiVersion": KUEUE,
            "kind": "Workload",
            "metadata": {"name": key, "namespace": "team", "ownerReferences": [owner]},
            "spec": {"queueName": "gl", "active": True, "priority": 0, "podSets": [pod_set]},
        }
    )
    status = {
        "conditions": [condition(one) for one in ("QuotaReserved", "Admitted", "PodsReady")],
        "admission": {"clusterQueue": "gq", "podSetAssignments": [given]},
    }
    await found.client.merge(WORKLOADS, "team", key, {"status": status}, subresource="status")
    return key


@pytest.mark.bare_server
async def test_who_has_cards_keeps_them_and_the_next_one_waits_for_cards(
    cluster_with: Make, tmp_path: Path, clock: ScaledClock
) -> None:
    async with left(cluster_with, tmp_path, clock) as found:
        cluster = found.cluster
        for one in platform():
            await cluster.add(one)
        keys = [await card_job(found, name, runs=True) for name in ("one", "two")]

        def running() -> int:
            return sum(one.get("status", {}).get("phase") == "Running" for one in cluster.of("pods").values())

        await cluster.until(lambda: running() == 2)
        waits = await card_job(found, "three", runs=False)
        told = await found.look(found.server.url)
        assert told.recorded and (told.admitted, told.running) == (2, 2)
        async with found.serving() as services:
            await until(lambda: "LOG_0" in services.hosts)
            world = services.hosts["LOG_0"].fold.world

            def why() -> str:
                workload = world.workloads.get(f"team/{waits}")
                said = workload.conditions.get("QuotaReserved") if workload is not None else None
                return said.reason if said is not None else ""

            await until(lambda: why() == "WaitingForDevices")
            for key in keys:
                assert world.workloads[f"team/{key}"].admitted and not world.workloads[f"team/{key}"].evicted
            specs = [found.spec_of(name) for name in ("one", "two", "three")]
            assert [one["suspend"] for one in specs] == [False, False, True]
