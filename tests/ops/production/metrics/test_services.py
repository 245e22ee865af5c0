"""How the services of a process keep up with the log is told while they run, and while the bus does not answer."""

import asyncio
from typing import Any, cast

import aiohttp

from events.subjects import FACTS
from ops.production.listeners.endpoint import Endpoint
from ops.production.log.memory import MemoryBus
from ops.production.metrics.endpoint import exposition, served
from ops.production.metrics.places import look
from ops.production.metrics.services import ServiceMetrics
from ops.production.process.clock import ScaledClock
from ops.production.wiring import PARTITION, Ports, Running
from services.runtime.log_errors import LogUnavailable
from services.runtime.log_port import Message
from tests.ops.production.metrics.test_alarms import DECIDERS, lines
from tests.services.runtime.test_partition_host import NoCluster, admitted, stop, tell, without_cards
from tests.stories.small_world import job


def services_on(bus: MemoryBus) -> Running:
    nobody = cast(Any, NoCluster())
    return Running(Ports(bus=bus, reader=nobody, writer=nobody, clock=ScaledClock()), DECIDERS)


async def told(services: Running) -> list[str]:
    looked = await look(services)
    return exposition(lambda: None, (), ServiceMetrics(services, looked)).decode().splitlines()


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
    await facts.publish([Message("kuelog.facts._cluster.x", b"[", "y"), Message("kuelog.facts._cluster.x", b"[", "z")])
    halted = f'kuelog_partition_halted{{partition="{PARTITION}",reason="message"}} 1.0'
    while halted not in lines(services):  # noqa: ASYNC110 - of several hosts
        await asyncio.sleep(0.01)
    found = await told(services)
    assert {f"kuelog_folded_sequence{labels} {end}.0", f"kuelog_fold_lag_messages{labels} 2.0"} <= set(found)
    await stop(task)


async def test_while_the_bus_does_not_answer_it_is_told_what_is_folded_and_no_lag() -> None:
    bus = MemoryBus()
    await tell(bus, without_cards(1))
    services = services_on(bus)
    task = asyncio.create_task(services.run())
    await asyncio.wait_for(services_begun(services), 30)

    class Away:
        """A stream of a bus that is away."""

        name = PARTITION

        async def now(self) -> int:
            raise LogUnavailable(stream=PARTITION, problem="away")

    services.hosts[PARTITION].own = cast(Any, Away())
    found = await told(services)
    assert any(f'kuelog_folded_sequence{{partition="{PARTITION}"' in line for line in found)
    assert not any(f'kuelog_fold_lag_messages{{partition="{PARTITION}"' in line for line in found)
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
