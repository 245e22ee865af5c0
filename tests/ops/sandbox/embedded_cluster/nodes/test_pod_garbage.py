"""Pods of a node that is gone end and go, as they do under kube-controller-manager."""

from collections.abc import AsyncIterator

import pytest_asyncio

from events.json_object import JsonObject
from ops.production.process.clock import ScaledClock
from ops.sandbox.embedded_cluster.embedded import EmbeddedCluster
from ops.sandbox.embedded_cluster.nodes.node_objects import plain_node
from ops.sandbox.embedded_cluster.nodes.pod_garbage import ABSENT_MS, OUT_OF_SERVICE
from tests.ops.sandbox.embedded_cluster.test_everyday_kinds import until

NODES, PODS = "nodes", "pods"


@pytest_asyncio.fixture
async def cluster() -> AsyncIterator[EmbeddedCluster]:
    found = EmbeddedCluster(clock=ScaledClock(100))
    await found.start()
    found.add(plain_node("n1"))
    yield found
    await found.stop()


def pod(cluster: EmbeddedCluster, name: str = "p") -> JsonObject | None:
    return cluster.store.get(PODS, ("default", name))


async def runs(cluster: EmbeddedCluster, name: str = "p", **meta: object) -> None:
    spec = {"containers": [{"name": "c", "image": "x"}]}
    meta = {"name": name, "namespace": "default", "annotations": {"kuelog.io/run-seconds": "100000"}, **meta}
    cluster.add({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
    await until(cluster, lambda: ((pod(cluster, name) or {}).get("status") or {}).get("phase") == "Running")


async def test_a_pod_goes_some_time_after_its_node(cluster: EmbeddedCluster) -> None:
    await runs(cluster)
    gone_at = cluster.clock.now()
    cluster.store.remove(NODES, ("", "n1"))
    await until(cluster, lambda: pod(cluster) is None)
    assert cluster.clock.now() - gone_at >= ABSENT_MS


async def test_one_that_is_being_deleted_goes_though_nobody_there_can_say_that_it_has_ended(
    cluster: EmbeddedCluster,
) -> None:
    await runs(cluster)
    cluster.store.remove(NODES, ("", "n1"))
    kind = cluster.resources.kind("", "v1", PODS)
    cluster.resources.delete(kind, ("default", "p"))
    assert pod(cluster) is not None
    await until(cluster, lambda: pod(cluster) is None)


async def test_what_somebody_holds_has_ended_and_waits_for_its_finalizer(cluster: EmbeddedCluster) -> None:
    await runs(cluster, finalizers=["example.com/mine"])
    cluster.store.remove(NODES, ("", "n1"))
    await until(cluster, lambda: bool((pod(cluster) or {"metadata": {}})["metadata"].get("deletionTimestamp")))
    held = pod(cluster)
    assert held is not None and held["status"]["phase"] == "Failed"
    assert ("DisruptionTarget", "DeletionByPodGC") in [
        (one["type"], one["reason"]) for one in held["status"]["conditions"] if "reason" in one
    ]
    kind = cluster.resources.kind("", "v1", PODS)
    cluster.resources.update(kind, ("default", "p"), {**held, "metadata": {**held["metadata"], "finalizers": []}})
    assert pod(cluster) is None


async def test_a_node_that_comes_back_under_its_name_keeps_its_pods(cluster: EmbeddedCluster) -> None:
    await runs(cluster)
    node = cluster.store.remove(NODES, ("", "n1"))
    assert node is not None
    cluster.add(plain_node("n1"))
    until_then = cluster.clock.now() + 2 * ABSENT_MS
    await runs(cluster, "other")
    await cluster.clock.sleep(until_then - cluster.clock.now())
    assert pod(cluster) is not None


async def test_what_is_deleted_on_a_node_out_of_service_goes_at_once(cluster: EmbeddedCluster) -> None:
    await runs(cluster)
    node = cluster.store.get(NODES, ("", "n1"))
    assert node is not None
    silent = [{"type": "Ready", "status": "Unknown"}]
    node = {**node, "status": {**node["status"], "conditions": silent}}
    cluster.store.put(NODES, ("", "n1"), node)
    cluster.resources.delete(cluster.resources.kind("", "v1", PODS), ("default", "p"))
    assert pod(cluster) is not None
    taint = {"key": OUT_OF_SERVICE, "effect": "NoExecute"}
    cluster.store.put(NODES, ("", "n1"), {**node, "spec": {"taints": [taint]}})
    await until(cluster, lambda: pod(cluster) is None)
