import asyncio
from contextlib import suppress

from events.event import Millis
from ops.production.process.clock import ScaledClock
from services.runtime.wanted_writes import WantedWrites

NEVER: Millis = 3_600_000
PATIENCE_S = 120


class Written:
    """Writes that end when they are let."""

    def __init__(self) -> None:
        self.begun: asyncio.Queue[str] = asyncio.Queue()
        self.let = asyncio.Event()

    async def write(self, wanted: str) -> Millis:
        self.begun.put_nowait(wanted)
        await self.let.wait()
        return NEVER

    async def next(self) -> str:
        async with asyncio.timeout(PATIENCE_S):
            return await self.begun.get()


async def test_what_is_poked_while_it_is_written_is_written_once_more_and_one_at_a_time() -> None:
    written = Written()
    writes = WantedWrites(ScaledClock(), written.write)
    running = asyncio.create_task(writes.run())
    writes.want("a", "one")
    assert await written.next() == "one"
    writes.poke("a")
    writes.want("b", "two")
    assert await written.next() == "two", "another key does not wait"
    assert written.begun.empty(), "a key that is being written does"
    written.let.set()
    assert await written.next() == "one"
    writes.want("a", "three")
    assert await written.next() == "three", "what is wanted otherwise does not wait until the other is due"
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    assert written.begun.empty()
