"""What is written in spare time is written, whenever it comes."""

import asyncio
from collections.abc import Callable

from msgspec.structs import replace

from events.codec import decode_sighting
from events.event import Millis
from events.subjects import FACTS
from ops.production.crds.definitions import manifests
from ops.production.log.memory import MemoryStream
from ops.production.process.clock import ScaledClock
from services.applier.shell import Applier
from services.applier.writes.low_priority_writes import LowPriorityWrites
from tests.services.applier.in_process import InProcess
from tests.stories.small_world import Story, job, platform


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
