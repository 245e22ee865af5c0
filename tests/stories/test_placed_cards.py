"""A job that wants one rack and cards: quota, hosts and cards come out of one decision, and each pod gets the cards of its host."""

import pytest
import yaml

from events.json_object import JsonObject
from ops.sandbox.embedded_cluster.nodes.node_objects import gpu_node
from tests.stage.stage import NODES, PODS, Stage
from tests.stories.test_own_cards import INDEX, alive, cards_by_index, held, pinned, running, settled
from tests.stories.test_ungating import HOSTNAME

pytestmark = pytest.mark.bare_server

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
spec:
  topologyName: racks
  nodeLabels: {pool: racked}
  tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: racked}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [nvidia.com/gpu, nvidia.com/gpumem]
    flavors:
    - name: racked
      resources: [{name: nvidia.com/gpu, nominalQuota: 100}, {name: nvidia.com/gpumem, nominalQuota: 1000000}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: racked, namespace: default}
spec: {clusterQueue: racked}
"""


async def racks(stage: Stage, cards: int = 2) -> None:
    """Two racks of two hosts, each with cards of 32 GiB."""
    for host, rack in RACKS.items():
        node = gpu_node(host, product="V100", zone="a", cards=cards, memory_mib=32768, model="NVIDIA-V100")
        node["metadata"]["labels"] |= {"rack": rack, "pool": "racked", HOSTNAME: host}
        await stage.add(node)
    for document in yaml.safe_load_all(QUEUES):
        await stage.add(document)


def train(name: str, count: int, *, memory: int = 20000, indexed: bool = True) -> JsonObject:
    """A job whose pods want one card each, all in one rack."""
    limits = {"nvidia.com/gpu": 1, "nvidia.com/gpumem": str(memory)}
    notes = {"kuelog.io/run-seconds": "500", "kueue.x-k8s.io/podset-required-topology": "rack"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default", "labels": {"kueue.x-k8s.io/queue-name": "racked"}},
        "spec": {
            "parallelism": count,
            "completions": count,
            "completionMode": "Indexed" if indexed else "NonIndexed",
            "backoffLimit": 6,
            "template": {
                "metadata": {"annotations": notes},
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [{"name": "main", "image": "x", "resources": {"limits": limits}}],
                },
            },
        },
    }


def host(pod: JsonObject) -> str:
    """Where a pod runs: on the host that its node selector names, let through all its gates."""
    assert not pod["spec"].get("schedulingGates")
    assert pod["spec"]["nodeSelector"][HOSTNAME] == pod["spec"]["nodeName"]
    return str(pod["spec"]["nodeName"])


async def test_each_pod_runs_on_the_host_of_its_rank_with_cards_of_that_host(stage: Stage) -> None:
    await racks(stage)
    stage.serve()
    await stage.add(train("ring", 4))
    await stage.until(lambda: running(stage, "ring", 4))
    pods = {int(one["metadata"]["annotations"][INDEX]): one for one in alive(stage, "ring")}
    hosts = {rank: host(pod) for rank, pod in pods.items()}
    assert hosts == {0: "h1", 1: "h1", 2: "h2", 3: "h2"}
    assert all(held(pod) == [pinned(pod)] and pinned(pod).startswith(f"GPU-{host(pod)}") for pod in pods.values())
    world = await settled(stage)
    (key,) = world.pod_cards
    assert {rank: held(pod) for rank, pod in pods.items()} == cards_by_index(world, key)


async def test_a_rack_whose_cards_are_too_full_is_passed_over(stage: Stage) -> None:
    await racks(stage, cards=1)
    stage.serve()
    await stage.add(train("small", 1))
    await stage.until(lambda: running(stage, "small", 1))
    await stage.add(train("pair", 2, indexed=False))
    await stage.until(lambda: running(stage, "pair", 2))
    (small,) = alive(stage, "small")
    pair = alive(stage, "pair")
    assert RACKS[host(small)] not in {RACKS[host(one)] for one in pair}
    assert sorted(host(one) for one in pair) == sorted(name for name in RACKS if RACKS[name] == RACKS[host(pair[0])])
    await settled(stage)


async def test_a_pod_that_replaces_another_gets_its_host_and_its_cards(stage: Stage) -> None:
    await racks(stage)
    stage.serve()
    await stage.add(train("ring", 3, indexed=False))
    await stage.until(lambda: running(stage, "ring", 3))
    before = {one["metadata"]["name"]: (host(one), pinned(one)) for one in alive(stage, "ring")}
    lost = min(before)
    await stage.client.merge(PODS, "default", lost, {"status": {"phase": "Failed"}}, subresource="status")
    await stage.until(
        lambda: running(stage, "ring", 3) and lost not in {one["metadata"]["name"] for one in alive(stage, "ring")}
    )
    after = {one["metadata"]["name"]: (host(one), pinned(one)) for one in alive(stage, "ring")}
    assert sorted(after.values()) == sorted(before.values())
    assert all(held(one) == [pinned(one)] for one in alive(stage, "ring"))


async def test_pods_that_share_a_card_get_another_one_where_their_host_is_gone(stage: Stage) -> None:
    await racks(stage, cards=1)
    stage.serve()
    await stage.add(train("pair", 2, memory=10000, indexed=False))
    await stage.until(lambda: running(stage, "pair", 2))
    (before,) = {host(one) for one in alive(stage, "pair")}
    await stage.client.delete(NODES, "", before)
    await stage.until(lambda: running(stage, "pair", 2) and before not in {host(one) for one in alive(stage, "pair")})
    assert all(held(one) == [pinned(one)] == [f"GPU-{host(one)}-0"] for one in alive(stage, "pair"))
