"""A worker cluster that answers oddly: nothing that it says ends the connection to it for good.

Rule: docs/rules/multikueue.md#connection
"""

import asyncio
from collections.abc import AsyncGenerator

from events.subjects import FACTS
from ops.production.kubernetes.absent import AbsentCluster
from ops.production.log.memory import MemoryStream
from ops.production.process.clock import ScaledClock
from services.multikueue.connection import ClusterConnection
from services.multikueue.remote_workloads import remote_workload_fact
from services.multikueue.seen import SeenElsewhere
from services.runtime.cluster_port import ClusterUnavailable, Listed, Resource, Sight
from tests.services.multikueue.test_restored_clusters import W1, Opened, Seen, copy, folded, standing


async def test_a_cluster_whose_answer_is_not_understood_is_connected_again() -> None:
    odd = copy(40)
    odd["spec"]["podSets"][0]["count"] = "many"
    told = await folded([Listed([odd], "40")], [Listed([copy(50)], "60")])
    assert standing(told) == (50, [])


def test_a_condition_whose_time_cannot_be_read_counts_from_the_beginning() -> None:
    value = copy(40, "Admitted")
    value["status"]["conditions"][0]["lastTransitionTime"] = "yesterday"
    assert remote_workload_fact("w1", value).conditions["Admitted"].since == 0
    del value["status"]["conditions"][0]["lastTransitionTime"]
    assert remote_workload_fact("w1", value).conditions["Admitted"].since == 0


class Breaking(Seen):
    """A cluster whose watches end after so many milliseconds each; when each was opened and had ended is noted."""

    def __init__(self, clock: ScaledClock, *lasts: int) -> None:
        super().__init__()
        self.clock, self.lasts = clock, list(lasts)
        self.opened, self.ended = list[int](), list[int]()

    async def watch(self, resource: Resource) -> AsyncGenerator[Sight]:
        del resource
        self.opened.append(self.clock.now())
        yield Listed([], "1")
        if not self.lasts:
            self.over.set()
            await asyncio.Event().wait()
        await self.clock.sleep(self.lasts.pop(0))
        self.ended.append(self.clock.now())
        raise ClusterUnavailable("the watch has ended")


async def test_a_watch_that_ends_after_a_while_is_opened_again_at_once_and_one_that_ends_soon_later() -> None:
    clock = ScaledClock(20.0)
    cluster, seen = Breaking(clock, 6_000, 1_000), SeenElsewhere(MemoryStream(FACTS), clock, lambda _: "")
    opened = Opened(cluster)
    connection = ClusterConnection("w1", AbsentCluster(), opened, clock, seen, lambda _: None, opened)
    connection.want(W1, "multikueue", None)
    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(connection.run()), tasks.create_task(seen.outbox.run())]
        await cluster.over.wait()
        for task in running:
            task.cancel()
    at_once, later = (again - end for end, again in zip(cluster.ended, cluster.opened[1:], strict=True))
    assert at_once < 4_000 and later >= 5_000
