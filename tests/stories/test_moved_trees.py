"""A hot tree moves into a partition of its own on a real bus, while jobs of it run with cards and wait, decided by processes of their own."""

import asyncio

from events.api.labels import DECISION
from events.codec import decode_commit
from events.json_object import JsonObject
from events.preemption import PreemptionOrdered
from events.workload import EvictionOrdered
from ops.production.archive.history import read_everything
from ops.production.archive.proof.evidence import Evidence
from ops.production.log.streams import streams_in
from ops.queries.audit.verify import Auditor
from ops.queries.explaining import world_at
from ops.queries.point import point_at
from ops.queries.replay import fold_partition
from ops.sandbox.embedded_cluster.nodes.node_objects import gpu_node
from ops.sandbox.simulate.partition_laws import hold_partition
from projections.world import World
from tests.stage.cluster import end_pods
from tests.stage.stage import Stage, job
from tests.stories.test_partitions import cli, queue

DECIDERS = ("queue-manager", "admitter", "preemptor")
TREES = "hot", "cold"
LONG = 100_000
"""Seconds that no story lasts: such pods end when they are told to."""


def job_of(tree: str, number: int) -> JsonObject:
    value = job(f"{tree}-{number}", LONG)
    value["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = tree
    value["metadata"]["namespace"] = tree
    return value


def found(stage: Stage, name: str) -> JsonObject:
    return stage.get("jobs.batch", name.partition("-")[0], name)


def runs(stage: Stage, name: str) -> bool:
    return found(stage, name).get("status", {}).get("ready", 0) > 0


def pod_of(stage: Stage, name: str) -> str:
    """The UID of the only pod that a job has."""
    (pod,) = (one for one in stage.of("pods") if one["metadata"].get("labels", {}).get("job-name") == name)
    return str(pod["metadata"]["uid"])


def parked(stage: Stage, name: str) -> bool:
    """Whether a job waits and its object says so."""
    return any(
        one["metadata"]["ownerReferences"][0]["name"] == name and one.get("status", {}).get("conditions")
        for one in stage.of("workloads.kueue.x-k8s.io")
    )


async def test_a_hot_tree_moves_alone_while_its_jobs_run_and_wait_and_none_is_evicted(stage: Stage) -> None:
    await stage.add(gpu_node("n2", product="V100", zone="a", cards=1, memory_mib=32768, model="NVIDIA-V100"))
    for tree in TREES:
        await stage.add({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": tree}})
        for value in queue(tree):
            if value["kind"] == "LocalQueue":
                value["metadata"]["namespace"] = tree  # pyright: ignore[reportIndexIssue]
            await stage.add(value)
    stage.serve("watcher", "accountant", "applier")
    for service in DECIDERS:
        await stage.start_process(service)
    for number, there in ((1, runs), (2, parked)):
        for tree in TREES:
            await stage.add(job_of(tree, number))
        async with asyncio.timeout(120):
            await stage.until(lambda: all(there(stage, f"{tree}-{number}") for tree in TREES))  # noqa: B023 - it is awaited here
    running = {f"{tree}-1": pod_of(stage, f"{tree}-1") for tree in TREES}
    moved = await cli("log", "partition", "--place", "queue/hot=LOG_1", "--nats", stage.server.url)
    assert moved.exit_code == 0 and "queue/hot moves from LOG_0 to LOG_1" in moved.stdout, moved.output
    # Who decides is killed amid it, and another takes over.
    await stage.processes[1].kill()
    await stage.start_process(DECIDERS[1])
    waits = (await read_worlds(stage)).workloads
    assert [key.partition("-")[0] for key, one in sorted(waits.items()) if one.admission is None] == [
        "cold/job",
        "hot/job",
    ]
    for tree in TREES:
        assert pod_of(stage, f"{tree}-1") == running[f"{tree}-1"], "what ran goes on"
        await end_pods(stage.cluster, stage.client, tree, f"{tree}-1")
    async with asyncio.timeout(120):
        await stage.until(lambda: all(runs(stage, f"{tree}-2") for tree in TREES))
    marks = {name: found(stage, name)["metadata"]["annotations"][DECISION] for name in ("hot-2", "cold-2")}
    assert marks["hot-2"].startswith("LOG_1/1000000") and marks["cold-2"].startswith("LOG_0/")
    entries = await read_everything(stage.bus)
    streams = streams_in(entries)
    assert streams.trees == ("LOG_0", "LOG_1")
    stopped = [
        event
        for name in streams.trees
        for entry in entries[name]
        for event in decode_commit(entry.data).events
        if isinstance(event, EvictionOrdered | PreemptionOrdered)
    ]
    assert not stopped
    worlds = {}
    for name in streams.partitions:
        fold, replayed = fold_partition(name, entries, verify=True)
        assert not replayed.is_wrong and replayed.commits, name
        worlds[name] = sorted(fold.world.workloads)
    assert [key.partition("/")[0] for key in worlds["LOG_1"]] == ["hot", "hot"]
    assert {key.partition("/")[0] for key in worlds["LOG_0"]} == {"cold"}
    _, _, broken = hold_partition(streams.pool, entries, cards=True)
    assert not broken
    assert not Auditor(Evidence()).examine(entries).changes
    told = await cli("explain", "job/hot/hot-1", "--at", marks["hot-2"], "--nats", stage.server.url)
    assert told.exit_code == 0 and "hot" in told.stdout, told.output


async def read_worlds(stage: Stage) -> World:
    """The world of the whole log as it is now."""
    return world_at(point_at(await read_everything(stage.bus)))
