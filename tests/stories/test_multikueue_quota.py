"""The quota of a queue follows that of the clusters in which its workloads run: a manager, two workers, and a real bus.

Rule: docs/rules/multikueue.md#quota
"""

import asyncio
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from events.json_object import JsonObject
from ops.production.archive.history import read_everything
from ops.production.process.clock import ScaledClock
from projections.checks.quota_automation import CONDITION, GATE
from tests.stage.played_kueue import Worker
from tests.stage.real import Real
from tests.stage.stage import CLUSTER_QUEUES, Stage
from tests.stories.test_multikueue import CONFIGS, KUEUE, SETTINGS, active, clusters
from tests.stories.test_queue_status import KEY, status

ON = replace(SETTINGS, gates={GATE: True})
GPU, MEMORY, CORES = "nvidia.com/gpu", "nvidia.com/gpumem", "nvidia.com/gpucores"
AUTOMATED = ("True", "QuotaAutomated", "ClusterQueue quota is automatically managed based on MultiKueue workers.")


def queue_there(**nominal: int) -> JsonObject:
    resources = [{"name": f"nvidia.com/{name}", "nominalQuota": amount} for name, amount in nominal.items()]
    covered, flavor = [one["name"] for one in resources], {"name": "any", "resources": resources}
    spec = {"namespaceSelector": {}, "resourceGroups": [{"coveredResources": covered, "flavors": [flavor]}]}
    return {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": "there"}, "spec": spec}


async def add_queues(worker: Worker, **nominal: int) -> None:
    await worker.cluster.add(queue_there(**nominal))
    meta = {"name": "team", "namespace": "default"}
    door = {"apiVersion": KUEUE, "kind": "LocalQueue", "metadata": meta, "spec": {"clusterQueue": "there"}}
    await worker.cluster.add(door)


def change(worker: Worker, **nominal: int) -> None:
    kind = worker.embedded.resources.kind("kueue.x-k8s.io", "v1beta2", "clusterqueues")
    (found,) = worker.embedded.store.of(KEY).values()
    worker.embedded.resources.update(kind, ("", "there"), {**found, "spec": queue_there(**nominal)["spec"]})


def quota(stage: Stage) -> dict[str, int]:
    (group,) = stage.get(KEY, "", "team")["spec"]["resourceGroups"]
    (flavor,) = group["flavors"]
    return {one["name"]: int(one["nominalQuota"]) for one in flavor["resources"]}


def condition(stage: Stage) -> tuple[str, str, str]:
    found: dict[str, Any] = next((one for one in status(stage).get("conditions", ()) if one["type"] == CONDITION), {})
    return found.get("status", ""), found.get("reason", ""), found.get("message", "")


async def automate(stage: Stage, management: str) -> None:
    await stage.client.merge(CONFIGS, "", "all", {"spec": {"quotaManagement": management}})


async def test_quota_follows_the_workers_while_it_is_asked_for_and_stays_when_it_is_not(tmp_path: Path) -> None:
    async with asyncio.timeout(150), Stage(tmp_path) as stage:
        await quota_follows_and_stays(stage, tmp_path)


async def test_on_a_real_api_server_quota_follows_the_workers(real: Real, tmp_path: Path, clock: ScaledClock) -> None:
    async with asyncio.timeout(300), Stage(tmp_path, real, clock) as stage:
        await quota_follows_and_stays(stage, tmp_path)


async def quota_follows_and_stays(stage: Stage, tmp_path: Path) -> None:
    async with clusters(stage, tmp_path, settings=ON) as (w1, w2):
        await add_queues(w1, gpu=4, gpumem=1000)
        await add_queues(w2, gpu=2)
        await stage.until(lambda: condition(stage)[1] == "NotRequested")
        assert quota(stage) == {GPU: 10, MEMORY: 32768, CORES: 100}
        before = {**stage.get(KEY, "", "team")["spec"], "resourceGroups": []}
        await automate(stage, "Automated")
        await stage.until(lambda: condition(stage) == AUTOMATED)
        await stage.until(lambda: quota(stage) == {GPU: 6, MEMORY: 1000, CORES: 0})
        assert {**stage.get(KEY, "", "team")["spec"], "resourceGroups": []} == before, "all else of it stays"

        change(w1, gpu=7)
        await stage.until(lambda: quota(stage) == {GPU: 9, MEMORY: 0, CORES: 0})

        by_hand = stage.get(KEY, "", "team")["spec"]["resourceGroups"]
        by_hand[0]["flavors"][0]["resources"][0]["nominalQuota"] = "90"
        await stage.client.merge(CLUSTER_QUEUES, "", "team", {"spec": {"resourceGroups": by_hand}})
        await stage.until(lambda: quota(stage)[GPU] == 9)

        await w1.stop()
        await stage.until(lambda: active(stage, "w1")[:2] == ("False", "ClientConnectionFailed"))
        await stage.until(lambda: quota(stage)[GPU] == 2)
        await w1.start()
        await stage.until(lambda: active(stage, "w1") == ("True", "Active", "Connected"))
        await stage.until(lambda: quota(stage)[GPU] == 9)

        change(w2, gpu=3, gpuunits=5)
        missing = "manager-side coveredResources is missing resources configured on workers: [nvidia.com/gpuunits]"
        await stage.until(lambda: condition(stage) == ("False", "UnsupportedConfiguration", missing))
        assert quota(stage)[GPU] == 9, "it stays what it was"
        change(w2, gpu=3)
        await stage.until(lambda: condition(stage) == AUTOMATED and quota(stage)[GPU] == 10)

        await automate(stage, "Manual")
        await stage.until(lambda: condition(stage)[1] == "NotRequested")
        await stage.client.merge(CLUSTER_QUEUES, "", "team", {"spec": {"admissionChecksStrategy": None}})
        await stage.until(lambda: condition(stage) == ("", "", ""))
        assert quota(stage)[GPU] == 10


async def test_without_the_gate_the_field_changes_nothing(tmp_path: Path) -> None:
    async with asyncio.timeout(90), Stage(tmp_path) as stage, clusters(stage, tmp_path) as (w1, w2):
        await automate(stage, "Automated")
        await add_queues(w1, gpu=4)
        await add_queues(w2, gpu=2)
        await w1.stop()
        await stage.until(lambda: active(stage, "w1")[:2] == ("False", "ClientConnectionFailed"))
        entries = await read_everything(stage.bus)
        said = [one.data for stream in entries.values() for one in stream]
        assert not any(b"QuotaAutomation" in one or b"RemoteQueues" in one for one in said)
        assert quota(stage)[GPU] == 10 and condition(stage) == ("", "", "")
