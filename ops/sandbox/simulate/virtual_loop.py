"""An event loop on virtual time: one thread, no sockets, no wall clock; what runs next follows from a seed alone.

When nothing is ready the time jumps to the next timer. Every callback belongs to a process, the one that it would run
in: processes can be held, as by SIGSTOP, and what would be a death by SIGKILL is to be held for ever.
"""

import asyncio
import heapq
import random
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar
from typing import Any

PROCESS: ContextVar[str] = ContextVar("process", default="")
"""Whose process the running code belongs to; empty for the world itself."""


class NothingHappens(Exception):
    """Nothing is ready and no timer runs: whatever is awaited will never come."""


class _NumberedTask(asyncio.Task[Any]):
    """A task whose place in a set is the same each time: a group that ends cancels its tasks in the order of such a set."""

    def __init__(self, work: Coroutine[Any, Any, Any], number: int, **how: Any) -> None:
        self._number = number
        super().__init__(work, **how)

    def __hash__(self) -> int:
        return self._number


class VirtualLoop(asyncio.BaseEventLoop):
    """Runs what is ready in an order that the seed decides."""

    _ready: "deque[asyncio.Handle]"
    _stopping: bool

    def __init__(self, seed: str) -> None:
        super().__init__()
        self._chance = random.Random(seed)  # noqa: S311 - an order, not a secret
        self._virtual = 0.0
        self._due: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._timers = 0
        self._held: dict[str, list[asyncio.Handle]] = {}
        self._tasks_made = 0
        self.set_task_factory(self._numbered)
        self._awaited: dict[str, tuple[int, Callable[[], None]]] = {}

    def _numbered(self, loop: asyncio.AbstractEventLoop, work: Any, **how: Any) -> _NumberedTask:
        self._tasks_made += 1
        return _NumberedTask(work, self._tasks_made, loop=loop, **how)

    def time(self) -> float:
        """Virtual seconds since the loop was made."""
        return self._virtual

    def hold(self, process: str) -> None:
        """Let nothing of a process run until it is released."""
        self._held.setdefault(process, [])

    def is_held(self, process: str) -> bool:
        """Whether nothing of a process runs at the moment."""
        return process in self._held

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

    def call_soon(self, callback: Callable[..., object], *args: Any, context: Context | None = None) -> asyncio.Handle:
        """As any loop does; nobody calls from another thread, and nothing is traced."""
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_at(
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """As any loop does; of callbacks for one time the first one registered is called first."""
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        self._timers += 1
        heapq.heappush(self._due, (when, self._timers, handle))
        return handle

    def _run_once(self) -> None:
        ready, due = self._ready, self._due
        while due and due[0][2].cancelled():
            heapq.heappop(due)
        if len(ready) > 1 and self._chance.random() < _SHUFFLED:
            order = list(ready)
            self._chance.shuffle(order)
            ready.clear()
            ready.extend(order)
        if not ready and not self._stopping:
            if not due:
                raise NothingHappens
            self._virtual = max(self._virtual, due[0][0])
        while due and due[0][0] <= self._virtual:
            ready.append(heapq.heappop(due)[2])
        for _ in range(len(ready)):
            handle = ready.popleft()
            if not handle.cancelled():
                handle._run()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage, reportUnknownMemberType, reportAttributeAccessIssue]
        if self._awaited:
            self._count()
        if self._held:
            self._sort_out()

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """It is left out when its time comes."""
        del handle

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
        held = self._held
        if any(_process_of(one) in held for one in self._ready):
            ready = list(self._ready)
            self._ready.clear()
            for handle in ready:
                held.get(_process_of(handle), self._ready).append(handle)

    def _process_events(self, event_list: list[Any]) -> None:
        """There are none."""

    def _write_to_self(self) -> None:
        """No other thread ever calls."""


def _process_of(handle: asyncio.Handle) -> str:
    context: Context = handle._context  # noqa: SLF001 # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
    return context.get(PROCESS, "")


def _nothing() -> None:
    """Nobody waits for these steps."""


_SHUFFLED = 0.5
