"""The metrics of how services keep up with the log: while they run, while they are halted and while the bus is away."""

import asyncio
from collections import Counter
from types import SimpleNamespace
from typing import Any, cast

import aiohttp

from events.subjects import FACTS
from ops.production.fold_positions import fold_positions
from ops.production.listeners.endpoint import Endpoint
from ops.production.log.memory import MemoryBus
from ops.production.log.streams import DEVICE_PARTITION, PARTITION
from ops.production.metrics.endpoint import exposition, served
from ops.production.metrics.services import ServiceMetrics
from ops.production.process.clock import ScaledClock
from ops.production.wiring import Ports, Running
from services.runtime.lease_port import Replica
from services.runtime.log_errors import LogUnavailable
from services.runtime.log_port import Head, Message, Stream
from tests.ops.production.metrics.test_alarms import DECIDERS, lines
from tests.services.runtime.partition.test_host import NoCluster, admitted, stop, tell, without_cards
from tests.stories.small_world import job


def services_on(bus: MemoryBus) -> Running:
    nobody = cast(Any, NoCluster())
    return Running(Ports(bus=bus, reader=nobody, writer=nobody, clock=ScaledClock()), DECIDERS)


async def told(services: Running) -> list[str]:
    found = await fold_positions(services)
    return exposition(lambda: None, (), ServiceMetrics(services, found)).decode().splitlines()


async def test_a_service_that_can_t_go_on_lags_behind_the_log_and_tells_by_how_much() -> None:
    bus = MemoryBus()
    await tell(bus, [*without_cards(9), job("a")])
    services = services_on(bus)
    task = asyncio.create_task(services.run())
    assert await asyncio.wait_for(admitted(bus, 1), 30) == ["team/a"]
    await asyncio.wait_for(services.quiet(), 30)
    labels = f'{{partition="{PARTITION}",service="admitter",stream="FACTS"}}'
    facts = await bus.stream(FACTS)
    end = (await facts.last()).sequence
    found = await told(services)
    assert {f"kuelog_folded_sequence{labels} {end}.0", f"kuelog_fold_lag_messages{labels} 0.0"} <= set(found)
    assert any(line.startswith(f'kuelog_appends_total{{author="admitter",partition="{PARTITION}"') for line in found)
    assert f'kuelog_append_seconds_count{{partition="{PARTITION}"}} 0.0' not in found
    turns = {line.split("{")[1].split("}")[0] for line in found if line.startswith("kuelog_turn_seconds_count")}
    of_admitter = f'author="admitter",partition="{PARTITION}",result='
    assert {f'{of_admitter}"decided"', f'{of_admitter}"nothing"'} <= turns
    assert any(
        line.startswith('kueue_admission_attempt_duration_seconds_count{replica_role="standalone",result="success"} ')
        for line in found
    )
    await facts.publish([Message("kuelog.facts._cluster.x", b"[", "y"), Message("kuelog.facts._cluster.x", b"[", "z")])
    halted = f'kuelog_partition_halted{{partition="{PARTITION}",reason="message"}} 1.0'
    while halted not in lines(services):  # noqa: ASYNC110 - of several hosts
        await asyncio.sleep(0.01)
    found = await told(services)
    assert {f"kuelog_folded_sequence{labels} {end}.0", f"kuelog_fold_lag_messages{labels} 2.0"} <= set(found)
    await stop(task)


class Asked:
    """A stream that notes what it is asked, and does not answer while the bus is away."""

    def __init__(self, stream: Stream, requests: list[str], *, away: bool) -> None:
        self._stream, self._requests, self._away = stream, requests, away

    async def now(self) -> int:
        self._note("now")
        return await self._stream.now()

    async def last(self) -> Head:
        self._note("last")
        return await self._stream.last()

    def _note(self, what: str) -> None:
        self._requests.append(f"{self._stream.name} {what}")
        if self._away:
            raise LogUnavailable(stream=self._stream.name, problem="away")


def asked(services: Running, *, away: bool = False) -> list[str]:
    """What the streams are asked from now on."""
    requests: list[str] = []
    streams = cast(dict[str, Stream], services.asked_once)
    for name, stream in list(streams.items()):
        streams[name] = cast(Any, Asked(stream, requests, away=away))
    return requests


async def test_a_bus_that_is_away_leaves_the_lag_out_and_is_no_problem_of_the_services() -> None:
    bus = MemoryBus()
    await tell(bus, without_cards(1))
    services = services_on(bus)
    task = asyncio.create_task(services.run())
    await asyncio.wait_for(services_begun(services), 30)
    asked(services, away=True)
    found = await told(services)
    assert any(f'kuelog_folded_sequence{{partition="{PARTITION}"' in line for line in found)
    assert not any(line.startswith(("kuelog_fold_lag", "kuelog_clock_skew")) for line in found)
    assert services.problems() == []
    await stop(task)


async def test_a_scrape_of_services_that_have_folded_everything_asks_each_stream_once() -> None:
    bus = MemoryBus()
    await tell(bus, without_cards(1))
    services = services_on(bus)
    task = asyncio.create_task(services.run())
    await asyncio.wait_for(services_begun(services), 30)
    await asyncio.wait_for(services.quiet(), 30)
    requests = asked(services)
    await told(services)
    assert sorted(requests) == [f"{DEVICE_PARTITION} last", "FACTS last", "FACTS now", f"{PARTITION} last"]
    await stop(task)


async def services_begun(services: Running) -> None:
    while len(services.hosts) < 2:  # noqa: ASYNC110 - nothing is there yet that could tell
        await asyncio.sleep(0.01)
    for host in services.hosts.values():
        await host.caught_up.wait()


async def test_a_scrape_tells_of_them(unused_tcp_port: int) -> None:
    bus = MemoryBus()
    await tell(bus, without_cards(1))
    services = services_on(bus)
    task = asyncio.create_task(services.run())
    await asyncio.wait_for(services_begun(services), 30)
    url = f"http://127.0.0.1:{unused_tcp_port}/metrics"
    async with served(services, Endpoint(port=unused_tcp_port)), aiohttp.ClientSession() as session:
        while True:
            async with session.get(url) as answer:
                text = await answer.text()
            if answer.status == 200:
                break
            await asyncio.sleep(0.01)
    assert 'kuelog_fold_lag_seconds{partition="LOG_0",service="admitter",stream="FACTS"} 0.0' in text
    await stop(task)


async def test_worlds_of_one_process_hold_once_what_is_alike_in_them() -> None:
    bus = MemoryBus(lambda: 0)
    await tell(bus, [*without_cards(2), job("a"), job("b")])
    services = services_on(bus)
    task = asyncio.create_task(services.run())
    assert await asyncio.wait_for(admitted(bus, 2), 30) == ["team/a", "team/b"]
    await asyncio.wait_for(services.quiet(), 30)
    first, *others = [host.fold.world for host in services.hosts.values()]
    await stop(task)
    assert others and all(first.workloads[key] is other.workloads[key] for other in others for key in first.workloads)


class Announced:
    """Leases as another replica announces that it holds them."""

    def __init__(self, *holds: str) -> None:
        self.holds = holds

    async def announce(self, replica: Replica) -> None:
        del replica

    async def replicas(self) -> list[Replica]:
        return [Replica(name="there", wants=self.holds, holds=self.holds)]

    async def leave(self, replica: str) -> None:
        del replica


async def test_what_a_replica_has_not_written_that_another_one_writes_by_now_lags_for_nobody() -> None:
    """Who does not reach the API server gives the lease on writing back, and can't write what it had to write until then."""
    services, others = services_on(MemoryBus()), Announced()
    backlog, outbox = SimpleNamespace(urgent=3, low=2, oldest=1), SimpleNamespace(waiting=0, oldest=None)
    services.appliers["LOG_0"] = cast(Any, SimpleNamespace(backlog=backlog, outbox=outbox, results=Counter()))
    urgent = 'kuelog_unapplied_decisions{partition="LOG_0",priority="urgent"}'
    none = {f"{urgent} 0.0", 'kuelog_apply_lag_seconds{partition="LOG_0"} 0.0'}
    sharing = asyncio.create_task(services.leases.share(cast(Any, others)))
    await asyncio.sleep(0.1)
    found = set(await told(services))
    assert f"{urgent} 3.0" in found and not none & found, "nobody else writes"
    others.holds = ("LOG_0.applier",)
    async with asyncio.timeout(30):
        while not none <= set(await told(services)):  # noqa: ASYNC110 - seen when it looks around next
            await asyncio.sleep(0.1)
    await stop(sharing)
