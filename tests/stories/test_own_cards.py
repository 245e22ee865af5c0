"""Pods of one set that were given different cards: each is told its own before it is scheduled, and has no others."""

import pytest

from events.api.labels import CARDS_GATE
from events.json_object import JsonObject
from ops.production.archive.history import History
from ops.production.log.streams import DEVICE_PARTITION, PARTITION
from ops.queries.replay import fold_partition
from ops.sandbox.embedded_cluster.nodes.node_objects import gpu_node
from projections.devices.annotations.allocated_cards import pod_shares
from projections.devices.holdings.drift import all_findings
from projections.devices.vendors.table import BY_WORD
from projections.world import World
from tests.stage.cluster import UNTIL_ENDED_S
from tests.stage.stage import CLUSTER_QUEUES, Stage
from tests.stories.test_pods import PODS, Pods, member

pytestmark = pytest.mark.bare_server

WIDE = {"nvidia.com/gpumem": "30000", "nvidia.com/gpucores": "90"}
INDEX = "batch.kubernetes.io/job-completion-index"
MUCH = {"nvidia.com/gpu": "40", "nvidia.com/gpumem": "200000", "nvidia.com/gpucores": "400"}


async def many_cards(stage: Stage) -> None:
    """Four cards more, and quota for them."""
    await stage.add(gpu_node("n2", product="V100", zone="a", cards=4, memory_mib=32768, model="NVIDIA-V100"))
    queue = await stage.client.get(CLUSTER_QUEUES, "", "team")
    groups = queue["spec"]["resourceGroups"]
    for one in groups[0]["flavors"][0]["resources"]:
        one["nominalQuota"] = MUCH[one["name"]]
    await stage.client.merge(CLUSTER_QUEUES, "", "team", {"spec": {"resourceGroups": groups}})


def wide(name: str, count: int, *, seconds: int = UNTIL_ENDED_S, indexed: bool = True, **notes: str) -> JsonObject:
    container = {"name": "main", "image": "x", "resources": {"limits": {"nvidia.com/gpu": 1, **WIDE}}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default", "labels": {"kueue.x-k8s.io/queue-name": "team"}},
        "spec": {
            "parallelism": count,
            "completions": count,
            "completionMode": "Indexed" if indexed else "NonIndexed",
            "backoffLimit": 6,
            "template": {
                "metadata": {"annotations": {"kuelog.io/run-seconds": str(seconds), **notes}},
                "spec": {"restartPolicy": "Never", "containers": [container]},
            },
        },
    }


def alive(stage: Stage, job: str) -> list[JsonObject]:
    return [
        one
        for one in stage.of("pods")
        if one["metadata"]["name"].startswith(job) and one["status"]["phase"] not in ("Failed", "Succeeded")
    ]


def running(stage: Stage, job: str, count: int) -> bool:
    found = alive(stage, job)
    return len(found) == count and all(one["status"]["phase"] == "Running" for one in found)


def pinned(pod: JsonObject) -> str:
    return str(pod["metadata"]["annotations"][BY_WORD["NVIDIA"].use_uuid])


def held(pod: JsonObject) -> list[str]:
    found = pod_shares(pod["metadata"]["annotations"])
    return [share.uuid for shares in found for share in shares]


async def settled(stage: Stage) -> World:
    """What the log comes to, with every decision decided again, once its pods are told and each holds the cards that are reserved for it."""
    return await stage.stored(_settled)


def _settled(entries: History) -> World | None:
    for partition in (PARTITION, DEVICE_PARTITION):
        fold, found = fold_partition(partition, entries, verify=True)
        assert not found.differences
    world = fold.world
    return None if all_findings(world.cards, world.nodes, world.pods) else world


def cards_by_index(world: World, key: str) -> dict[int, list[str]]:
    devices = world.workloads[key].devices
    assert devices is not None
    return {one.index: [share.uuid for shares in one.containers for share in shares] for one in devices.placements}


def told(world: World, key: str) -> dict[str, int]:
    return {one.pod: one.index for one in world.pod_cards[key]}


async def test_each_pod_of_a_job_gets_the_cards_of_its_index_and_no_others(stage: Stage) -> None:
    await many_cards(stage)
    stage.serve()
    await stage.add(wide("train", 3))
    await stage.until(lambda: running(stage, "train", 3))
    assert {"name": CARDS_GATE} in stage.get("jobs.batch", "default", "train")["spec"]["template"]["spec"][
        "schedulingGates"
    ]
    pods = alive(stage, "train")
    assert len({pinned(one) for one in pods}) == 3, "no pod may have another's card"
    assert all(held(one) == [pinned(one)] for one in pods)
    world = await settled(stage)
    (key,) = world.pod_cards
    given = cards_by_index(world, key)
    assert {int(one["metadata"]["annotations"][INDEX]): held(one) for one in pods} == given


async def test_a_pod_that_failed_leaves_its_cards_to_the_one_that_replaces_it(stage: Stage) -> None:
    await many_cards(stage)
    stage.serve()
    await stage.add(wide("train", 3, indexed=False))
    await stage.until(lambda: running(stage, "train", 3))
    lost = alive(stage, "train")[1]
    before = {one["metadata"]["name"]: pinned(one) for one in alive(stage, "train")}
    status = {"phase": "Failed"}
    await stage.client.merge(PODS, "default", lost["metadata"]["name"], {"status": status}, subresource="status")
    await stage.until(
        lambda: (
            running(stage, "train", 3)
            and lost["metadata"]["name"] not in {p["metadata"]["name"] for p in alive(stage, "train")}
        )
    )
    (new,) = [one for one in alive(stage, "train") if one["metadata"]["name"] not in before]
    assert held(new) == [pinned(new)] == [before[lost["metadata"]["name"]]]
    world = await settled(stage)
    assert len(told(world, next(iter(world.pod_cards)))) == 3


async def test_pods_of_a_group_are_let_through_with_their_own_cards(stage: Stage) -> None:
    await many_cards(stage)
    stage.serve()
    pods = Pods(stage)
    names = [f"g-{index}" for index in range(3)]
    for name in names:
        await stage.client.create(PODS, "default", member(name, "gang", 3, **WIDE))
    await pods.until(lambda: all(pods.phase(name) == "Running" for name in names))
    assert len({pinned(pods.of(name)) for name in names}) == 3
    assert all(held(pods.of(name)) == [pinned(pods.of(name))] for name in names)
    world = await settled(stage)
    assert set(told(world, "default/gang")) == set(names)


async def test_pods_that_share_the_same_cards_wait_at_no_gate(stage: Stage) -> None:
    stage.serve()
    small = wide("twins", 2)
    small["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"] |= {
        "nvidia.com/gpumem": "10000",
        "nvidia.com/gpucores": "40",
    }
    await stage.add(small)
    await stage.until(lambda: running(stage, "twins", 2))
    assert "schedulingGates" not in stage.get("jobs.batch", "default", "twins")["spec"]["template"]["spec"]
    assert not (await settled(stage)).pod_cards
