"""An event loop on virtual time: no time passes but by timers, and who is held gets no turn."""

import asyncio
import contextvars

import pytest

from ops.sandbox.simulate.virtual_loop import PROCESS, NothingHappens, VirtualLoop


def test_a_year_passes_at_once() -> None:
    loop = VirtualLoop("seed")
    loop.run_until_complete(asyncio.sleep(365 * 86_400))
    assert loop.time() == 365 * 86_400
    loop.close()


def test_what_will_never_come_is_told() -> None:
    loop = VirtualLoop("seed")
    with pytest.raises(NothingHappens):
        loop.run_until_complete(loop.create_future())
    loop.close()


def test_who_is_held_goes_on_where_it_was() -> None:
    loop, told = VirtualLoop("seed"), list[float]()

    async def work() -> None:
        for _ in range(3):
            await asyncio.sleep(1)
            told.append(loop.time())

    async def play() -> None:
        context = contextvars.copy_context()
        context.run(PROCESS.set, "worker")
        worker = loop.create_task(work(), context=context)
        await asyncio.sleep(1.5)
        loop.hold("worker")
        await asyncio.sleep(10)
        loop.release("worker")
        await worker

    loop.run_until_complete(play())
    loop.close()
    assert told == [1, 11.5, 12.5]


def test_the_order_of_what_is_ready_follows_from_the_seed() -> None:
    def order(seed: str) -> list[int]:
        loop, told = VirtualLoop(seed), list[int]()

        async def work(number: int) -> None:
            for _ in range(5):
                await asyncio.sleep(0)
                told.append(number)

        async def play() -> None:
            await asyncio.gather(*(work(number) for number in range(5)))

        loop.run_until_complete(play())
        loop.close()
        return told

    assert order("a") == order("a")
    assert order("a") != order("b")


def test_who_waits_for_very_little_does_not_wait_for_ever_beside_others_who_do() -> None:
    loop, looks = VirtualLoop("seed"), 0

    async def wait(steps: int) -> None:
        nonlocal looks
        end = loop.time() + 1e-7
        while loop.time() < end:
            looks += 1
            assert looks < 1000, "no time passes"
            for _ in range(steps):
                await asyncio.sleep(0)
            await asyncio.sleep(end - loop.time())

    async def play() -> None:
        await asyncio.gather(*(wait(steps) for steps in range(60)))

    loop.run_until_complete(play())
    loop.close()
