"""A worker cluster that answers oddly: nothing that it says ends the connection to it for good.

Rule: docs/rules/multikueue.md#connection
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from events.json_object import JsonObject
from events.subjects import FACTS
from events.timestamp import parse_timestamp
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
    ObjectInvalid,
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


class Shown(AbsentCluster):
    """The manager's own cluster, with what the MultiKueueCluster has shown of its connection, the last of it last."""

    def __init__(self) -> None:
        self.conditions = list[JsonObject]()

    async def get(self, resource: Resource, namespace: str, name: str) -> JsonObject:
        del resource, namespace
        meta = {"name": name, "resourceVersion": "1"}
        return {"metadata": meta, "status": {"conditions": self.conditions[-1:]}}

    async def merge(
        self, resource: Resource, namespace: str, name: str, patch: JsonObject, *, subresource: str = ""
    ) -> JsonObject:
        del resource, namespace, name, subresource
        self.conditions += patch["status"]["conditions"]
        return {}


class Leading(Opened):
    """The process that shows which clusters are connected."""

    leads = True


@asynccontextmanager
async def connecting(cluster: Seen, clock: ScaledClock, home: Shown | None = None) -> AsyncGenerator[Shown]:
    """What is shown of the connection to a cluster while that is kept up."""
    shown, opened = home or Shown(), Leading(cluster)
    seen = SeenElsewhere(MemoryStream(FACTS), clock, lambda _: "")
    connection = ClusterConnection("w1", shown, opened, clock, seen, lambda _: None, opened)
    connection.want(W1, "multikueue", None)
    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(connection.run()), tasks.create_task(seen.outbox.run())]
        yield shown
        for task in running:
            task.cancel()


async def test_a_watch_that_ends_and_is_opened_again_at_once_is_no_loss_of_the_cluster() -> None:
    clock = ScaledClock(20.0)
    cluster = Breaking(clock, 6_000, 6_000)
    async with connecting(cluster, clock) as shown:
        await cluster.over.wait()
        await clock.sleep(2_000)
        assert [one["status"] for one in shown.conditions] == ["True"] and len(cluster.opened) == 3


class Hanging(Breaking):
    """A cluster that answers nothing any more once its watch has ended."""

    async def watch(self, resource: Resource) -> AsyncGenerator[Sight]:
        if self.ended:
            self.opened.append(self.clock.now())
            await asyncio.Event().wait()
        async for sight in super().watch(resource):
            yield sight


class Refusing(Breaking):
    """A cluster that refuses all connections once its watch has ended."""

    async def watch(self, resource: Resource) -> AsyncGenerator[Sight]:
        if self.ended:
            self.opened.append(self.clock.now())
            await self.clock.sleep(3_000)
            raise ClusterUnavailable("connection refused")
        async for sight in super().watch(resource):
            yield sight


@pytest.mark.parametrize(
    ("cluster", "why"), [(Hanging, "watch establishment timed out"), (Refusing, "connection refused")]
)
async def test_a_cluster_that_is_lost_is_so_since_its_watch_ended_and_soon_shown_so(
    cluster: type[Breaking], why: str
) -> None:
    clock = ScaledClock(20.0)
    there = cluster(clock, 6_000)
    async with connecting(there, clock) as shown:
        while len(shown.conditions) < 2:  # noqa: ASYNC110 - it is told nobody
            await asyncio.sleep(0.01)
        lost = shown.conditions[1]
        assert lost["status"] == "False" and why in lost["message"] and "connection attempts: 1" in lost["message"]
        assert abs(parse_timestamp(lost["lastTransitionTime"]) - there.ended[0]) < 2_000
        assert clock.now() < there.ended[0] + 15_000


class Strict(Shown):
    """The manager's own cluster, which takes nothing that is shown, as it would a message that is longer than it may be."""

    async def merge(
        self, resource: Resource, namespace: str, name: str, patch: JsonObject, *, subresource: str = ""
    ) -> JsonObject:
        await super().merge(resource, namespace, name, patch, subresource=subresource)
        raise ObjectInvalid("status.conditions[0].message: Too long: may not be more than 32768 bytes")


async def test_a_condition_that_may_not_be_written_ends_no_connection() -> None:
    clock = ScaledClock(20.0)
    cluster = Breaking(clock, 1_000)
    async with connecting(cluster, clock, Strict()) as shown:
        await cluster.over.wait()
        await clock.sleep(2_000)
        assert [one["status"] for one in shown.conditions] == ["True", "False", "True"] and len(cluster.opened) == 2


class Wordy(Breaking):
    """A cluster that has much to say before it is connected."""

    async def watch(self, resource: Resource) -> AsyncGenerator[Sight]:
        if not self.opened:
            self.opened.append(self.clock.now())
            raise ObjectInvalid("x" * 100_000)
        async for sight in super().watch(resource):
            yield sight


async def test_what_a_cluster_answers_is_shown_by_its_beginning() -> None:
    clock = ScaledClock(20.0)
    cluster = Wordy(clock)
    async with connecting(cluster, clock) as shown:
        await cluster.over.wait()
        message = shown.conditions[0]["message"]
        assert len(message) < 2_000 and "connection attempts: 1, next connection attempt: " in message
