"""Trees in four partitions on a real bus, decided in two processes: one card serves all of them, and replay finds no difference."""

import asyncio

import yaml

from events.admission import QuotaReserved
from events.codec import decode_commit
from events.partition_map import TreePlacement
from ops.production.archive.history import read_everything
from ops.production.log.partitioning import divide
from ops.production.log.streams import streams_in
from ops.queries.replay import fold_partition
from ops.sandbox.simulate.partition_laws import hold_partition
from tests.stage.stage import QUEUES, SCALE, Stage, job
from tests.stories.partition_process import begin

TREES = ("a", "b", "c", "d")


def queue(name: str) -> list[dict[str, object]]:
    """A cluster queue as the stage's, with a local queue of that name."""
    documents = [one for one in yaml.safe_load_all(QUEUES) if one["kind"] in ("ClusterQueue", "LocalQueue")]
    for one in documents:
        one["metadata"]["name"] = name
    documents[1]["spec"]["clusterQueue"] = name
    return documents


async def test_two_processes_decide_four_partitions_that_share_a_card(stage: Stage) -> None:
    placements = [TreePlacement(tree=f"queue/{name}", partition=number) for number, name in enumerate(TREES)]
    await divide(stage.bus, len(TREES), stage.clock.now(), placements)
    for name in TREES:
        for value in queue(name):
            await stage.add(value)
    halves = [begin(stage.server.url, names, SCALE) for names in (("LOG_0", "LOG_1"), ("LOG_2", "LOG_3"))]
    try:
        stage.serve("watcher", "accountant", "applier")
        for name in TREES:
            value = job(f"job-{name}", 5)
            value["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = name
            await stage.add(value)
        async with asyncio.timeout(120):
            await stage.until(lambda: stage.complete(*(f"job-{name}" for name in TREES)))
    finally:
        for process in halves:
            process.kill()
            process.join()
    entries = await read_everything(stage.bus)
    streams = streams_in(entries)
    assert streams.trees == ("LOG_0", "LOG_1", "LOG_2", "LOG_3")
    reserved = {
        name: {
            event.cluster_queue
            for entry in entries[name]
            for event in decode_commit(entry.data).events
            if isinstance(event, QuotaReserved)
        }
        for name in streams.trees
    }
    assert reserved == {f"LOG_{number}": {name} for number, name in enumerate(TREES)}
    for name in streams.partitions:
        _, replayed = fold_partition(name, entries, verify=True)
        assert not replayed.is_wrong and replayed.commits, name
    _, _, broken = hold_partition(streams.pool, entries, cards=True)
    assert not broken
