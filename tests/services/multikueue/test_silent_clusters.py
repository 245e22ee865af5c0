"""A worker cluster that accepts requests and answers none: others are written as if it were not there.

Rule: docs/rules/multikueue.md#connection
"""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from events.json_object import JsonObject
from events.subjects import FACTS
from ops.production.kubernetes.absent import AbsentCluster
from ops.production.log.memory import MemoryStream
from ops.production.process.clock import ScaledClock
from services.multikueue import answering, writing
from services.multikueue.connection import ClusterConnection
from services.multikueue.remote_plan import RemotePlan
from services.multikueue.seen import SeenElsewhere
from services.multikueue.writing import RemoteWriter
from services.runtime.cluster_port import Listed, Resource, Sight
from services.runtime.wanted_writes import WantedWrites
from tests.services.multikueue.one_worker import OneWorker, There, batch_job, workload_here
from tests.services.multikueue.test_restored_clusters import W1, Opened, Seen
from tests.services.multikueue.test_rules import Manager, delegated, running


class Silent(There):
    """Answers nothing until it is told to; how often it is asked is counted."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.answers = 0, asyncio.Event()

    async def get(self, resource: Resource, namespace: str, name: str) -> JsonObject:
        self.asked += 1
        await self.answers.wait()
        return await super().get(resource, namespace, name)

    async def create(self, resource: Resource, namespace: str, value: JsonObject) -> JsonObject:
        self.asked += 1
        await self.answers.wait()
        return await super().create(resource, namespace, value)


class Counting(There):
    """Takes copies of any number of workloads, until there are forty."""

    def __init__(self) -> None:
        super().__init__()
        self.full = asyncio.Event()

    async def create(self, resource: Resource, namespace: str, value: JsonObject) -> JsonObject:
        del resource, namespace
        self.created.append(value["metadata"]["name"])
        if len(self.created) == 40:
            self.full.set()
        return value


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes ten seconds takes a fifth of one."""
    monkeypatch.setattr(writing, "_PATIENCE_S", 0.2)
    monkeypatch.setattr(answering, "SILENT_S", 0.1)


async def test_many_workloads_are_sent_to_one_cluster_while_another_answers_nothing() -> None:
    told = Manager()
    told.after(delegated())
    worker = OneWorker(told, batch_job())
    worker.here.workload = workload_here(asks="")
    silent, other = Silent(), Counting()
    worker.put(silent)
    worker.put(other, "w2")
    writes = WantedWrites(ScaledClock(1.0), worker.write)
    for number in range(40):
        writes.want(f"team/{number}", RemotePlan(workload=f"team/{number}", origin="multikueue", make=("w1", "w2")))
    running = asyncio.create_task(writes.run())
    async with asyncio.timeout(30):
        await other.full.wait()
    running.cancel()
    assert silent.asked <= 6, "four at first, and then one at a time"


async def test_a_cluster_that_answers_again_is_asked_by_all_again() -> None:
    told = running()
    worker, silent = OneWorker(told, batch_job()), Silent()
    worker.put(silent)
    await worker.write()
    waiting = asyncio.create_task(worker.write())
    await asyncio.sleep(0.01)
    asked = silent.asked
    await worker.write()
    assert silent.asked == asked, "somebody waits for its answer"
    silent.answers.set()
    await waiting
    before = silent.asked
    await asyncio.gather(worker.write(), worker.write())
    assert silent.asked >= before + 2


class Following(Seen):
    """A cluster whose copies are listed as often as it is connected, and that answers no other request."""

    def __init__(self) -> None:
        super().__init__()
        self.opened = 0

    async def watch(self, resource: Resource) -> AsyncGenerator[Sight]:
        del resource
        self.opened += 1
        yield Listed([], "1")
        if self.opened > 1:
            self.over.set()
        await asyncio.Event().wait()

    async def get(self, resource: Resource, namespace: str, name: str) -> JsonObject:
        del resource, namespace, name
        await asyncio.Event().wait()
        raise AssertionError


async def test_the_connection_ends_when_a_read_there_is_not_answered() -> None:
    clock, cluster = ScaledClock(1000.0), Following()
    seen, opened = SeenElsewhere(MemoryStream(FACTS), clock, lambda _: ""), Opened(cluster)
    connection = ClusterConnection("w1", AbsentCluster(), opened, clock, seen, lambda _: None, opened)
    connection.want(W1, "multikueue", None)
    writer = RemoteWriter(AbsentCluster(), clock, {"w1": connection}, seen)
    async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
        following = [tasks.create_task(connection.run()), tasks.create_task(seen.outbox.run())]
        while connection.remote is None:  # noqa: ASYNC110 - nobody is told that it is connected
            await asyncio.sleep(0.01)
        await writer.write(RemotePlan(workload="team/a", origin="multikueue", remove=(("w1", "copy"),)))
        await cluster.over.wait()
        for task in following:
            task.cancel()


class Slow(Following):
    """When each connection was opened is noted; whatever is listed is there at once, and a read takes too long."""

    def __init__(self, clock: ScaledClock) -> None:
        super().__init__()
        self.clock, self.times = clock, list[int]()

    async def watch(self, resource: Resource) -> AsyncGenerator[Sight]:
        del resource
        self.times.append(self.clock.now())
        yield Listed([], "1")
        if len(self.times) > 4:
            self.over.set()
        await asyncio.Event().wait()


class Shown(AbsentCluster):
    """The manager's cluster: what the condition Active of the worker came to say."""

    def __init__(self) -> None:
        self.told = list[str]()

    async def get(self, resource: Resource, namespace: str, name: str) -> JsonObject:
        del resource, namespace
        return {"metadata": {"name": name, "resourceVersion": "1"}, "status": {}}

    async def merge(
        self, resource: Resource, namespace: str, name: str, patch: JsonObject, *, subresource: str = ""
    ) -> JsonObject:
        del resource, namespace, name, subresource
        self.told += [one["message"] for one in patch["status"]["conditions"]]
        return patch


async def test_a_cluster_whose_reads_are_never_answered_in_time_is_connected_again_later_and_later_and_says_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its lists come, so each connection looks well at first."""
    monkeypatch.setattr(writing, "_PATIENCE_S", 0.6)
    clock, shown = ScaledClock(20.0), Shown()
    cluster = Slow(clock)
    seen, opened = SeenElsewhere(MemoryStream(FACTS), clock, lambda _: ""), Opened(cluster)
    opened.leads = True
    connection = ClusterConnection("w1", shown, opened, clock, seen, lambda _: None, opened)
    connection.want(W1, "multikueue", None)
    writer = RemoteWriter(AbsentCluster(), clock, {"w1": connection}, seen)
    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        following = [tasks.create_task(connection.run()), tasks.create_task(seen.outbox.run())]
        while not cluster.over.is_set():
            if connection.remote is None:
                await asyncio.sleep(0.01)
                continue
            await writer.write(RemotePlan(workload="team/a", origin="multikueue", remove=(("w1", "copy"),)))
        for task in following:
            task.cancel()
    for number, attempts in ((2, 1), (3, 2), (4, 3)):
        told = f"a request was not answered, on {number} connections in a row; connection attempts: {attempts}, next"
        assert any(told in one for one in shown.told), "each attempt comes twice as late as the one before"
    assert cluster.times[4] - cluster.times[3] >= 20_000
