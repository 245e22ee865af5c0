"""What the console says of how far it is behind the log."""

import asyncio
from typing import Any, cast

from aiohttp.test_utils import TestClient, TestServer

from events.subjects import FACTS
from ops.console.changes import LogChanges
from ops.console.live import Live
from ops.console.log_lag import Behind, LogLag
from ops.console.recorded import Recordings
from ops.console.server import ConsoleApp
from ops.console.whatif import WhatIfs
from ops.production.log.memory import MemoryBus
from services.runtime.log_port import Message
from services.runtime.own_task import stopped
from tests.ops.production.metrics.test_services import services_on
from tests.services.runtime.partition.test_host import admitted, tell, without_cards
from tests.stories.small_world import job


async def test_every_answer_about_now_says_how_much_of_the_log_is_not_folded_and_how_old_it_is() -> None:
    time = [0]
    bus = MemoryBus(lambda: time[0])
    await tell(bus, [*without_cards(9), job("a")])
    services = services_on(bus)
    task = asyncio.create_task(services.run())
    assert await asyncio.wait_for(admitted(bus, 1), 30) == ["team/a"]
    await asyncio.wait_for(services.quiet(), 30)
    live, lag = Live(services), LogLag(services)
    nothing = cast(Any, None)
    app = ConsoleApp(live, Recordings(nothing, ""), LogChanges(services, live.positions), WhatIfs(""), lag).app()
    async with TestClient(TestServer(app)) as client:

        async def told() -> Any:
            await lag.look()
            async with client.get("/api/v1/queues") as answer:
                return (await answer.json())["as_of"]["behind"]

        assert await told() is None
        await stopped(task)
        time[0] += 1
        facts = await bus.stream(FACTS)
        await facts.publish([Message("kuelog.facts._cluster.x", b"{}", f"later-{each}") for each in range(3)])
        time[0] += 31_000
        assert await told() == {"messages": 3, "seconds": 31}
        assert lag.behind == Behind(messages=3, seconds=31)
