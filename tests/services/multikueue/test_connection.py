"""A worker cluster that answers oddly: nothing that it says ends the connection to it for good.

Rule: docs/rules/multikueue.md#connection
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest

from events.json_object import JsonObject
from events.subjects import FACTS
from events.timestamp import format_timestamp, parse_timestamp
from ops.production.kubernetes.absent import AbsentCluster
from ops.production.log.memory import MemoryStream
from ops.production.process.clock import ScaledClock
from services.multikueue.connection import ClusterConnection
from services.multikueue.followed_queues import CLUSTER_QUEUES, LOCAL_QUEUES
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
from services.runtime.log_port import Message
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


class Leaping(ScaledClock):
    """A clock that is at the time that is waited for at once; nobody who rests without waiting for anything goes on."""

    def __init__(self) -> None:
        self.at = 1_800_000_000_000

    def now(self) -> int:
        return self.at

    async def sleep(self, duration: int) -> None:
        del duration
        await asyncio.Event().wait()

    async def wait(self, event: asyncio.Event, until: int | None) -> None:
        await asyncio.sleep(0)
        if until is None:
            await event.wait()
        elif not event.is_set():
            self.at = max(self.at, until)


class Silent(Seen):
    """A cluster that never answers, or can't be reached at all; when it was tried is noted."""

    def __init__(self, clock: Leaping, *, reached: bool) -> None:
        super().__init__()
        self.clock, self.reached, self.tried = clock, reached, list[int]()

    async def watch(self, resource: Resource) -> AsyncGenerator[Sight]:
        del resource
        await asyncio.Event().wait()
        yield Listed([], "1")

    def note(self) -> None:
        self.tried.append(self.clock.now())
        if len(self.tried) > 9:
            self.over.set()
        if not self.reached:
            raise ClusterUnavailable("no route to host")


class Trying(Opened):
    """The process that shows which clusters are connected, and notes when it tries that."""

    leads = True

    async def connect(self, kubeconfig: str) -> Seen:
        assert isinstance(self.cluster, Silent)
        self.cluster.note()
        return await super().connect(kubeconfig)


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


def wanted(cluster: Silent, shown: Shown, clock: Leaping) -> tuple[ClusterConnection, SeenElsewhere]:
    """A connection that is to be made, each trial of which is noted."""
    opened, seen = Trying(cluster), SeenElsewhere(MemoryStream(FACTS), clock, lambda _: "")
    connection = ClusterConnection("w1", shown, opened, clock, seen, lambda _: None, opened)
    connection.want(W1, "multikueue", None)
    return connection, seen


@pytest.mark.parametrize(
    ("reached", "waited"),
    [
        (False, [5, 10, 20, 40, 80, 160, 320, 320, 320]),
        (True, [60 + 5, 120 + 10, 240 + 20, 480 + 40, 600 + 80, 600 + 160, 600 + 320, 600 + 320, 600 + 320]),
    ],
)
async def test_a_cluster_is_tried_again_ever_later_and_has_ever_longer_to_answer(
    waited: list[int], *, reached: bool
) -> None:
    clock = Leaping()
    cluster, shown = Silent(clock, reached=reached), Shown()
    connection, _ = wanted(cluster, shown, clock)
    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(connection.run())
        await cluster.over.wait()
        running.cancel()
    assert [(later - one) // 1000 for one, later in pairwise(cluster.tried)][:9] == waited
    for number, at in enumerate(cluster.tried[1:], 1):
        said = f"connection attempts: {number}, next connection attempt: {format_timestamp(at)}"
        assert said in shown.conditions[number - 1]["message"]


class Recovering(Silent):
    """A cluster that can't be reached twice, is connected for a second then, and can't be reached once more."""

    async def watch(self, resource: Resource) -> AsyncGenerator[Sight]:
        del resource
        yield Listed([], "1")
        self.clock.at += 1000
        raise ClusterUnavailable("the watch has ended")

    def note(self) -> None:
        self.tried.append(self.clock.now())
        if len(self.tried) > 4:
            self.over.set()
        if len(self.tried) != 3:
            raise ClusterUnavailable("no route to host")


async def test_what_was_connected_is_tried_again_as_soon_as_if_it_had_never_failed() -> None:
    clock = Leaping()
    cluster, shown = Recovering(clock, reached=False), Shown()
    connection, seen = wanted(cluster, shown, clock)
    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(connection.run()), tasks.create_task(seen.outbox.run())]
        await cluster.over.wait()
        for task in running:
            task.cancel()
    assert [later - one for one, later in pairwise(cluster.tried)][:4] == [5_000, 10_000, 6_000, 10_000]


class Lasting(Seen):
    """A cluster whose watch ends so long after it was connected; when it was connected and tried again is noted."""

    def __init__(self, clock: Leaping, lasts: int) -> None:
        super().__init__()
        self.clock, self.lasts, self.ended = clock, lasts, 0
        self.connection: ClusterConnection | None = None

    async def watch(self, resource: Resource) -> AsyncGenerator[Sight]:
        del resource
        if self.ended:
            self.again = self.clock.now()
            self.over.set()
            await asyncio.Event().wait()
        yield Listed([], "1")
        self.clock.at += self.lasts
        self.ended = self.clock.now()
        raise ClusterUnavailable("the watch has ended")


@pytest.mark.parametrize(("lasts", "pause"), [(5_000, 0), (4_999, 5_000)])
async def test_what_was_connected_for_five_seconds_is_tried_again_at_once(lasts: int, pause: int) -> None:
    clock = Leaping()
    cluster = Lasting(clock, lasts)
    async with connecting(cluster, clock):
        await cluster.over.wait()
    assert cluster.again - cluster.ended == pause


class Full(MemoryStream):
    """A log that takes nothing before it has room."""

    def __init__(self) -> None:
        super().__init__(FACTS)
        self.room = asyncio.Event()

    async def publish(self, messages: Sequence[Message]) -> None:
        await self.room.wait()
        await super().publish(messages)


class Queued(Seen):
    """A cluster whose queues are listed one kind after the other, when somebody asks for that."""

    def __init__(self) -> None:
        super().__init__()
        self.listed = {LOCAL_QUEUES.kind: asyncio.Event(), CLUSTER_QUEUES.kind: asyncio.Event()}

    async def watch(self, resource: Resource) -> AsyncGenerator[Sight]:
        if resource.kind in self.listed:
            await self.listed[resource.kind].wait()
            yield Listed([], "2")
        else:
            yield Listed([copy(50)], "60")
        await asyncio.Event().wait()


async def test_a_cluster_is_connected_once_its_copies_and_the_queues_that_are_asked_for_are_on_the_log() -> None:
    clock, cluster, facts, shown = ScaledClock(1.0), Queued(), Full(), Shown()
    opened, seen = Leading(cluster), SeenElsewhere(facts, clock, lambda _: "")
    connection = ClusterConnection("w1", shown, opened, clock, seen, lambda _: None, opened)
    connection.want(W1, "multikueue", None, frozenset({"team/lq"}))
    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(connection.run()), tasks.create_task(seen.outbox.run())]
        while not seen.outbox.waiting:  # noqa: ASYNC110 - it is told nobody
            await asyncio.sleep(0.01)
        for missing in (facts.room, *cluster.listed.values()):
            await asyncio.sleep(0.05)
            assert connection.remote is None and not shown.conditions
            missing.set()
        while not shown.conditions:  # noqa: ASYNC110 - it is told nobody
            await asyncio.sleep(0.01)
        assert connection.remote is not None and shown.conditions[0]["status"] == "True"
        for task in running:
            task.cancel()
    assert len(facts.entries) == 2


async def test_a_cluster_of_which_nothing_is_on_the_log_yet_is_not_connected() -> None:
    clock, facts, shown = ScaledClock(1.0), Full(), Shown()
    cluster = Seen([Listed([copy(50)], "60")])
    opened, seen = Leading(cluster), SeenElsewhere(facts, clock, lambda _: "")
    connection = ClusterConnection("w1", shown, opened, clock, seen, lambda _: None, opened)
    connection.want(W1, "multikueue", None)
    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(connection.run()), tasks.create_task(seen.outbox.run())]
        await asyncio.sleep(0.1)
        assert seen.outbox.waiting and connection.remote is None and not shown.conditions
        facts.room.set()
        while not shown.conditions:  # noqa: ASYNC110 - it is told nobody
            await asyncio.sleep(0.01)
        for task in running:
            task.cancel()


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
