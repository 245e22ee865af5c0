"""Many writes at once where the way is long, few where the API server is at its limit."""

import asyncio

from msgspec.structs import replace

from events.json_object import JsonObject
from events.subjects import FACTS
from ops.production.log.memory import MemoryStream
from services.applier.shell import Applier
from services.applier.writes.low_priority_writes import LowPriorityWrites
from services.applier.writes.write_limit import LEAST, MOST, QUICK, WriteLimit
from tests.services.runtime.partition.test_host import without_cards
from tests.services.runtime.partition.test_killed_hosts import StillClock
from tests.stories.small_world import Story, job


def taking(*durations: int) -> WriteLimit:
    """A limit after writes that took so long."""
    limit = WriteLimit()
    for duration in durations:
        limit.took(duration)
    return limit


def test_it_begins_with_few() -> None:
    assert WriteLimit().at_once == LEAST


def test_quick_writes_allow_more_up_to_a_limit() -> None:
    assert taking(*[QUICK] * 4).at_once == LEAST + 1
    assert taking(*[QUICK] * 1000).at_once == MOST


def test_writes_that_get_slower_allow_fewer_down_to_a_limit() -> None:
    many = [QUICK] * 1000
    assert LEAST < taking(*many, *[200] * 40).at_once < MOST
    assert taking(*many, *[200] * 1000).at_once == LEAST


def test_a_long_way_that_stays_as_long_is_no_server_at_its_limit() -> None:
    assert taking(*[150] * 1000).at_once == MOST
    assert taking(*[150] * 1000, *[451] * 1000).at_once == LEAST


def test_what_is_quick_on_any_server_is_never_slow() -> None:
    assert taking(1, *[QUICK] * 1000).at_once == MOST


class Slow:
    """An API server on which a write begun at one moment ends when the test says so."""

    def __init__(self) -> None:
        self.under_way = 0
        self.begun = asyncio.Semaphore(0)
        self.goes_on = asyncio.Semaphore(0)

    async def apply(self, *place: object, **how: object) -> JsonObject:
        self.under_way += 1
        self.begun.release()
        await self.goes_on.acquire()
        self.under_way -= 1
        return {"metadata": {"name": "x", "uid": "u", "resourceVersion": "1"}, "status": {}}


async def test_no_more_are_written_at_once_than_the_limit_allows() -> None:
    story = Story()
    names = [f"job-{number}" for number in range(3 * MOST)]
    story.told(*without_cards(1000), *(replace(job(name), owner=None) for name in names)).decided()
    server, clock = Slow(), StillClock()
    applier = Applier(server, MemoryStream(FACTS), clock, "LOG_0", LowPriorityWrites(clock))  # type: ignore[arg-type]
    applier.observe(story.world, list(story.world.workloads))
    task = asyncio.create_task(applier.run())
    for _ in range(LEAST):
        await server.begun.acquire()
    for _ in range(100):
        await asyncio.sleep(0)
    assert server.under_way == LEAST
    for _ in names:
        server.goes_on.release()
    for _ in names[LEAST:]:
        await server.begun.acquire()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
