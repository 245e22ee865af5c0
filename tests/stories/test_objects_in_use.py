"""Queues, flavors and checks that are deleted while something needs them: they stay until nothing does, as under Kueue."""

from typing import Any

from events.api.labels import RESOURCE_IN_USE
from tests.stage.stage import CLUSTER_QUEUES, Stage, job

API = "kueue.x-k8s.io/v1beta2"
FLAVORS = "resourceflavors.kueue.x-k8s.io"
TOPOLOGIES = "topologies.kueue.x-k8s.io"
QUEUES = "clusterqueues.kueue.x-k8s.io"
FOREIGN = "example.com/kept"


def meta(stage: Stage, kind: str, name: str) -> dict[str, Any]:
    return stage.get(kind, "", name).get("metadata") or {}


def held(stage: Stage, kind: str, name: str) -> bool:
    return RESOURCE_IN_USE in (meta(stage, kind, name).get("finalizers") or ())


async def delete(stage: Stage, kind: str, name: str) -> None:
    await stage.client.request("DELETE", f"/apis/kueue.x-k8s.io/v1beta2/{kind.partition('.')[0]}/{name}")


async def test_a_queue_with_a_running_job_ends_with_the_job_and_its_flavor_ends_with_the_queue(stage: Stage) -> None:
    stage.serve()
    await stage.until(lambda: held(stage, QUEUES, "team") and held(stage, FLAVORS, "v100"))
    await stage.add(job("runs", 3600))
    await stage.until(lambda: stage.running("runs"))
    await delete(stage, FLAVORS, "v100")
    await delete(stage, QUEUES, "team")
    await stage.add(job("late", 60))
    await stage.until(lambda: inactive(stage) == "Terminating")
    assert stage.running("runs")
    assert held(stage, FLAVORS, "v100")
    await stage.end_pods("runs")
    await stage.until(lambda: not meta(stage, QUEUES, "team") and not meta(stage, FLAVORS, "v100"))
    assert stage.complete("runs")
    assert not stage.running("late")


async def test_a_topology_ends_with_the_flavor_that_names_it(stage: Stage) -> None:
    levels = {"levels": [{"nodeLabel": "kubernetes.io/hostname"}]}
    await stage.add({"apiVersion": API, "kind": "Topology", "metadata": {"name": "hosts"}, "spec": levels})
    spec = {"topologyName": "hosts", "nodeLabels": {"zone": "a"}}
    await stage.add({"apiVersion": API, "kind": "ResourceFlavor", "metadata": {"name": "placed"}, "spec": spec})
    stage.serve()
    await stage.until(lambda: held(stage, TOPOLOGIES, "hosts") and held(stage, FLAVORS, "placed"))
    await delete(stage, TOPOLOGIES, "hosts")
    await stage.until(lambda: bool(meta(stage, TOPOLOGIES, "hosts").get("deletionTimestamp")))
    assert held(stage, TOPOLOGIES, "hosts")
    await delete(stage, FLAVORS, "placed")
    await stage.until(lambda: not meta(stage, TOPOLOGIES, "hosts"))


async def test_the_finalizers_of_others_stay(stage: Stage) -> None:
    await stage.client.merge(CLUSTER_QUEUES, "", "team", {"metadata": {"finalizers": [FOREIGN]}})
    stage.serve()
    await stage.until(lambda: held(stage, QUEUES, "team"))
    await delete(stage, QUEUES, "team")
    await stage.until(lambda: meta(stage, QUEUES, "team").get("finalizers") == [FOREIGN])
    await stage.client.merge(CLUSTER_QUEUES, "", "team", {"metadata": {"finalizers": None}})
    await stage.until(lambda: not meta(stage, QUEUES, "team"))


def inactive(stage: Stage) -> str:
    conditions = (stage.get(QUEUES, "", "team").get("status") or {}).get("conditions") or [{}]
    return "" if conditions[0].get("status") == "True" else conditions[0].get("reason", "")
