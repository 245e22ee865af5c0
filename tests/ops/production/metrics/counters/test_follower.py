"""Counting goes on where it was, over restarts and rolled streams, and nothing is told before it is complete."""

import asyncio
from typing import Any, cast

import aiohttp

from events.codec import encode
from events.commit import Sighting
from events.subjects import FACTS, fact_subject
from events.workload import WorkloadFinished
from ops.production.listeners.endpoint import Endpoint
from ops.production.log.jetstream.shelf import MemoryShelf, counters_of
from ops.production.log.memory import MemoryBus
from ops.production.log.streams import PARTITION
from ops.production.metrics.counters.follower import CountersFollower
from ops.production.metrics.counters.followers import CountersFollowers
from ops.production.metrics.counters.queue_counters import CounterMetrics
from ops.production.metrics.endpoint import served
from ops.production.process.clock import ScaledClock
from ops.production.wiring import Ports, Running
from services.runtime.log_port import Message
from tests.services.runtime.partition.test_host import NoCluster, admitted, stop, tell, without_cards
from tests.stories.small_world import job

DECIDERS = ("queue-manager", "admitter", "preemptor", "accountant")


def services(bus: MemoryBus, shelf: MemoryShelf | None = None, **more: Any) -> Running:
    nobody = cast(Any, NoCluster())
    return Running(Ports(bus=bus, reader=nobody, writer=nobody, clock=ScaledClock(), shelf=shelf), DECIDERS, **more)


def told(followers: CountersFollowers, name: str) -> float:
    families = {family.name: family for family in CounterMetrics(followers).collect()}
    if name not in families:
        return 0
    return sum(one.value for one in families[name].samples if one.name == f"{name}_total")


async def finish(bus: MemoryBus, key: str) -> None:
    fact = WorkloadFinished(workload=key, reason="Succeeded")
    data = encode(Sighting(id=f"end {key}", at=900, author="watcher", fact=fact))
    await (await bus.stream(FACTS)).publish([Message(fact_subject("t", "WorkloadFinished"), data, f"end {key}")])


async def test_what_was_counted_is_saved_and_counted_on_from_there_when_the_rest_is_rolled() -> None:
    bus, shelf = MemoryBus(), MemoryShelf()
    await tell(bus, [*without_cards(9), job("a"), job("b")])
    running = services(bus, shelf, snapshots_every=1)
    task = asyncio.create_task(running.run())
    assert sorted(await asyncio.wait_for(admitted(bus, 2), 60)) == ["team/a", "team/b"]
    await asyncio.wait_for(running.quiet(), 60)
    first = CountersFollower(running, PARTITION)
    reader = await first.begin()
    assert reader.base == 0
    reading = asyncio.create_task(reader.run())
    await asyncio.wait_for(reader.caught_up.wait(), 60)
    await first.save(reader)
    [label] = await shelf.labels(counters_of(PARTITION))
    assert label.upto[PARTITION] == reader.base > 0
    counts = dict(reader.counters.counts)
    assert counts["kueue_admitted_workloads_total", "cq", ""] == 2
    await stop(reading)
    # All but the commit and the fact that it goes up to is away.
    for name, upto in ((PARTITION, reader.base - 1), (FACTS, reader.upto - 1)):
        (await bus.stream(name)).remove(upto)
    again = await CountersFollower(running, PARTITION).begin()
    assert (again.base, again.upto, again.counters.counts) == (reader.base, reader.upto, counts)
    await stop(task)


async def test_saved_counters_of_another_log_do_not_count() -> None:
    bus, shelf = MemoryBus(), MemoryShelf()
    await tell(bus, [*without_cards(9), job("a")])
    running = services(bus, shelf)
    task = asyncio.create_task(running.run())
    await asyncio.wait_for(admitted(bus, 1), 60)
    first = CountersFollower(running, PARTITION)
    reader = await first.begin()
    reading = asyncio.create_task(reader.run())
    await asyncio.wait_for(reader.caught_up.wait(), 60)
    reader.sha256 = "0" * 64
    await first.save(reader)
    assert (await CountersFollower(running, PARTITION).begin()).base == 0
    await stop(task, reading)


async def test_the_end_of_a_job_is_counted_though_nothing_is_decided_after_it() -> None:
    bus = MemoryBus()
    await tell(bus, [*without_cards(9), job("a")])
    running = services(bus)
    task = asyncio.create_task(running.run())
    await asyncio.wait_for(admitted(bus, 1), 60)
    follower = CountersFollowers(running)
    counting = asyncio.create_task(follower.run())
    await finish(bus, "team/a")
    async with asyncio.timeout(60):
        while not told(follower, "kueue_finished_workloads"):  # noqa: ASYNC110 - what is looked at is no event
            await asyncio.sleep(0.01)
    assert told(follower, "kueue_finished_workloads") == 1
    await stop(task, counting)


async def test_metrics_are_served_when_all_is_folded_and_not_before(unused_tcp_port: int) -> None:
    bus = MemoryBus()
    await tell(bus, [*without_cards(9), job("a")])
    running = services(bus)
    url = f"http://127.0.0.1:{unused_tcp_port}/metrics"
    async with served(running, Endpoint(port=unused_tcp_port)), aiohttp.ClientSession() as session:
        async with session.get(url) as answer:
            assert (answer.status, await answer.text()) == (503, "the services have not begun yet\n")
        task = asyncio.create_task(running.run())
        await asyncio.wait_for(admitted(bus, 1), 60)
        async with asyncio.timeout(60):
            while True:
                async with session.get(
                    url, headers={"Accept": "application/openmetrics-text; version=1.0.0"}
                ) as answer:
                    text = await answer.text()
                    if answer.status == 200 and 'kueue_admitted_workloads_total{cluster_queue="cq"' in text:
                        break
                await asyncio.sleep(0.01)
        assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
        assert text.endswith("# EOF\n")
        await stop(task)
