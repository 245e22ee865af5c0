"""A list may be as long as a cluster is large: while a watcher looks at it, all others in its process go on."""

import asyncio
from collections.abc import AsyncIterator
from itertools import pairwise

from events.subjects import FACTS
from ops.production.log.memory import MemoryStream
from ops.production.process.clock import ScaledClock
from services.runtime.cluster_port import Listed, Resource, Sight
from services.watcher.long_lists import AT_ONCE
from services.watcher.shell import Watcher

MANY = 20 * AT_ONCE


class ManyWorkloads:
    """A cluster with many workloads in which nothing happens."""

    async def watch(self, resource: Resource) -> AsyncIterator[Sight]:
        """The list, and nothing else."""
        asks = {"requests": {"cpu": "1"}}
        template = {"spec": {"containers": [{"name": "main", "image": "busybox", "resources": asks}]}}
        spec = {"queueName": "queue", "podSets": [{"name": "main", "count": 1, "template": template}]}
        metas = [
            {"name": f"w{number}", "namespace": "team", "uid": f"u{number}", "resourceVersion": f"{number + 1}"}
            for number in range(MANY if resource.kind == "Workload" else 0)
        ]
        yield Listed([{"metadata": meta, "spec": spec} for meta in metas], f"{MANY}")
        await asyncio.Event().wait()


async def test_while_a_long_list_is_looked_at_others_have_their_turns_and_what_was_found_is_stored() -> None:
    stream = MemoryStream(FACTS)
    watcher = Watcher(ManyWorkloads(), stream, ScaledClock())
    task = asyncio.create_task(watcher.run())
    seen, stored = [0], [0]
    try:
        async with asyncio.timeout(120):
            while not watcher.listed.is_set():
                await asyncio.sleep(0)
                seen.append(len(watcher.view.workloads))
                stored.append(len(stream.entries))
        assert seen[-1] == stored[-1] == MANY
        assert max(after - before for before, after in pairwise(seen)) <= AT_ONCE
        assert any(0 < few < MANY for few in stored)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
