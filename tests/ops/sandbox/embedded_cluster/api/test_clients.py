"""The embedded API as clients meet it: the official client, unmodified, and kubectl where one is installed."""

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from kubernetes.aio import client as kube
from kubernetes.aio import config as kube_config
from kubernetes.aio.client.exceptions import ApiException

from ops.production.crds.definitions import manifests as crds
from ops.production.kubernetes.client import connect
from ops.production.kubernetes.reflector import Reflector
from ops.production.process.clock import ScaledClock
from ops.sandbox.embedded_cluster.embedded import EmbeddedCluster
from ops.sandbox.embedded_cluster.faults import RequestFault
from ops.sandbox.embedded_cluster.nodes.node_objects import gpu_node, plain_node
from services.runtime.cluster_port import Changed, Listed, ObjectConflict, ObjectInvalid, Resource, Vanished
from tests.places import ROOT

JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "j", "namespace": "default"},
    "spec": {
        "parallelism": 2,
        "completions": 2,
        "template": {
            "metadata": {"annotations": {"kuelog.io/run-seconds": "1"}},
            "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]},
        },
    },
}
MAPS = Resource(plural="configmaps", kind="ConfigMap")


@pytest_asyncio.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[EmbeddedCluster]:
    found = EmbeddedCluster(clock=ScaledClock(50), kubeconfig=tmp_path / "kubeconfig")
    for crd in crds():
        found.add(crd)
    await found.start()
    found.add(plain_node("n1"))
    yield found
    await found.stop()


@pytest_asyncio.fixture
async def official(cluster: EmbeddedCluster) -> AsyncIterator[kube.ApiClient]:
    configuration = kube.Configuration()
    await kube_config.load_kube_config(config_file=str(cluster.kubeconfig), client_configuration=configuration)
    async with kube.ApiClient(configuration) as api:
        yield api


async def until(cluster: EmbeddedCluster, holds: object) -> None:
    queue = cluster.store.watch()
    while not holds():  # type: ignore[operator]
        await asyncio.wait_for(queue.get(), 20)
    cluster.store.unwatch(queue)


def condition(cluster: EmbeddedCluster, name: str, kind: str) -> bool:
    job = cluster.store.get("jobs.batch", ("default", name)) or {}
    return any(one["type"] == kind and one["status"] == "True" for one in job.get("status", {}).get("conditions", ()))


async def test_the_official_client_creates_reads_changes_and_deletes(official: kube.ApiClient) -> None:
    core = kube.CoreV1Api(official)
    made = await core.create_namespaced_config_map("default", {"metadata": {"generateName": "m-"}, "data": {"a": "1"}})
    name = made.metadata.name
    assert name.startswith("m-") and made.metadata.uid
    await core.patch_namespaced_config_map(name, "default", {"data": {"b": "2"}})
    read = await core.read_namespaced_config_map(name, "default")
    assert read.data == {"a": "1", "b": "2"}
    read.metadata.resource_version = made.metadata.resource_version
    with pytest.raises(ApiException) as refused:
        await core.replace_namespaced_config_map(name, "default", read)
    assert (refused.value.status, json.loads(refused.value.body)["reason"]) == (409, "Conflict")
    await core.delete_namespaced_config_map(name, "default")
    with pytest.raises(ApiException) as missing:
        await core.read_namespaced_config_map(name, "default")
    assert missing.value.status == 404


async def test_lists_come_in_pages_and_by_selectors(official: kube.ApiClient) -> None:
    core = kube.CoreV1Api(official)
    for number in range(5):
        labels = {"odd": str(number % 2)}
        await core.create_namespaced_config_map("default", {"metadata": {"name": f"p{number}", "labels": labels}})
    page = await core.list_namespaced_config_map("default", limit=3)
    rest = await core.list_namespaced_config_map("default", limit=3, _continue=page.metadata._continue)
    assert [one.metadata.name for one in (*page.items, *rest.items)] == [f"p{number}" for number in range(5)]
    odd = await core.list_namespaced_config_map("default", label_selector="odd in (1)")
    assert [one.metadata.name for one in odd.items] == ["p1", "p3"]
    one = await core.list_namespaced_config_map("default", field_selector="metadata.name=p4")
    assert [found.metadata.name for found in one.items] == ["p4"]


async def test_a_status_is_written_apart_and_a_generation_counts_specs(official: kube.ApiClient) -> None:
    batch = kube.BatchV1Api(official)
    suspended = {**JOB, "spec": {**JOB["spec"], "suspend": True}}  # type: ignore[dict-item]
    made = await batch.create_namespaced_job("default", {**suspended, "status": {"active": 7}})
    assert (made.status is None or made.status.active is None) and made.metadata.generation == 1
    after = await batch.patch_namespaced_job_status(
        "j", "default", {"status": {"failed": 3}, "spec": {"parallelism": 9}}
    )
    assert (after.status.failed, after.spec.parallelism, after.metadata.generation) == (3, 2, 1)
    after = await batch.patch_namespaced_job("j", "default", {"spec": {"parallelism": 1}})
    assert after.metadata.generation == 2


async def test_a_custom_resource_is_validated_pruned_and_defaulted(official: kube.ApiClient) -> None:
    custom = kube.CustomObjectsApi(official)
    queue = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": "q"},
        "spec": {"queueingStrategy": "Whatever"},
    }
    with pytest.raises(ApiException) as refused:
        await custom.create_cluster_custom_object("kueue.x-k8s.io", "v1beta2", "clusterqueues", queue)
    assert refused.value.status == 422
    causes = json.loads(refused.value.body)["details"]["causes"]
    assert causes[0]["field"] == "spec.queueingStrategy"
    queue["spec"] = {"resourceGroups": []}
    made = await custom.create_cluster_custom_object("kueue.x-k8s.io", "v1beta2", "clusterqueues", queue)
    assert made["spec"]["queueingStrategy"] == "BestEffortFIFO"


async def test_finalizers_hold_and_owners_take_what_they_own_along(
    official: kube.ApiClient, cluster: EmbeddedCluster
) -> None:
    core = kube.CoreV1Api(official)
    owner = await core.create_namespaced_config_map(
        "default", {"metadata": {"name": "owner", "finalizers": ["kuelog.io/test"]}}
    )
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.metadata.uid}
    await core.create_namespaced_config_map("default", {"metadata": {"name": "owned", "ownerReferences": [reference]}})
    await core.delete_namespaced_config_map("owner", "default")
    held = await core.read_namespaced_config_map("owner", "default")
    assert held.metadata.deletion_timestamp is not None
    await core.patch_namespaced_config_map("owner", "default", {"metadata": {"finalizers": None}})
    await until(cluster, lambda: cluster.store.get("configmaps", ("default", "owned")) is None)


async def test_a_job_runs_is_suspended_and_ends(official: kube.ApiClient, cluster: EmbeddedCluster) -> None:
    batch = kube.BatchV1Api(official)
    long = json.loads(json.dumps(JOB))
    long["spec"]["template"]["metadata"]["annotations"]["kuelog.io/run-seconds"] = "100"
    await batch.create_namespaced_job("default", long)
    await until(cluster, lambda: (cluster.store.get("jobs.batch", ("default", "j")) or {})["status"].get("ready") == 2)
    await batch.patch_namespaced_job("j", "default", {"spec": {"suspend": True}})
    await until(cluster, lambda: condition(cluster, "j", "Suspended") and not cluster.store.of("pods"))
    with pytest.raises(ApiException) as fixed:
        await batch.patch_namespaced_job("j", "default", {"spec": {"completions": 5}})
    assert fixed.value.status == 422
    await batch.patch_namespaced_job("j", "default", {"spec": {"suspend": False}})
    await until(cluster, lambda: condition(cluster, "j", "Complete"))


async def test_a_gpu_pod_goes_to_the_card_that_its_pin_names(
    official: kube.ApiClient, cluster: EmbeddedCluster
) -> None:
    cluster.add(gpu_node("g1", product="V", zone="a", cards=4, memory_mib=32768, model="NVIDIA-V100"))
    core = kube.CoreV1Api(official)

    def pod(name: str, memory: int) -> dict[str, object]:
        limits = {"nvidia.com/gpu": "1", "nvidia.com/gpumem": str(memory), "nvidia.com/gpucores": "100"}
        return {
            "metadata": {"name": name, "annotations": {"nvidia.com/use-gpuuuid": "GPU-g1-2"}},
            "spec": {
                "tolerations": [{"operator": "Exists"}],
                "containers": [{"name": "c", "image": "x", "resources": {"limits": limits}}],
            },
        }

    await core.create_namespaced_pod("default", pod("first", 8000))
    await until(
        cluster, lambda: (cluster.store.get("pods", ("default", "first")) or {})["spec"].get("nodeName") == "g1"
    )
    first = await core.read_namespaced_pod("first", "default")
    assert first.metadata.annotations["hami.io/vgpu-devices-allocated"] == "GPU-g1-2,NVIDIA,8000,100:;"
    await core.create_namespaced_pod("default", pod("second", 8000))
    await until(
        cluster,
        lambda: any(
            one.get("reason") == "Unschedulable"
            for one in (cluster.store.get("pods", ("default", "second")) or {})["status"].get("conditions", ())
        ),
    )


async def test_the_reflector_lists_watches_and_lists_anew_after_410(cluster: EmbeddedCluster) -> None:
    client = await connect(str(cluster.kubeconfig))
    await client.create(MAPS, "default", {"metadata": {"name": "a"}})
    sights = Reflector(client).watch(MAPS)
    first = await anext(sights)
    assert isinstance(first, Listed) and [one["metadata"]["name"] for one in first.objects] == ["a"]
    await client.create(MAPS, "default", {"metadata": {"name": "b"}})
    second = await anext(sights)
    assert isinstance(second, Changed) and second.object["metadata"]["name"] == "b"
    cluster.store.break_watches()
    await client.delete(MAPS, "default", "a")
    cluster.store.compact()
    third = await anext(sights)
    assert isinstance(third, Vanished | Listed)
    await client.close()


async def test_the_client_is_patient_with_a_busy_server_and_names_what_is_final(cluster: EmbeddedCluster) -> None:
    client = await connect(str(cluster.kubeconfig))
    cluster.faults.order(
        RequestFault(method="POST", path="configmaps", code=429, reason="TooManyRequests", retry_after=0)
    )
    cluster.faults.order(RequestFault(method="POST", path="configmaps", code=500))
    await client.create(MAPS, "default", {"metadata": {"name": "a"}})
    with pytest.raises(ObjectConflict):
        await client.create(MAPS, "default", {"metadata": {"name": "a"}})
    with pytest.raises(ObjectInvalid):
        await client.create(MAPS, "default", {"metadata": {}})
    await client.close()


async def test_what_is_kept_on_disk_outlives_a_killed_process(tmp_path: Path) -> None:
    code = (
        "import asyncio,sys\nfrom pathlib import Path\nfrom ops.sandbox.embedded_cluster.embedded import EmbeddedCluster\n"
        "async def main():\n"
        "    c = EmbeddedCluster(data_dir=Path(sys.argv[1]))\n    await c.start()\n"
        "    c.add({'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'kept','namespace':'default'}})\n"
        "    print(c.store.version, flush=True)\n    await asyncio.sleep(600)\n"
        "asyncio.run(main())\n"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, str(tmp_path), cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    version = int(await process.stdout.readline())
    process.kill()
    await process.wait()
    again = EmbeddedCluster(data_dir=tmp_path)
    assert again.store.get("configmaps", ("default", "kept")) is not None
    assert again.store.version >= version
    again.store.close()


KUBECTL = shutil.which("kubectl")


@pytest.mark.skipif(KUBECTL is None, reason="kubectl is not installed here")
async def test_kubectl_unmodified_does_what_it_does_elsewhere(cluster: EmbeddedCluster, tmp_path: Path) -> None:
    manifest = tmp_path / "job.json"
    manifest.write_text(json.dumps({**JOB, "spec": {**JOB["spec"], "suspend": True}}))  # type: ignore[dict-item]

    async def kubectl(*words: str) -> str:
        done = await asyncio.to_thread(
            subprocess.run,
            [str(KUBECTL), "--kubeconfig", str(cluster.kubeconfig), *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "created" in await kubectl("apply", "-f", str(manifest))
    assert "unchanged" in await kubectl("apply", "-f", str(manifest))
    assert "serverside-applied" in await kubectl("apply", "--server-side", "--force-conflicts", "-f", str(manifest))
    assert "Suspended" in await kubectl("get", "jobs")
    assert "Suspend:          true" in await kubectl("describe", "job", "j")
    await kubectl("label", "job", "j", "team=a")
    assert "j" in await kubectl("get", "jobs", "-l", "team=a", "-o", "name")
    await kubectl(
        "patch", "job", "j", "--type", "json", "-p", '[{"op":"replace","path":"/spec/suspend","value":false}]'
    )
    await kubectl("wait", "--for=condition=complete", "job/j", "--timeout=30s")
    assert "Completed" in await kubectl("get", "pods")
    assert "cq" in await kubectl("api-resources")
    levels = [{"nodeLabel": "example.com/rack"}, {"nodeLabel": "kubernetes.io/hostname"}]
    racks = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Topology", "metadata": {"name": "racks"}}
    manifest.write_text(json.dumps({**racks, "spec": {"levels": levels}}))
    await kubectl("apply", "-f", str(manifest))
    assert "topology.kueue.x-k8s.io/racks" in await kubectl("get", "topologies", "-o", "name")
    assert "racks" in await kubectl("get", "topo")
    assert json.loads(await kubectl("get", "job", "j", "-o", "json"))["status"]["succeeded"] == 2
    assert "deleted" in await kubectl("delete", "job", "j")
