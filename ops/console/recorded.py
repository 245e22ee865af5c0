"""The log as it was at a moment, folded in a thread of its own: the same questions as `kuelog … --at`."""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from events.rules import RULES
from ops.production.log.paged_history import Waits, open_everything
from ops.queries.explaining import world_at
from ops.queries.point import Point, point_at
from ops.queries.time_travel import Moment, cards_at
from projections.world import World
from services.runtime.log_port import Bus

T = TypeVar("T")
_WORLDS = 4
"""So many folded worlds are kept: who moves to and fro in time asks for the same ones."""


class Recorded:
    """The log up to a moment; what is folded of it is folded when it is first asked for."""

    def __init__(self, point: Point, text: str, worlds: "Worlds") -> None:
        self.point, self._text, self._worlds = point, text, worlds

    def world(self) -> World:
        """The world of the partition of admission."""
        return self._worlds.of(f"{self.tag} admission", lambda: world_at(self.point))

    def cards(self) -> Moment:
        """The accountant's world; where the moment is a sequence, as of the last message before it."""
        text = "" if self._text.rpartition("/")[2].isdigit() else self._text
        return self._worlds.of(f"{self.tag} cards", lambda: cards_at(self.point.entries, text))

    @property
    def tag(self) -> str:
        """What two answers have in common that can't differ: the moment, the last messages before it, and the rules."""
        found = hashlib.sha256(f"{RULES} {self.point.at} {self._text}".encode())
        for name, entries in sorted(self.point.entries.items()):
            found.update(f"{name} {len(entries)} ".encode())
            found.update(entries[-1].data if entries else b"")
        return found.hexdigest()[:32]


class Worlds:
    """The worlds that were folded last."""

    def __init__(self, most: int = _WORLDS) -> None:
        self._most, self._kept = most, OrderedDict[str, object]()

    def of(self, key: str, fold: Callable[[], T]) -> T:
        """The one of that key, folded now where it is not kept."""
        if key not in self._kept:
            self._kept[key] = fold()
        self._kept.move_to_end(key)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return self._kept[key]  # pyright: ignore[reportReturnType] - one key is always of one kind


class Recordings:
    """Answers questions about past moments, one at a time, beside what happens now."""

    def __init__(self, bus: Bus, archive: str = "") -> None:
        self._bus, self._archive, self._worlds = bus, archive, Worlds()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="recordings")

    async def ask(self, text: str, question: Callable[[Recorded], T]) -> T:
        """What the question finds at the moment that a text names, or now. Raises what reading the log raises, and `BadTime`."""
        loop = asyncio.get_running_loop()
        wait = Waits(lambda what: asyncio.run_coroutine_threadsafe(what, loop).result())

        def asked() -> T:
            point = point_at(open_everything(wait, self._bus, self._archive), text)
            return question(Recorded(point, text, self._worlds))

        return await loop.run_in_executor(self._thread, asked)

    def close(self) -> None:
        """Begin nothing more."""
        self._thread.shutdown(wait=False, cancel_futures=True)
