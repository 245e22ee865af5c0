"""The events between two positions of the log: a browser that reconnects resumes from the log itself."""

import asyncio
from collections.abc import Callable, Mapping

import msgspec

from events.event import Millis
from events.subjects import FACTS
from ops.production.log.streams import is_stream
from ops.production.wiring import Running
from ops.queries.stored import opened
from projections.explanation.about import objects_of
from services.runtime.log_errors import LogGap, LogRegressed, LogUnavailable
from services.runtime.partition.errors import MessageNotOurs

Positions = Mapping[str, int]
MOST = 2000
"""A browser that is more messages behind asks for everything anew."""
EVERY_S = 0.25
"""Seconds between two events of the stream at least."""
_KEPT = 8


class ShownChange(msgspec.Struct, frozen=True, kw_only=True):
    """One event: what happened to which objects, and where it stands."""

    stream: str
    sequence: int
    at: Millis
    what: str
    objects: tuple[str, ...]


class LogChanges:
    """Knows how far a process has folded the log, and reads what lies between two positions of it."""

    def __init__(self, running: Running, now: Callable[[], Positions]) -> None:
        self._running, self._now = running, now
        self._moved = asyncio.Event()
        self._before: Positions = {}
        self._read: dict[tuple[str, str], list[ShownChange]] = {}

    async def run(self) -> None:
        """Look how far the fold has come, for ever."""
        while True:
            found = self._now()
            if found != self._before:
                self._before = found
                moved, self._moved = self._moved, asyncio.Event()
                moved.set()
            await asyncio.sleep(EVERY_S)

    async def moved(self, seen: Positions) -> Positions:
        """How far the fold has come, as soon as that is further than what was seen; never behind an answer that was given."""
        while not (found := self._now()) or found == seen:
            await self._moved.wait()
        return found

    async def between(self, after: Positions, upto: Positions) -> list[ShownChange] | None:
        """All that happened in between, in the order of time; None when it is too much, or on no log that is here."""
        if (
            after.keys() != upto.keys()
            or any(after[name] > upto[name] for name in upto)
            or sum(upto.values()) - sum(after.values()) > MOST
        ):
            return None
        key = format_positions(after), format_positions(upto)
        if key not in self._read:
            try:
                parts = [await self._of(name, after[name], upto[name]) for name in sorted(upto)]
            except (LogGap, LogRegressed, LogUnavailable, MessageNotOurs):
                return None
            found = [one for part in parts for one in part]
            self._read[key] = sorted(found, key=lambda one: (one.at, one.stream != FACTS, one.stream, one.sequence))
            while len(self._read) > _KEPT:
                self._read.pop(next(iter(self._read)))
        return self._read[key]

    async def _of(self, name: str, after: int, upto: int) -> list[ShownChange]:
        found: list[ShownChange] = []
        if after >= upto:
            return found
        stream = await self._running.stream(name)
        async for batch in stream.read(after):
            for entry in batch:
                if entry.sequence > upto:
                    return found
                found += [
                    ShownChange(
                        stream=name,
                        sequence=entry.sequence,
                        at=one.at,
                        what=type(one.event).__name__,
                        objects=objects_of(one.event),
                    )
                    for one in opened(entry, self._running.control)
                ]
        return found


def format_positions(positions: Positions) -> str:
    """Positions as the id of what is sent: `DEVICES_default/3,FACTS/20,LOG_0/17`."""
    return ",".join(f"{name}/{positions[name]}" for name in sorted(positions))


def parse_positions(text: str) -> Positions | None:
    """The positions of such an id; None where it is none."""
    found: dict[str, int] = {}
    for part in text.split(","):
        name, _, number = part.partition("/")
        if not is_stream(name) or not (number.isascii() and number.isdigit()) or len(number) > _DIGITS:
            return None
        found[name] = int(number)
    return found


_DIGITS = 18
