"""Facts on their way to the log, in order and in batches: those that come while a batch is being stored go with the next."""

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

import structlog

from services.runtime.clock_port import Clock
from services.runtime.log_errors import LogUnavailable
from services.runtime.log_port import Message, Stream

log = structlog.get_logger()

_WINDOW = 256
_MOST = 4096
_RETRY_MS = 500


class OutboxMessage(NamedTuple):
    """A message, and the key of the object it is about."""

    about: str
    message: Message


class Outbox:
    """Stores facts however long it takes: they are kept and retried while the bus is unavailable.

    A batch holds no two messages about the same object: when the bus takes only part of a batch, the rest comes later, and
    facts about one object must not change their order.
    """

    def __init__(self, stream: Stream, clock: Clock) -> None:
        self._stream, self._clock = stream, clock
        self._letters: deque[OutboxMessage] = deque()
        self._put = self._stored = 0
        self._news, self._moved = asyncio.Event(), asyncio.Event()

    async def put(self, letters: Iterable[OutboxMessage]) -> None:
        """Have them stored after all that was put before; waits while more than `_MOST` are on their way."""
        before = len(self._letters)
        self._letters.extend(letters)
        self._put += len(self._letters) - before
        self._news.set()
        while len(self._letters) > _MOST:
            await self._next_move()

    async def stored(self) -> None:
        """Return when all that was put so far is stored."""
        end = self._put
        while self._stored < end:
            await self._next_move()

    async def run(self) -> None:
        """Store until cancelled."""
        while True:
            while not self._letters:
                self._news.clear()
                await self._news.wait()
            batch = self._batch()
            await self._store(batch)
            self._stored += len(batch)
            self._moved.set()

    async def _next_move(self) -> None:
        self._moved.clear()
        await self._moved.wait()

    def _batch(self) -> list[Message]:
        batch: dict[str, Message] = {}
        while self._letters and len(batch) < _WINDOW and self._letters[0].about not in batch:
            letter = self._letters.popleft()
            batch[letter.about] = letter.message
        return list(batch.values())

    async def _store(self, batch: list[Message]) -> None:
        while True:
            try:
                await self._stream.publish(batch)
            except LogUnavailable as problem:
                log.warning("log unavailable", problem=str(problem), facts=len(batch))
                await self._clock.sleep(_RETRY_MS)
            else:
                log.debug("facts reported", facts=len(batch))
                return
