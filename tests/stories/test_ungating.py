"""Pods of a workload that is placed by topology wait at their gate until they are told their domain, and run there."""

from collections import Counter
from typing import Any

import yaml

from events.json_object import JsonObject
from ops.sandbox.embedded_cluster.nodes.node_objects import plain_node
from projections.snapshot import tables_of, world_of
from projections.topology.pods.placed_pods import placed_pod_sets
from tests.stage.stage import PODS, Stage
from tests.stories.test_own_cards import INDEX, alive, running, settled

HOSTNAME = "kubernetes.io/hostname"
RACKS = {"h1": "r1", "h2": "r1", "h3": "r2", "h4": "r2"}
QUEUES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {name: racks}
spec: {levels: [{nodeLabel: rack}, {nodeLabel: kubernetes.io/hostname}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: racked}
spec: {topologyName: racks, nodeLabels: {pool: racked}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: racked}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: racked, resources: [{name: cpu, nominalQuota: 100}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: racked, namespace: default}
spec: {clusterQueue: racked}
"""


async def racks(stage: Stage) -> None:
    """Two racks of two hosts with two CPUs each, and a node apart that has room for all."""
    for host, rack in RACKS.items():
        node = plain_node(host, cpu="2")
        node["metadata"]["labels"] |= {"rack": rack, "pool": "racked"}
        await stage.add(node)
    await stage.add(plain_node("big", cpu="64"))
    for document in yaml.safe_load_all(QUEUES):
        await stage.add(document)


def placed(name: str, count: int, *, indexed: bool = True, **asked: str) -> dict[str, Any]:
    """A job whose pods want a CPU each, in one rack."""
    notes = {"kuelog.io/run-seconds": "500", "kueue.x-k8s.io/podset-required-topology": "rack", **asked}
    container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": "1"}}}
    pod: JsonObject = {"restartPolicy": "Never", "containers": [container]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default", "labels": {"kueue.x-k8s.io/queue-name": "racked"}},
        "spec": {
            "parallelism": count,
            "completions": count,
            "completionMode": "Indexed" if indexed else "NonIndexed",
            "backoffLimit": 6,
            "template": {"metadata": {"annotations": notes}, "spec": pod},
        },
    }


def hosts(stage: Stage, job: str) -> dict[int, str]:
    """By completion index, where a pod runs; each is kept there by its node selector."""
    found = alive(stage, job)
    assert all(one["spec"]["nodeSelector"][HOSTNAME] == one["spec"]["nodeName"] for one in found)
    assert not any(one["spec"].get("schedulingGates") for one in found)
    return {int(one["metadata"]["annotations"][INDEX]): one["spec"]["nodeName"] for one in found}


async def test_each_pod_of_a_job_runs_in_the_domain_of_its_rank(stage: Stage) -> None:
    await racks(stage)
    stage.serve()
    await stage.add(placed("ring", 4))
    await stage.until(lambda: running(stage, "ring", 4))
    found = hosts(stage, "ring")
    first, second = found[0], found[2]
    assert found == {0: first, 1: first, 2: second, 3: second} and first < second
    assert RACKS[first] == RACKS[second], "one rack"
    world = await settled(stage)
    (key,) = world.placed_pods
    assert len(world.placed_pods[key]) == 4
    assert not world.cards.pods, "they have no cards"
    again = world_of(tables_of(world))
    assert placed_pod_sets(again, again.workloads[key]) == placed_pod_sets(world, world.workloads[key])


async def test_a_pod_that_replaces_another_runs_where_that_one_ran(stage: Stage) -> None:
    await racks(stage)
    stage.serve()
    await stage.add(placed("ring", 3, indexed=False))
    await stage.until(lambda: running(stage, "ring", 3))
    before = Counter(one["spec"]["nodeName"] for one in alive(stage, "ring"))
    lost = alive(stage, "ring")[0]["metadata"]["name"]
    await stage.client.merge(PODS, "default", lost, {"status": {"phase": "Failed"}}, subresource="status")
    await stage.until(
        lambda: running(stage, "ring", 3) and lost not in {one["metadata"]["name"] for one in alive(stage, "ring")}
    )
    assert Counter(one["spec"]["nodeName"] for one in alive(stage, "ring")) == before


async def test_a_single_pod_and_a_group_wait_at_the_gate_too_and_one_that_is_not_placed_is_let_through(
    stage: Stage,
) -> None:
    await racks(stage)
    await stage.add({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "plain"}})
    quota = [{"name": "plain", "resources": [{"name": "cpu", "nominalQuota": 100}]}]
    groups = [{"coveredResources": ["cpu"], "flavors": quota}]
    await stage.add(
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "ClusterQueue",
            "metadata": {"name": "plain"},
            "spec": {"namespaceSelector": {}, "resourceGroups": groups},
        }
    )
    await stage.add(
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "LocalQueue",
            "metadata": {"name": "plain", "namespace": "default"},
            "spec": {"clusterQueue": "plain"},
        }
    )
    stage.serve()
    await stage.add(single("alone", "racked"))
    await stage.add(single("anywhere", "plain"))
    for name in ("first", "second"):
        await stage.add(single(name, "racked", group="pair"))
    names = ("alone", "anywhere", "first", "second")
    await stage.until(lambda: all(_runs(stage, name) for name in names))
    found = {name: _pod(stage, name)["spec"] for name in names}
    assert not any(one.get("schedulingGates") for one in found.values())
    assert found["alone"]["nodeSelector"][HOSTNAME] == found["alone"]["nodeName"]
    assert HOSTNAME not in (found["anywhere"].get("nodeSelector") or {})
    assert RACKS[found["first"]["nodeName"]] == RACKS[found["second"]["nodeName"]], "one rack"


def single(name: str, queue: str, group: str = "") -> dict[str, Any]:
    """A pod of its own, or of a group of two, that wants a CPU."""
    labels = {"kueue.x-k8s.io/queue-name": queue}
    notes = {"kuelog.io/run-seconds": "500"}
    if queue == "racked":
        notes["kueue.x-k8s.io/podset-required-topology"] = "rack"
    if group:
        labels["kueue.x-k8s.io/pod-group-name"] = group
        notes["kueue.x-k8s.io/pod-group-total-count"] = "2"
    container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": "1"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": labels, "annotations": notes},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }


def _runs(stage: Stage, name: str) -> bool:
    return _pod(stage, name)["status"].get("phase") == "Running"


def _pod(stage: Stage, name: str) -> JsonObject:
    return next(one for one in stage.of("pods") if one["metadata"]["name"] == name)
