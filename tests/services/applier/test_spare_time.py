"""What is written in spare time is written, whenever it comes; a new job that comes alone need not wait for any."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from msgspec.structs import replace

from events.application import DecisionApplied
from events.codec import decode_sighting
from events.event import Millis
from events.json_object import JsonObject
from events.subjects import FACTS
from events.workload import Owner, WorkloadSubmitted
from ops.production.crds.definitions import manifests
from ops.production.log.memory import MemoryStream
from ops.production.process.clock import ScaledClock
from services.applier.shell import Applier
from services.applier.workloads.known_objects import WORKLOADS
from services.applier.writes.low_priority_writes import LowPriorityWrites
from services.runtime.cluster_port import Resource
from tests.services.applier.in_process import InProcess
from tests.stories.small_world import Story, job, platform

SOON = 30


class AtTheFirstRest(ScaledClock):
    """A clock by which something happens while somebody rests for the first time."""

    def __init__(self, happens: Callable[[], None]) -> None:
        super().__init__(1)
        self._happens: Callable[[], None] | None = happens

    async def sleep(self, millis: Millis) -> None:
        happens, self._happens = self._happens, None
        if happens is not None:
            happens()
        await super().sleep(millis)


async def test_a_workload_that_comes_while_a_turn_without_work_ends_is_not_forgotten() -> None:
    story = Story()
    story.told(*platform(nominal=0), replace(job("waits"), owner=None)).decided()
    stream = MemoryStream(FACTS)
    clock = AtTheFirstRest(lambda: applier.observe(story.world, list(story.world.workloads)))
    applier = Applier(InProcess(manifests(), 1), stream, clock, "LOG_0", LowPriorityWrites(clock))
    task = asyncio.create_task(applier.run())
    first = await asyncio.wait_for(anext(aiter(stream.follow(0))), 30)
    assert getattr(decode_sighting(first[0].data).fact, "workload", "") == "team/waits"
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


class Asked(InProcess):
    """The API, that says when a Workload is created, and answers when a test lets it."""

    def __init__(self) -> None:
        super().__init__(manifests(), 1)
        self.creates: asyncio.Queue[str] = asyncio.Queue()
        self.may_answer = asyncio.Event()
        self.resources.create(self.resources.kind("", "v1", "namespaces"), "", {"metadata": {"name": "team"}})

    def job(self, name: str) -> WorkloadSubmitted:
        """A job that is there, as the watcher reports it."""
        container = {"name": "main", "image": "x"}
        template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
        value = {"metadata": {"name": name}, "spec": {"suspend": True, "template": template}}
        made = self.resources.create(self.resources.kind("batch", "v1", "jobs"), "team", value)
        return replace(job(name), owner=Owner(kind="Job", name=name, uid=made["metadata"]["uid"]))

    async def create(self, resource: Resource, namespace: str, value: JsonObject) -> JsonObject:
        if resource == WORKLOADS:
            self.creates.put_nowait(value["metadata"]["name"])
            await self.may_answer.wait()
        return await super().create(resource, namespace, value)


@asynccontextmanager
async def applying(writer: InProcess) -> AsyncGenerator[tuple[Applier, LowPriorityWrites, MemoryStream]]:
    stream, clock = MemoryStream(FACTS), ScaledClock(1)
    spare = LowPriorityWrites(clock)
    applier = Applier(writer, stream, clock, "LOG_0", spare)
    task = asyncio.create_task(applier.run())
    try:
        yield applier, spare, stream
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_new_job_that_comes_alone_has_its_workload_made_while_others_have_the_spare_time() -> None:
    story, api = Story(), Asked()
    story.told(*platform(nominal=0), api.job("first")).decided()
    async with applying(api) as (applier, spare, _), spare.turn():
        applier.observe(story.world, ["team/first"])
        assert await asyncio.wait_for(api.creates.get(), SOON) == "first"


async def test_of_new_jobs_that_wait_only_one_is_made_at_once() -> None:
    story, api = Story(), Asked()
    story.told(*platform(nominal=0), api.job("first")).decided()
    async with applying(api) as (applier, spare, _), spare.turn():
        applier.observe(story.world, ["team/first"])
        assert await asyncio.wait_for(api.creates.get(), SOON) == "first"
        story.told(api.job("second"), api.job("third")).decided()
        applier.observe(story.world, ["team/second", "team/third"])
        while applier.backlog.low < 2:  # noqa: ASYNC110 - nothing tells that they wait for spare time
            await asyncio.sleep(0)
        assert api.creates.empty()


async def test_who_is_let_in_while_its_workload_is_made_is_reported_once_with_that() -> None:
    story, api = Story(), Asked()
    [queues, admits, *_] = story.deciders
    story.told(*platform(), api.job("first"))
    async with applying(api) as (applier, _, stream):
        story.deciders = [queues]
        story.decided()
        applier.observe(story.world, ["team/first"])
        assert await asyncio.wait_for(api.creates.get(), SOON) == "first"
        story.deciders = [admits]
        story.decided()
        applier.observe(story.world, ["team/first"])
        api.may_answer.set()
        [entry, *_] = await asyncio.wait_for(anext(aiter(stream.follow(0))), SOON)
        fact = decode_sighting(entry.data).fact
        assert isinstance(fact, DecisionApplied)
        assert fact.sequence == story.world.workloads["team/first"].decided == 2
