"""What a watcher has read is on the log and in its view: it holds no object as it was listed."""

import asyncio
import gc
import weakref
from collections import defaultdict
from collections.abc import AsyncIterator

from events.subjects import FACTS
from ops.production.log.memory import MemoryStream
from ops.production.process.clock import ScaledClock
from services.runtime.cluster_port import Listed, Resource, Sight
from services.watcher.shell import Watcher


class Weak(dict[str, object]):
    """An object that tells whether anybody still has it."""


class ListsTwice:
    """A cluster with one object of each kind, in which nothing happens."""

    def __init__(self) -> None:
        self.given: defaultdict[str, list[weakref.ref[Weak]]] = defaultdict(list)
        self.waiting = asyncio.Semaphore(0)

    async def watch(self, resource: Resource) -> AsyncIterator[Sight]:
        """The list, once more as after a gap, and nothing else."""
        for version in ("7", "8"):
            meta = {"name": "a", "namespace": "team", "uid": resource.kind, "resourceVersion": version}
            listed = [Weak(metadata=meta)]
            self.given[resource.kind].append(weakref.ref(listed[0]))
            yield Listed([listed.pop()], version)
        self.waiting.release()
        await asyncio.Event().wait()


async def test_while_it_watches_a_watcher_holds_nothing_of_what_was_listed() -> None:
    cluster = ListsTwice()
    watcher = Watcher(cluster, MemoryStream(FACTS), ScaledClock())
    task = asyncio.create_task(watcher.run())
    try:
        async with asyncio.timeout(60):
            await watcher.listed.wait()
            for _ in cluster.given:
                await cluster.waiting.acquire()
        gc.collect()
        assert {"Pod", "Workload", "Job", "ClusterQueue"} <= cluster.given.keys()
        assert sorted(kind for kind, given in cluster.given.items() if any(one() is not None for one in given)) == []
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
