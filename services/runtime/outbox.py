"""Facts on their way to the log, in order and in batches: those that come while a batch is being stored go with the next."""

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

import structlog

from events.event import Millis
from services.runtime.clock_port import Clock
from services.runtime.log_errors import LogUnavailable
from services.runtime.log_port import Message, Stream
from services.runtime.tracing import NoTracer, Tracer

log = structlog.get_logger()

_WINDOW = 256
_MOST = 4096
_RETRY_MS = 500


class OutboxMessage(NamedTuple):
    """A message, the key of the object it is about, and the UID of the workload whose trace it belongs to, if it does."""

    about: str
    message: Message
    traced: str = ""


class Outbox:
    """Stores facts however long it takes: they are kept and retried while the bus is unavailable.

    A batch holds no two messages about the same object: when the bus takes only part of a batch, the rest comes later, and
    facts about one object must not change their order.
    """

    def __init__(self, stream: Stream, clock: Clock, tracer: Tracer | None = None) -> None:
        self._stream, self._clock, self._tracer = stream, clock, tracer or NoTracer()
        self._letters: deque[OutboxMessage] = deque()
        self._since: deque[tuple[int, Millis]] = deque()
        """Up to which number messages were put at which time; the first is the oldest that is not stored."""
        self._put = self._stored = 0
        self._news, self._moved = asyncio.Event(), asyncio.Event()

    async def put(self, letters: Iterable[OutboxMessage]) -> None:
        """Have them stored after all that was put before; waits while more than `_MOST` are on their way."""
        before = len(self._letters)
        self._letters.extend(letters)
        self._put += len(self._letters) - before
        if len(self._letters) > before:
            self._since.append((self._put, self._clock.now()))
        self._news.set()
        while len(self._letters) > _MOST:
            await self._next_move()

    @property
    def waiting(self) -> int:
        """How many messages were put and are not stored yet."""
        return self._put - self._stored

    @property
    def oldest(self) -> Millis | None:
        """When the oldest of them was put; None when all are stored."""
        return self._since[0][1] if self._since else None

    async def stored(self) -> None:
        """Return when all that was put so far is stored."""
        end = self._put
        while self._stored < end:
            await self._next_move()

    async def run(self) -> None:
        """Store on FACTS what has been put in, in batches, until cancelled."""
        while True:
            while not self._letters:
                self._news.clear()
                await self._news.wait()
            batch = self._batch()
            await self._store(batch)
            self._stored += len(batch)
            while self._since and self._since[0][0] <= self._stored:
                self._since.popleft()
            self._moved.set()

    async def _next_move(self) -> None:
        self._moved.clear()
        await self._moved.wait()

    def _batch(self) -> list[OutboxMessage]:
        batch: dict[str, OutboxMessage] = {}
        while self._letters and len(batch) < _WINDOW and self._letters[0].about not in batch:
            letter = self._letters.popleft()
            batch[letter.about] = letter
        return list(batch.values())

    async def _store(self, batch: list[OutboxMessage]) -> None:
        facts = [(one.message, one.traced) for one in batch]
        while True:
            try:
                with self._tracer.facts(self._stream.name, facts) as messages:
                    await self._stream.publish(messages)
            except LogUnavailable as problem:
                log.warning("log unavailable", problem=str(problem), facts=len(batch))
                await self._clock.sleep(_RETRY_MS)
            else:
                log.debug("facts reported", facts=len(batch))
                return
