"""An event loop on virtual time: one thread, no sockets, no wall clock; what runs next follows from a seed alone.

When nothing is ready the time jumps to the next timer. Every callback belongs to a process, the one that it would run
in: processes can be held, as by SIGSTOP, and what would be a death by SIGKILL is to be held for ever.
"""

import asyncio
import random
from collections import deque
from collections.abc import Callable
from contextvars import Context, ContextVar
from typing import Any

PROCESS: ContextVar[str] = ContextVar("process", default="")
"""Whose process the running code belongs to; empty for the world itself."""


class NothingHappens(Exception):
    """Nothing is ready and no timer runs: whatever is awaited will never come."""


class _Jump:
    """Stands where the selector would: there is nothing to select, so the time passes at once."""

    def __init__(self, loop: "VirtualLoop") -> None:
        self._loop = loop

    def select(self, timeout: float | None) -> list[Any]:
        if timeout is None:
            raise NothingHappens
        self._loop.pass_time(timeout)
        return []

    def close(self) -> None:
        """Nothing is open."""


class VirtualLoop(asyncio.BaseEventLoop):
    """Runs what is ready in an order that the seed decides."""

    _ready: "deque[asyncio.Handle]"
    _scheduled: list[asyncio.TimerHandle]

    def __init__(self, seed: str) -> None:
        super().__init__()
        self._chance = random.Random(seed)  # noqa: S311 - an order, not a secret
        self._selector = _Jump(self)
        self._virtual = 0.0
        self._clock_resolution = 1e-6
        self._held: dict[str, list[asyncio.Handle]] = {}
        self._awaited: dict[str, tuple[int, Callable[[], None]]] = {}

    def time(self) -> float:
        """Virtual seconds since the loop was made."""
        return self._virtual

    def pass_time(self, seconds: float) -> None:
        """Nothing is ready for so long."""
        self._virtual += seconds

    def hold(self, process: str) -> None:
        """Let nothing of a process run until it is released."""
        self._held.setdefault(process, [])

    def release(self, process: str) -> None:
        """Let a process go on where it was held."""
        self._ready.extend(self._held.pop(process, ()))

    def release_all(self) -> None:
        """Let everybody go on."""
        self._awaited.clear()
        for process in list(self._held):
            self.release(process)

    def after_steps(self, process: str, steps: int, then: Callable[[], None]) -> None:
        """Have something done right before so many callbacks of a process more have run."""
        self._awaited[process] = (steps, then)

    def _run_once(self) -> None:
        ready = self._ready
        if self._scheduled and self._virtual < self._scheduled[0].when() < self._virtual + self._clock_resolution:
            # It is due within the resolution although its time has not come: who asks the time then, waits for no other.
            self._virtual = self._scheduled[0].when()
        if len(ready) > 1 and self._chance.random() < _SHUFFLED:
            order = list(ready)
            self._chance.shuffle(order)
            ready.clear()
            ready.extend(order)
        run_once: Callable[[], None] = super()._run_once  # pyright: ignore[reportAttributeAccessIssue]
        run_once()
        if self._awaited:
            self._count()
        if self._held:
            self._sort_out()

    def _count(self) -> None:
        for handle in self._ready:
            process = _process_of(handle)
            steps, then = self._awaited.get(process, (-1, _nothing))
            if steps > 0:
                self._awaited[process] = (steps - 1, then)
            elif steps == 0:
                del self._awaited[process]
                then()

    def _sort_out(self) -> None:
        """Put aside what belongs to processes that are held."""
        ready = list(self._ready)
        self._ready.clear()
        for handle in ready:
            self._held.get(_process_of(handle), self._ready).append(handle)

    def _process_events(self, event_list: list[Any]) -> None:
        del event_list

    def _write_to_self(self) -> None:
        """No other thread ever calls."""


def _process_of(handle: asyncio.Handle) -> str:
    context: Context = handle._context  # noqa: SLF001 # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
    return context.get(PROCESS, "")


def _nothing() -> None:
    """Nobody waits for these steps."""


_SHUFFLED = 0.5
