"""One platform under the wild messages of one seed, played in virtual time; and the fewest of them that do harm."""

import asyncio
import gc
import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

import msgspec

from ops.production.log.memory import MemoryBus
from ops.production.process.clock import ScaledClock
from ops.sandbox.simulate.virtual_loop import VirtualLoop
from tests.fuzz.inputs import Input
from tests.fuzz.scene import Harmed, Scene
from tests.fuzz.watch import NeverAtRest

T = TypeVar("T")

BEGINS = 1_800_000_000_000
AT_ONCE = 4
"""So many messages are put there before all of it has to be folded."""


class Course(msgspec.Struct, frozen=True, kw_only=True):
    """How it went with one platform."""

    seed: int
    inputs: tuple[Input, ...]
    harm: str = ""
    """What happened that must not; empty when nothing did."""
    aside: dict[str, int] = {}


async def course(scene: Scene, inputs: Sequence[Input]) -> None:
    """Put them there, some at a time; all goes on, also for who starts anew. Raises `Harmed`."""
    await scene.begin()
    for first in range(0, len(inputs), AT_ONCE):
        for one in inputs[first : first + AT_ONCE]:
            await scene.put(one)
        await scene.settle()
        scene.check_deciders()
    await scene.mend()
    await scene.until_admitted("after what was put there")
    await scene.restart()
    await scene.settle()
    await scene.until_admitted("after a restart")
    scene.check_deciders()


def play(seed: int, inputs: Sequence[Input]) -> Course:
    """Play the messages of a seed, or some of them."""
    loop = VirtualLoop(f"{seed}/order")
    loop.set_exception_handler(lambda _loop, _context: None)
    random.seed(f"{seed}/patience")
    clock = ScaledClock(1.0, BEGINS, loop.time)
    collecting = gc.isenabled()
    gc.disable()
    try:
        return loop.run_until_complete(_played(Scene(seed, MemoryBus(clock.now), clock), seed, inputs))
    finally:
        try:
            _end(loop)
        finally:
            # Whoever watches over the time may end this as well.
            loop.close()
            if collecting:
                gc.enable()


def _end(loop: VirtualLoop) -> None:
    """What runs still, where the time was over in the midst of it, ends in order if it can."""
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    with suppress(NeverAtRest):
        if tasks:
            loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))


async def _played(scene: Scene, seed: int, inputs: Sequence[Input]) -> Course:
    harm = ""
    try:
        await course(scene, inputs)
    except (Exception, NeverAtRest) as problem:  # noqa: BLE001 - whatever comes out of there is a finding
        harm = str(problem) if isinstance(problem, Harmed) else f"{type(problem).__name__}: {problem}"
    finally:
        await scene.end()
    return Course(seed=seed, inputs=tuple(inputs), harm=harm, aside=dict(scene.aside))


def fewest(things: Sequence[T], harmful: Callable[[Sequence[T]], bool]) -> list[T]:
    """As few of them as still do harm: parts are left out, smaller ones each time nothing can be."""
    kept, size = list(things), max(len(things) // 2, 1)
    while True:
        first, shorter = 0, False
        while first < len(kept):
            rest = kept[:first] + kept[first + size :]
            if harmful(rest):
                kept, shorter = rest, True
            else:
                first += size
        if size == 1 and not shorter:
            return kept
        size = size if shorter else max(size // 2, 1)
