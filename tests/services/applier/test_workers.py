"""Several workers wait for what is to be written: each piece of news is for one of them."""

import asyncio

from msgspec.structs import replace

from events.subjects import FACTS
from ops.production.crds.definitions import manifests
from ops.production.log.memory import MemoryStream
from ops.production.process.clock import ScaledClock
from services.applier.backlog import Backlog
from services.applier.plan import Application
from services.applier.shell import Applier
from services.applier.writes.low_priority_writes import LowPriorityWrites
from services.applier.writes.write_limit import MOST
from tests.services.applier.in_process import InProcess
from tests.stories.small_world import Story, job, platform


class Counted(Backlog):
    """Counts how often a worker asks for something to write."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.by_all = 0, asyncio.Event()

    def soon(self) -> Application | None:
        self.asked += 1
        if self.asked == MOST:
            self.by_all.set()
        return super().soon()


async def test_what_is_offered_and_what_is_done_has_one_worker_look_and_not_all_of_them() -> None:
    story = Story()
    story.told(*platform(nominal=0), replace(job("a"), owner=None)).decided()
    stream, clock = MemoryStream(FACTS), ScaledClock(100)
    applier = Applier(InProcess(manifests(), 1), stream, clock, "LOG_0", LowPriorityWrites(clock))
    applier.backlog = backlog = Counted()
    task = asyncio.create_task(applier.run())
    try:
        async with asyncio.timeout(120):
            await backlog.by_all.wait()
            applier.observe(story.world, ["team/a"])
            await anext(aiter(stream.follow(0)))
        offered_and_done = 2
        assert MOST < backlog.asked <= MOST + offered_and_done
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
