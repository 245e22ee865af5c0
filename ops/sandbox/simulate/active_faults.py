"""The faults that are about to strike a call, and those that last for a while."""

import asyncio
import random

from ops.sandbox.simulate.fault_plan import FaultKind


class ActiveFaults:
    """The faults that are about to strike, and those that last."""

    def __init__(self, loop: asyncio.AbstractEventLoop, seed: int) -> None:
        self.loop = loop
        self.chance = random.Random(f"{seed}/latencies")  # noqa: S311 - a world, not a secret
        self.ended = asyncio.Event()
        """Set when nothing is struck or delayed from now on."""
        self.cuts = 0
        """How often the bus has ended, and lost all that was on the way to it or from it."""
        self.over_at = 0.0
        """The latest time at which anything that a fault has delayed so far arrives."""
        self._armed: dict[tuple[str, FaultKind], tuple[int, float]] = {}
        self._lasting: dict[tuple[str, FaultKind], tuple[float, float]] = {}
        self._none_after = 0.0
        """From then on none of those lasts."""

    def arm(self, process: str, kind: FaultKind, times: int, seconds: float = 0.0) -> None:
        """Have the next so many calls of a process struck; an empty name stands for any process."""
        self._armed[process, kind] = (times, seconds)

    def last(self, process: str, kind: FaultKind, seconds: float, strength: float = 0.0) -> None:
        """Have a fault last for so long."""
        until = self.loop.time() + seconds
        self._lasting[process, kind] = (until, strength)
        self._none_after = max(self._none_after, until)

    def clear(self) -> None:
        """End all faults."""
        self.ended.set()
        self._armed.clear()
        self._lasting.clear()

    def strikes(self, process: str, kind: FaultKind) -> float | None:
        """For how many seconds this call is struck; None when it is not."""
        if not self._armed:
            return None
        for whose in (process, ""):
            left, seconds = self._armed.get((whose, kind), (0, 0.0))
            if left > 1:
                self._armed[whose, kind] = (left - 1, seconds)
                return seconds
            if left:
                del self._armed[whose, kind]
                return seconds
        return None

    def lasts(self, process: str, kind: FaultKind) -> float | None:
        """How strong a lasting fault of this kind is now; None when there is none."""
        now = self.loop.time()
        if now >= self._none_after:
            return None
        for whose in (process, ""):
            until, strength = self._lasting.get((whose, kind), (0.0, 0.0))
            if now < until:
                return strength
        return None

    @property
    def calm(self) -> bool:
        """Whether nothing is struck or delayed any more."""
        return self.ended.is_set()

    @property
    def bus_is_down(self) -> bool:
        """Whether nobody reaches the bus at the moment."""
        return self.loop.time() < self._none_after and any(
            self.lasts("", kind) is not None for kind in (FaultKind.BUS_DOWN, FaultKind.LOST_TAIL)
        )

    async def hold_up(self, seconds: float | None) -> None:
        """Delay a call or message by so many seconds, also when all faults have ended meanwhile; not at all where no fault says how long."""
        if seconds is not None:
            self.held_up(seconds)
            await asyncio.sleep(seconds)

    def held_up(self, seconds: float) -> None:
        """Note that something arrives so many seconds later."""
        self.over_at = max(self.over_at, self.loop.time() + seconds)

    async def latency(self) -> None:
        """The time of a way that takes some, or none."""
        seconds = _LATENCIES[self.chance.getrandbits(3)]
        if seconds is not None:
            await asyncio.sleep(seconds)


_LATENCIES = (None, None, None, 0.0, 0.0, 0.001, 0.002, 0.01)
"""In seconds; on some ways nobody else gets a turn meanwhile."""
