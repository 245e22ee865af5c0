"""The faults that are about to strike a call, and those that last for a while."""

import asyncio
import random

from ops.sandbox.simulate.fault_plan import Kind


class ActiveFaults:
    """The faults that are about to strike, and those that last."""

    def __init__(self, loop: asyncio.AbstractEventLoop, seed: int) -> None:
        self.loop = loop
        self.chance = random.Random(f"{seed}/latencies")  # noqa: S311 - a world, not a secret
        self.calm = False
        """Everything passes at once from now on."""
        self.cuts = 0
        """How often the bus has ended with all that was on the way to it or from it."""
        self.over_at = 0.0
        """When the last of what was held up on its way, by any fault so far, gets where it goes."""
        self._armed: dict[tuple[str, Kind], tuple[int, float]] = {}
        self._lasting: dict[tuple[str, Kind], tuple[float, float]] = {}

    def arm(self, process: str, kind: Kind, times: int, seconds: float = 0.0) -> None:
        """Have the next so many calls of a process struck; an empty name stands for anybody."""
        self._armed[process, kind] = (times, seconds)

    def last(self, process: str, kind: Kind, seconds: float, strength: float = 0.0) -> None:
        """Have a fault last for so long."""
        self._lasting[process, kind] = (self.loop.time() + seconds, strength)

    def clear(self) -> None:
        """Nothing goes wrong any more."""
        self.calm = True
        self._armed.clear()
        self._lasting.clear()

    def strikes(self, process: str, kind: Kind) -> float | None:
        """Whether this call is struck, and how long that takes in seconds."""
        for whose in (process, ""):
            left, seconds = self._armed.get((whose, kind), (0, 0.0))
            if left:
                self._armed[whose, kind] = (left - 1, seconds)
                return seconds
        return None

    def lasts(self, process: str, kind: Kind) -> float | None:
        """Whether it is so now, and how much."""
        for whose in (process, ""):
            until, strength = self._lasting.get((whose, kind), (0.0, 0.0))
            if self.loop.time() < until:
                return strength
        return None

    async def hold_up(self, seconds: float) -> None:
        """What is on its way takes so long, also when nothing goes wrong any more."""
        self.held_up(seconds)
        await asyncio.sleep(seconds)

    def held_up(self, seconds: float) -> None:
        """Something gets where it goes so much later."""
        self.over_at = max(self.over_at, self.loop.time() + seconds)

    async def latency(self) -> None:
        """The time of a way that takes some, or none."""
        seconds = _LATENCIES[self.chance.getrandbits(3)]
        if seconds is not None:
            await asyncio.sleep(seconds)


_LATENCIES = (None, None, None, 0.0, 0.0, 0.001, 0.002, 0.01)
"""In seconds; on some ways nobody else gets a turn meanwhile."""
