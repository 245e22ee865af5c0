"""Writing what is wanted by key until it is seen: several at once, each key by one task at a time, and again after a while."""

import asyncio
from collections.abc import Awaitable, Callable
from operator import itemgetter
from typing import Generic, TypeVar

from events.event import Millis
from services.runtime.clock_port import Clock

T = TypeVar("T")
_AT_ONCE = 4


class WantedWrites(Generic[T]):
    """What is wanted, by key. What was written stays wanted until it is let go: then it is nothing that is lacking any more."""

    def __init__(self, clock: Clock, write: Callable[[T], Awaitable[Millis]]) -> None:
        """`write` writes all of it, and says how long to wait before it is looked at again."""
        self._clock, self._write = clock, write
        self._wanted: dict[str, T] = {}
        self._due: dict[str, Millis] = {}
        self._busy: set[str] = set()
        self._poked: set[str] = set()
        """Those of them that are to be looked at again at once."""
        self._news = asyncio.Event()

    def want(self, key: str, wanted: T) -> None:
        """This is wanted from now on; at once, if it is another than before."""
        if self._wanted.get(key) != wanted:
            self._wanted[key] = wanted
            self._due.pop(key, None)
            self._news.set()

    def let_go(self, key: str) -> None:
        """Want nothing of a key any more; a write that is under way ends."""
        self._wanted.pop(key, None)

    def poke(self, key: str) -> None:
        """Look again at once at what is wanted."""
        if key in self._wanted:
            self._due.pop(key, None)
            if key in self._busy:
                self._poked.add(key)
            self._news.set()

    async def run(self) -> None:
        """Bring what is wanted to the cluster, a few keys at a time, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for _ in range(_AT_ONCE):
                tasks.create_task(self._work())

    async def _work(self) -> None:
        while True:
            key = self._next()
            if key is None:
                self._news.clear()
                await self._clock.wait(self._news, min(self._due.values(), default=None))
                continue
            wanted = self._wanted[key]
            self._busy.add(key)
            self._due.pop(key, None)
            try:
                wait = await self._write(wanted)
            finally:
                self._busy.discard(key)
            if self._wanted.get(key) is wanted and key not in self._poked:
                self._due[key] = self._clock.now() + wait
            self._poked.discard(key)
            self._news.set()

    def _next(self) -> str | None:
        now = self._clock.now()
        for key in [key for key in self._due if key not in self._wanted]:
            del self._due[key]
        # Who has waited longest comes first, and before all who was not written yet: those that are due again at once come round after them.
        free = ((self._due.get(key, 0), key) for key in self._wanted if key not in self._busy)
        due, first = min(free, key=itemgetter(0), default=(now + 1, ""))
        return first if due <= now else None
