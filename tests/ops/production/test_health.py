"""What probes are told of services that are behind the log."""

import asyncio
from typing import Any, cast

from events.subjects import FACTS, routed_subject
from ops.production.fold_positions import fold_positions
from ops.production.health import LAGGING, Health
from ops.production.log.memory import MemoryBus
from ops.production.log.partitioning import divide
from ops.production.log.streams import PARTITION
from ops.production.process.clock import ScaledClock
from ops.production.wiring import Ports, Running
from services.runtime.log_port import Message
from services.runtime.own_task import stopped
from tests.ops.production.metrics.test_alarms import DECIDERS
from tests.ops.production.metrics.test_services import services_on
from tests.services.runtime.partition.test_host import NoCluster, admitted, tell, without_cards
from tests.stories.small_world import job


async def test_a_service_that_has_not_folded_what_came_long_ago_is_not_ready_until_it_has() -> None:
    time = [0]
    bus = MemoryBus(lambda: time[0])
    await tell(bus, [*without_cards(9), job("a")])
    services = services_on(bus)
    health = Health(services)
    task = asyncio.create_task(services.run())
    assert await asyncio.wait_for(admitted(bus, 1), 30) == ["team/a"]
    await asyncio.wait_for(services.quiet(), 30)
    assert await health.why_not() == []
    await stopped(task)
    facts = await bus.stream(FACTS)
    end = (await facts.last()).sequence
    time[0] += 1
    await facts.publish([Message("kuelog.facts._cluster.x", b"{}", "later")])
    time[0] += LAGGING
    assert await health.why_not() == []
    time[0] += 1000
    told = f"{PARTITION}: FACTS is folded to {end} of {end + 1}, and what comes next was stored 31 s ago"
    assert told in await health.why_not()


async def test_what_is_for_other_partitions_alone_keeps_nobody_from_being_ready_and_is_no_lag() -> None:
    time = [0]
    bus = MemoryBus(lambda: time[0])
    await divide(bus, 2, 0)
    nobody = cast(Any, NoCluster())
    services = Running(
        Ports(bus=bus, reader=nobody, writer=nobody, clock=ScaledClock()), DECIDERS, partitions=("LOG_0",)
    )
    task = asyncio.create_task(services.run())
    async with asyncio.timeout(120):
        while "LOG_0" not in services.hosts:  # noqa: ASYNC110 - nothing tells when services have begun
            await asyncio.sleep(0)
        await services.hosts["LOG_0"].caught_up.wait()
        await services.quiet()
    await stopped(task)
    facts = await bus.stream(FACTS)
    time[0] += 1
    await facts.publish([Message(routed_subject("LOG_1", "PodsReady"), b"{}", f"theirs-{each}") for each in range(9)])
    time[0] += LAGGING + 1000
    assert await Health(services).why_not() == []
    lags = [
        (one.last, one.folded, one.age) for one in (await fold_positions(services)).positions if one.stream == FACTS
    ]
    end = (await facts.last()).sequence
    assert lags == [(end, end, None)]
    await facts.publish([Message(routed_subject("LOG_0", "PodsReady"), b"{}", "ours")])
    time[0] += LAGGING + 1000
    [lag] = [one for one in (await fold_positions(services)).positions if one.stream == FACTS]
    assert (lag.last, lag.folded) == (end + 1, end) and lag.age is not None
    assert await Health(services).why_not() == [f"LOG_0: FACTS is folded to {end} of {end + 1}"]
