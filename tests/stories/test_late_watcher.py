"""A watcher that is really paused, as a process with SIGSTOP, while the cluster changes and another one tells of it."""

import asyncio
from typing import Any

from events.codec import decode_sighting
from events.subjects import FACTS
from ops.production.archive.history import read_everything
from ops.production.log.streams import PARTITION
from ops.production.served import SERVICES
from ops.queries.replay import fold_partition
from projections.object_versions import FoldedFacts
from projections.world import World
from tests.stage.stage import CLUSTER_QUEUES, JOBS, Stage, job


async def world_of(stage: Stage) -> World:
    fold, replayed = fold_partition(PARTITION, await read_everything(stage.bus), verify=True)
    assert not replayed.differences
    return fold.world


async def holds(stage: Stage, gpus: int, *jobs: str) -> None:
    """Until the log says so much quota, and just these jobs."""
    while True:
        world = await world_of(stage)
        found = world.cluster_queues.get("team")
        nominal = found.groups[0].flavors[0].quotas[0].nominal if found is not None else -1
        names = {one.owner.name for one in world.workloads.values() if one.owner is not None}
        if nominal == gpus and names == set(jobs):
            return
        await asyncio.sleep(0.1)


async def set_quota(stage: Stage, gpus: int) -> None:
    value: dict[str, Any] = stage.get("clusterqueues.kueue.x-k8s.io", "", "team")
    groups = [*value["spec"]["resourceGroups"]]
    flavor = groups[0]["flavors"][0]
    quotas = [{**one, "nominalQuota": gpus} if one["name"] == "nvidia.com/gpu" else one for one in flavor["resources"]]
    groups[0] = {**groups[0], "flavors": [{**flavor, "resources": quotas}]}
    await stage.client.merge(CLUSTER_QUEUES, "", "team", {"spec": {"resourceGroups": groups}})


async def test_a_watcher_that_was_paused_overwrites_nothing_and_takes_over(stage: Stage) -> None:
    stage.serve(*(one for one in SERVICES if one != "watcher"))
    late = await stage.start_process("watcher")
    try:
        await stage.add(job("first", 50_000))
        await stage.until(lambda: stage.running("first"))
        late.pause()
        early = stage.serve("watcher", replica="early")
        await stage.add(job("gone", 50_000))
        await set_quota(stage, 7)
        await holds(stage, 7, "first", "gone")
        await stage.client.delete(JOBS, "default", "gone")
        await set_quota(stage, 5)
        await holds(stage, 5, "first")
        late.resume()
        assert early.watcher is not None
        stage.tasks.pop().cancel()
        await set_quota(stage, 6)
        await stage.add(job("last", 50_000))
        await holds(stage, 6, "first", "last")
    finally:
        await late.kill()
    facts = FoldedFacts()
    told = [decode_sighting(one.data) for one in (await read_everything(stage.bus))[FACTS]]
    quotas = [
        one.fact.groups[0].flavors[0].quotas[0].nominal  # type: ignore[union-attr]
        for one in told
        if facts.folds(one) and type(one.fact).__name__ == "ClusterQueueObserved"
    ]
    assert list(dict.fromkeys(quotas)) == [10, 7, 5, 6]
