"""What is told of the queues of a worker cluster where quota here follows them.

Rule: docs/rules/multikueue.md#quota
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress

import pytest

from events.amount import UNLIMITED
from events.codec import decode_sighting
from events.json_object import JsonObject
from events.multikueue import RemoteQueue, RemoteQueuesObserved
from events.subjects import FACTS, addressee
from ops.production.kubernetes.absent import AbsentCluster
from ops.production.log.memory import MemoryStream
from ops.production.process.clock import ScaledClock
from services.multikueue.connection import ClusterConnection
from services.multikueue.followed_queues import FollowedQueues, nominal_in, remote_queues
from services.multikueue.seen import SeenElsewhere
from services.runtime.cluster_port import AccessRefused, Changed, Listed, Resource, Sight, Vanished
from tests.services.multikueue.test_restored_clusters import W1, Opened


def local_queue(name: str, leads_to: str) -> JsonObject:
    return {"metadata": {"namespace": "team", "name": name}, "spec": {"clusterQueue": leads_to}}


def cluster_queue(name: str, *flavors: JsonObject) -> JsonObject:
    groups = [
        {"flavors": [{"resources": [{"name": one, "nominalQuota": text} for one, text in each.items()]}]}
        for each in flavors
    ]
    return {"metadata": {"name": name}, "spec": {"resourceGroups": groups}}


class Shown(AbsentCluster):
    """A cluster that shows what it is told to, kind by kind."""

    def __init__(self) -> None:
        self.sights: dict[str, asyncio.Queue[Sight | Exception]] = {
            "Workload": asyncio.Queue(),
            "LocalQueue": asyncio.Queue(),
            "ClusterQueue": asyncio.Queue(),
        }

    def show(self, kind: str, *sights: Sight | Exception) -> None:
        for one in sights:
            self.sights[kind].put_nowait(one)

    def waiting(self) -> bool:
        return any(not one.empty() for one in self.sights.values())

    async def watch(self, resource: Resource) -> AsyncGenerator[Sight]:
        while True:
            sight = await self.sights[resource.kind].get()
            if isinstance(sight, Exception):
                raise sight
            yield sight

    async def close(self) -> None: ...


class Following:
    """The queues of a cluster w1, and what is told of them."""

    def __init__(self, clock: ScaledClock) -> None:
        self.facts = MemoryStream(FACTS)
        self.seen, self.there = SeenElsewhere(self.facts, clock, lambda _: "LOG_1"), Shown()
        self.queues = FollowedQueues("w1", self.seen, clock)
        self.tasks = [asyncio.create_task(self.seen.outbox.run())]

    def begin(self, *asked: str) -> list[asyncio.Task[None]]:
        self.queues.ask(frozenset(asked))
        tasks = self.queues.begin(self.there)
        self.tasks += tasks
        return tasks

    @property
    def told(self) -> list[tuple[RemoteQueue, ...]]:
        found = [decode_sighting(one.data).fact for one in self.facts.entries]
        return [one.queues for one in found if isinstance(one, RemoteQueuesObserved)]

    async def tells(self, count: int) -> tuple[RemoteQueue, ...]:
        """What was told last, once so much was."""
        async with asyncio.timeout(60):
            while len(self.told) < count:  # noqa: ASYNC110 - it comes over the log
                await asyncio.sleep(0.005)
        assert len(self.told) == count
        return self.told[-1]

    async def end(self) -> None:
        for task in self.tasks:
            task.cancel()
            with suppress(asyncio.CancelledError, AccessRefused):
                await task


@pytest.fixture
async def w1() -> AsyncGenerator[Following]:
    following = Following(ScaledClock(1000.0))
    yield following
    await following.end()


@pytest.fixture
async def w1_in_one_millisecond() -> AsyncGenerator[Following]:
    following = Following(ScaledClock(ticks=lambda: 0.0))
    yield following
    await following.end()


def test_of_a_queue_all_nominal_quotas_count_over_groups_and_flavors() -> None:
    found = cluster_queue("a", {"cpu": "1500m", "memory": "1Gi"}, {"cpu": 2, "pods": "5"}, {"cpu": "what"})
    assert nominal_in(found) == {"cpu": 3_500, "memory": 1 << 30, "pods": 5}
    assert nominal_in(cluster_queue("a", {"pods": str(UNLIMITED)}, {"pods": "1"})) == {"pods": UNLIMITED}
    assert nominal_in({"metadata": {"name": "a"}, "spec": {}}) == {}


def test_a_nominal_quota_that_is_not_written_is_none() -> None:
    groups = [{"flavors": [{"resources": [{"name": "pods"}]}, {"resources": [{"name": "pods", "nominalQuota": 2}]}]}]
    assert nominal_in({"spec": {"resourceGroups": groups}}) == {"pods": 2}


def test_only_queues_count_to_which_anybody_leads_who_is_asked_for() -> None:
    leads = {"team/a": "one", "team/b": "one", "team/c": "two", "team/d": "none"}
    nominal = {"one": {"cpu": 1}, "two": {"cpu": 2}, "three": {"cpu": 3}}
    assert remote_queues(leads, nominal, frozenset({"team/b", "team/a", "team/d", "team/x"})) == (
        RemoteQueue(name="one", local_queues=("team/a", "team/b"), nominal={"cpu": 1}),
    )


async def test_queues_are_told_once_both_kinds_were_seen_then_after_each_change_and_to_all_partitions(
    w1: Following,
) -> None:
    w1.begin("team/a")
    w1.there.show("ClusterQueue", Listed([cluster_queue("one", {"cpu": "1"})]))
    assert not w1.queues.known.is_set()
    w1.there.show("LocalQueue", Listed([local_queue("a", "one"), local_queue("b", "two")]))
    one = RemoteQueue(name="one", local_queues=("team/a",), nominal={"cpu": 1_000})
    assert await w1.tells(1) == (one,)
    assert w1.queues.known.is_set()
    assert addressee(w1.facts.entries[0].subject) == ""
    w1.there.show(
        "ClusterQueue", Changed(cluster_queue("two", {"cpu": "3"})), Changed(cluster_queue("one", {"cpu": "2"}))
    )
    (changed,) = await w1.tells(2)
    assert changed.nominal == {"cpu": 2_000}
    w1.queues.ask(frozenset({"team/a", "team/b"}))
    assert [found.name for found in await w1.tells(3)] == ["one", "two"]
    w1.there.show("LocalQueue", Vanished(local_queue("a", "one")))
    assert [found.name for found in await w1.tells(4)] == ["two"]
    w1.there.show("ClusterQueue", Vanished(cluster_queue("two")))
    assert await w1.tells(5) == ()


async def test_what_changes_twice_in_one_millisecond_is_told_twice(w1_in_one_millisecond: Following) -> None:
    w1 = w1_in_one_millisecond
    w1.begin("team/a")
    w1.there.show("LocalQueue", Listed([local_queue("a", "one")]))
    w1.there.show("ClusterQueue", Listed([cluster_queue("one", {"cpu": "1"})]))
    for count, nominal in ((1, 1_000), (2, 2_000), (3, 1_000)):
        assert [one.nominal for one in await w1.tells(count)] == [{"cpu": nominal}]
        w1.there.show("ClusterQueue", Changed(cluster_queue("one", {"cpu": str(3 - nominal // 1_000)})))


async def test_a_list_that_comes_again_takes_the_place_of_all_that_was_seen(w1: Following) -> None:
    w1.begin("team/a")
    w1.there.show("LocalQueue", Listed([local_queue("a", "one")]))
    w1.there.show("ClusterQueue", Listed([cluster_queue("one", {"cpu": "1"})]))
    await w1.tells(1)
    w1.there.show("ClusterQueue", Listed([]))
    assert await w1.tells(2) == ()


async def test_each_connection_tells_what_there_is_though_nothing_has_changed(w1: Following) -> None:
    for count in (1, 2):
        tasks = w1.begin()
        w1.there.show("LocalQueue", Listed([]))
        w1.there.show("ClusterQueue", Listed([]))
        assert await w1.tells(count) == ()
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def test_an_account_that_may_not_list_queues_ends_the_connection(w1: Following) -> None:
    tasks = w1.begin("team/a")
    w1.there.show("LocalQueue", AccessRefused("localqueues is forbidden"))
    with pytest.raises(AccessRefused):
        await asyncio.wait_for(tasks[0], 60)
    assert not w1.queues.known.is_set()


async def test_a_cluster_counts_as_connected_once_its_queues_were_told_as_well(w1: Following) -> None:
    opened = Opened(w1.there)
    connection = ClusterConnection("w1", AbsentCluster(), opened, ScaledClock(1000.0), w1.seen, lambda _: None, opened)
    connection.want(W1, "multikueue", None, frozenset({"team/a"}))
    w1.tasks.append(asyncio.create_task(connection.run()))
    w1.there.show("Workload", Listed([], "5"))
    w1.there.show("LocalQueue", Listed([]))
    async with asyncio.timeout(60):
        while w1.there.waiting():  # noqa: ASYNC110 - it is taken from a queue
            await asyncio.sleep(0.005)
        await w1.seen.outbox.stored()
        assert connection.remote is None
        w1.there.show("ClusterQueue", Listed([]))
        while connection.remote is None:  # noqa: ASYNC110 - it is shown to nobody
            await asyncio.sleep(0.005)
    assert await w1.tells(1) == ()


async def test_where_nobody_asks_nothing_is_followed(w1: Following) -> None:
    assert w1.queues.begin(w1.there) == []
    assert w1.queues.known.is_set()
    assert w1.queues.ask(frozenset()), "the connection begins anew"
    assert not w1.queues.ask(frozenset({"team/a"})), "it knows all queues already"
    assert w1.queues.ask(None)
