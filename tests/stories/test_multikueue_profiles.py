"""Worker clusters that are reached by their ClusterProfile: a program gives access, and again when that expires.

Rule: docs/rules/multikueue.md#cluster-profiles
"""

import asyncio
import json
import sys
from pathlib import Path

from msgspec.structs import replace

from events.json_object import JsonObject
from events.multikueue import AccessProvider
from events.timestamp import format_timestamp
from ops.production.process.clock import ScaledClock
from services.multikueue.cluster_profile import CLUSTER_PROFILES
from services.runtime.cluster_port import Resource
from tests.stage.played_kueue import Worker
from tests.stage.real import Real
from tests.stage.stage import Stage
from tests.stories.test_checks import workload
from tests.stories.test_multikueue import KUEUE, RULE, SETTINGS, active, delegated, home_of, managing

CONFIGS = Resource(
    group="kueue.x-k8s.io", version="v1beta2", plural="multikueueconfigs", kind="MultiKueueConfig", namespaced=False
)
V1 = "client.authentication.k8s.io/v1"
PROGRAM = """
import json, os, sys
with open(sys.argv[1], "a") as told:
    told.write(os.environ["KUBERNETES_EXEC_INFO"] + "\\n")
with open(sys.argv[2]) as until:
    status = {"token": "t", "expirationTimestamp": until.read()}
print(json.dumps({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}))
"""
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "clusterprofiles.multicluster.x-k8s.io"},
    "spec": {
        "group": "multicluster.x-k8s.io",
        "scope": "Namespaced",
        "names": {"kind": "ClusterProfile", "plural": "clusterprofiles"},
        "versions": [
            {"name": "v1alpha1", "served": True, "storage": True, "schema": {"openAPIV3Schema": ANYTHING}},
        ],
    },
}


def cluster(name: str, profile: str) -> JsonObject:
    source = {"clusterProfileRef": {"name": profile}}
    return {
        "apiVersion": KUEUE,
        "kind": "MultiKueueCluster",
        "metadata": {"name": name},
        "spec": {"clusterSource": source},
    }


def profile_of(worker: Worker, namespace: str, *providers: str) -> JsonObject:
    """As a cluster manager keeps it: who gives access to which server."""
    server = worker.kubeconfig.read_text().partition("server: ")[2].split()[0].strip("'\"")
    offered = [{"name": one, "cluster": {"server": server}} for one in providers]
    return {
        "apiVersion": "multicluster.x-k8s.io/v1alpha1",
        "kind": "ClusterProfile",
        "metadata": {"name": worker.name, "namespace": namespace},
        "status": {"accessProviders": offered},
    }


async def test_a_job_runs_in_a_cluster_to_which_a_program_gives_access_again_and_again(tmp_path: Path) -> None:
    async with asyncio.timeout(240), Stage(tmp_path) as stage:
        await access_is_given_again_and_again(stage, tmp_path)


async def test_a_cluster_profile_on_a_real_api_server_gives_access_again_and_again(
    real: Real, tmp_path: Path, clock: ScaledClock
) -> None:
    async with asyncio.timeout(300), Stage(tmp_path, real, clock) as stage:
        await access_is_given_again_and_again(stage, tmp_path)


async def access_is_given_again_and_again(stage: Stage, tmp_path: Path) -> None:
    script, told, until = (tmp_path / name for name in ("program.py", "told", "until"))
    script.write_text(PROGRAM)
    command = (str(script), str(told), str(until))
    provider = AccessProvider(name="p", command=sys.executable, args=command, api_version=V1, cluster_info=True)
    rule = replace(RULE, access_providers=(provider,))
    settings = replace(SETTINGS, multikueue=rule, gates={"MultiKueueClusterProfile": True})
    home = home_of(stage)
    w1, w2 = Worker("w1", tmp_path, stage.clock, admits=False), Worker("w2", tmp_path, stage.clock)
    await w2.start()
    given = asyncio.create_task(given_for_three_minutes(stage, until))
    async with managing(stage, [w1], settings):
        try:
            await stage.add(cluster("w2", "w2"))
            missing = 'load client config failed: ClusterProfile.multicluster.x-k8s.io "w2" not found'
            await stage.until(lambda: active(stage, "w2") == ("False", "BadClusterProfile", missing))
            await stage.add(DEFINITION)
            value = profile_of(w2, home, "p")
            await stage.client.create(CLUSTER_PROFILES, home, value)
            await stage.until(lambda: active(stage, "w2") == ("True", "Active", "Connected"))
            info = json.loads(told.read_text().splitlines()[0])
            assert info["spec"]["cluster"] == value["status"]["accessProviders"][0]["cluster"]
            config = {"spec": {"clusters": ["w1", "w2"]}}
            await stage.client.merge(CONFIGS, "", "all", config)
            await stage.add(delegated("patient", 36000))
            await stage.until(lambda: workload(stage).get("status", {}).get("clusterName") == "w2")
            await stage.until(lambda: stage.running("patient"))
            while len(told.read_text().splitlines()) < 2:  # noqa: ASYNC110 - it tells nobody but its file
                await asyncio.sleep(0.05)
            w2.evict()
            await stage.until(lambda: workload(stage).get("status", {}).get("clusterName") is None)
            await stage.until(lambda: workload(stage).get("status", {}).get("clusterName") == "w2")
            assert active(stage, "w2") == ("True", "Active", "Connected"), "nobody has noticed"
        finally:
            given.cancel()
            await w2.stop()


async def given_for_three_minutes(stage: Stage, until: Path) -> None:
    """Whenever the program is asked, what it gives holds for three minutes more, however slow this machine is."""
    fresh = until.with_suffix(".fresh")
    while True:
        fresh.write_text(format_timestamp(stage.clock.now() + 180_000))
        fresh.replace(until)
        await asyncio.sleep(0.05)


async def test_without_the_gate_no_profile_is_read(tmp_path: Path) -> None:
    async with (
        asyncio.timeout(60),
        Stage(tmp_path) as stage,
        managing(stage, [Worker("w1", tmp_path, stage.clock)]),
    ):
        await stage.add(cluster("w2", "w2"))
        off = "load client config failed: MultiKueueClusterProfile feature gate is disabled"
        await stage.until(lambda: active(stage, "w2") == ("False", "MultiKueueClusterProfileFeatureDisabled", off))
