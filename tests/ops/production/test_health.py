"""What probes are told of services that are behind the log."""

import asyncio

from events.subjects import FACTS
from ops.production.health import LAGGING, Health
from ops.production.log.memory import MemoryBus
from ops.production.log.streams import PARTITION
from services.runtime.log_port import Message
from services.runtime.own_task import stopped
from tests.ops.production.metrics.test_services import services_on
from tests.services.runtime.partition.test_host import admitted, tell, without_cards
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
