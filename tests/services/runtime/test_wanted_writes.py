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


async def test_who_is_due_again_at_once_keeps_nobody_from_being_written() -> None:
    """As when a cluster answers none of those whose jobs it has: each write lasts until patience is over, and is due again by then."""
    begun: list[str] = []

    async def stuck(wanted: str) -> Millis:
        begun.append(wanted)
        await asyncio.sleep(0.001)
        return 0

    writes = WantedWrites(ScaledClock(), stuck)
    keys = [f"{number}" for number in range(9)]
    for key in keys:
        writes.want(key, key)
    running = asyncio.create_task(writes.run())
    async with asyncio.timeout(PATIENCE_S):
        while len(begun) < 2 * len(keys):  # noqa: ASYNC110 - it is told nobody
            await asyncio.sleep(0.001)
        assert sorted(begun[: len(keys)]) == keys
        writes.want("new", "new")
        count = len(begun)
        while "new" not in begun:  # noqa: ASYNC110 - as above
            await asyncio.sleep(0.001)
        assert begun.index("new") < count + 5
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
