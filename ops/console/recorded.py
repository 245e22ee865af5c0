"""The log as it was at a moment, folded in a thread of its own: the same questions as `kuelog … --at`."""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from typing import TypeVar

from events.rules import RULES
from events.subjects import CONTROL
from ops.production.log.history import Paged, end_of
from ops.production.log.paged_history import Waits, open_everything
from ops.queries.explaining import world_at
from ops.queries.point import NotOnTheLog, Point, point_at
from ops.queries.time_travel import Moment, cards_at
from projections.explanation.read_models import WorkloadRow, workload_rows
from projections.world import World
from services.runtime.log_port import Bus

T = TypeVar("T")
_WORLDS = 4
"""So many folded worlds are kept: who moves to and fro in time asks for the same ones."""


class Recorded:
    """The log up to a moment; what is folded of it is folded when it is first asked for."""

    def __init__(self, point: Point, text: str, log: Paged, worlds: "Worlds") -> None:
        self.point, self._text, self._log, self._worlds = point, text, log, worlds

    def world(self) -> World:
        """The world of the partition of admission."""
        return self._worlds.of(f"{self.tag} admission", lambda: world_at(self.point))

    def rows(self) -> Sequence[WorkloadRow]:
        """All workloads of that world."""
        return workload_rows(self.world())

    def cards(self) -> Moment:
        """The accountant's world; where the moment is a sequence, as of the last message before it."""
        text = "" if _is_sequence(self._text) else self._text
        return self._worlds.of(f"{self.tag} cards", lambda: cards_at(self.point.entries, text))

    @property
    def settled(self) -> bool:
        """Whether nothing that is stored later can change an answer: each stream goes on behind the moment."""
        if self.point.ended or not self._text:
            return False
        behind = (len(self._log[name]) > len(self.point.entries[name]) for name in self._log if name != CONTROL)
        return _is_sequence(self._text) or all(behind)

    @property
    def identity(self) -> str:
        """The log, what is skipped of it, the rules and the version: settled answers of the same ones never differ."""
        found = hashlib.sha256(f"{version('kuelog')} {RULES}".encode())
        for name, entries in sorted(self._log.items()):
            for entry in entries if name == CONTROL else entries[:1]:
                found.update(f"{name} {len(entry.data)} ".encode() + entry.data)
        return found.hexdigest()[:16]

    @property
    def tag(self) -> str:
        """What two answers have in common that can't differ: the log, the moment, and the last messages before it."""
        found = hashlib.sha256(f"{self.identity} {self.point.at} {self._text}".encode())
        for name, entries in sorted(self.point.entries.items()):
            found.update(f"{name} {len(entries)} ".encode())
            found.update(entries[-1].data if entries else b"")
        return found.hexdigest()[:32]


def _is_sequence(text: str) -> bool:
    return text.rpartition("/")[2].isdigit()


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
        self._log: Paged | None = None
        """The log as it was read last: what is settled in it need not be read again."""
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="recordings")

    async def ask(self, text: str, question: Callable[[Recorded], T]) -> T:
        """What the question finds at the moment that a text names, or now. Raises what reading the log raises, and `BadTime`."""
        return await self._aside(lambda wait: question(self._recorded(wait, text)))

    async def compare(self, before: str, after: str, question: Callable[[Recorded, Recorded], T]) -> T:
        """What the question finds between two moments; an empty one is now. Raises what `ask` raises."""
        return await self._aside(lambda wait: question(self._recorded(wait, before), self._recorded(wait, after)))

    def close(self) -> None:
        """Begin nothing more."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _aside(self, asked: Callable[[Waits], T]) -> T:
        loop = asyncio.get_running_loop()
        wait = Waits(lambda what: asyncio.run_coroutine_threadsafe(what, loop).result())
        return await loop.run_in_executor(self._thread, lambda: asked(wait))

    def _recorded(self, wait: Waits, text: str) -> Recorded:
        known = self._log
        if text and known is not None and wait(_end(self._bus, CONTROL)) == len(known[CONTROL]):
            found = self._at(known, text)
            if found is not None and found.settled:
                return found
        self._log = open_everything(wait, self._bus, self._archive)
        return Recorded(point_at(self._log, text), text, self._log, self._worlds)

    def _at(self, log: Paged, text: str) -> Recorded | None:
        try:
            return Recorded(point_at(log, text), text, log, self._worlds)
        except NotOnTheLog:
            return None


async def _end(bus: Bus, name: str) -> int:
    return await end_of(await bus.stream(name))
