"""A history ends with everybody in it, and says who does not end."""

import asyncio

from ops.sandbox.simulate.fault_plan import only, schedule_of
from ops.sandbox.simulate.history import play
from ops.sandbox.simulate.platform import platform_of
from ops.sandbox.simulate.simulation import Simulation
from ops.sandbox.simulate.virtual_loop import VirtualLoop


def test_who_goes_on_although_he_was_told_to_end_is_named() -> None:
    loop = VirtualLoop("order")
    over = asyncio.Event()

    async def stubborn() -> None:
        while not over.is_set():
            try:
                await over.wait()
            except asyncio.CancelledError:
                continue

    async def ended() -> tuple[list[str], list[str]]:
        simulation = Simulation(loop, platform_of(1, 5000), 1)
        simulation.begin()
        simulation.operate(stubborn)
        await asyncio.sleep(1)
        first = await simulation.end()
        over.set()
        return first, await simulation.end()

    stuck, ended_by_then = loop.run_until_complete(ended())
    loop.close()
    assert stuck == ["operate is stuck: it goes on although it was cancelled"]
    assert ended_by_then == []


def test_who_begins_anew_in_the_moment_in_which_he_is_told_to_end_ends() -> None:
    assert play(84, 20_000, only(schedule_of(84, 20_000), {1, 9, 12})).broken == ()
