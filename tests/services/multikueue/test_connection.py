"""A worker cluster that answers oddly: nothing that it says ends the connection to it for good.

Rule: docs/rules/multikueue.md#connection
"""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from events.subjects import FACTS
from ops.production.kubernetes.absent import AbsentCluster
from ops.production.log.memory import MemoryStream
from ops.production.process.clock import ScaledClock
from services.multikueue.connection import ClusterConnection
from services.multikueue.remote_workloads import remote_workload_fact
from services.multikueue.seen import SeenElsewhere
from services.runtime.cluster_port import (
    AccessRefused,
    ClusterUnavailable,
    Listed,
    ObjectMissing,
    Resource,
    Sight,
)
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


JOB_SETS = Resource(group="jobset.x-k8s.io", version="v1alpha2", plural="jobsets", kind="JobSet")


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


class Withholding(Seen):
    """A cluster that is asked for JobSets in vain; how often is counted, as is how often it was connected."""

    def __init__(self, problem: Exception) -> None:
        super().__init__([Listed([], "1")])
        self.problem, self.asked, self.listed = problem, asyncio.Event(), 0

    async def watch(self, resource: Resource) -> AsyncGenerator[Sight]:
        if resource.kind == JOB_SETS.kind:
            self.asked.set()
            raise self.problem
        self.listed += 1
        yield Listed([], "1")
        self.over.set()
        await asyncio.Event().wait()


@pytest.mark.parametrize("problem", [AccessRefused("jobsets is forbidden"), ObjectMissing("no such kind")])
async def test_a_kind_of_jobs_that_may_not_be_seen_there_or_is_none_there_ends_no_connection(
    problem: Exception,
) -> None:
    clock, cluster = ScaledClock(1000.0), Withholding(problem)
    seen, opened = SeenElsewhere(MemoryStream(FACTS), clock, lambda _: ""), Opened(cluster)
    connection = ClusterConnection("w1", AbsentCluster(), opened, clock, seen, lambda _: None, opened)
    connection.want(W1, "multikueue", None)
    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(connection.run()), tasks.create_task(seen.outbox.run())]
        await cluster.over.wait()
        while connection.remote is None:  # noqa: ASYNC110 - it is shown nowhere else
            await asyncio.sleep(0.01)
        for _ in range(2):
            connection.follow(JOB_SETS)
            await cluster.asked.wait()
            cluster.asked.clear()
            await clock.sleep(20_000)
            assert connection.remote is not None and cluster.listed == 1
            await clock.sleep(60_000)
        assert cluster.asked.is_set(), "rights may come, and so may kinds"
        for task in running:
            task.cancel()
