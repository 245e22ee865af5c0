"""One reading of a stream for all who follow it in a process: each message is fetched once, and all get the same entry.

A watcher and the partitions beside it follow the same facts. Whoever has nothing left reads on for everybody; the others find what
came in what waits for them.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from services.runtime.log_port import Entry

MOST_WAITING = 4096
"""Who has left so many unread reads alone again, so that nothing is kept for whoever stands still."""


class _Follower:
    """Somebody who follows: up to where it was given entries, and those that it has not taken yet."""

    def __init__(self, after: int) -> None:
        self.given = after
        self.waiting: list[Entry] = []

    def take(self) -> list[Entry]:
        """What waits, which waits no more."""
        found, self.waiting = self.waiting, []
        return found


class SharedReading:
    """All who follow one stream; `read` reads all behind a sequence and what comes, and raises what is wrong with the stream."""

    def __init__(self, read: Callable[[int], AsyncGenerator[list[Entry]]]) -> None:
        self._read = read
        self._position = 0
        self._source: AsyncGenerator[list[Entry]] | None = None
        self._together: set[_Follower] = set()
        self._reading = asyncio.Lock()

    async def follow(self, after: int) -> AsyncGenerator[list[Entry]]:
        """All behind a sequence and what comes, in batches; alone until the others are reached. Raises what reading raises."""
        one = _Follower(after)
        if not self._together:
            self._position = after
        if after == self._position:
            self._together.add(one)
        try:
            while True:
                if one.waiting:
                    yield one.take()
                elif one in self._together:
                    if not await self._come(one):
                        return
                else:
                    async with aclosing(self._read(one.given)) as alone:
                        async for batch in alone:
                            one.given = batch[-1].sequence
                            yield batch
                            if self._has_reached(one):
                                break
                        else:
                            return
        finally:
            await self._leave(one)

    def _has_reached(self, one: _Follower) -> bool:
        """Whether it goes on with the others, now that it has read as much; what they read again is not given to it."""
        if not self._together:
            self._position = one.given
        if one.given >= self._position:
            self._together.add(one)
        return one in self._together

    async def _come(self, one: _Follower) -> bool:
        """Return when something waits for this one, read by whoever was first; False when the stream has ended."""
        async with self._reading:
            if one.waiting or one not in self._together:
                return True
            if self._source is None:
                self._source = self._read(self._position)
            try:
                batch = await anext(self._source, None)
            except BaseException:
                # Whoever reads next begins anew where this one has ended, and finds by itself what is wrong.
                self._source = None
                raise
        if batch is None:
            return False
        self._hand_out(batch)
        return True

    def _hand_out(self, batch: list[Entry]) -> None:
        self._position = batch[-1].sequence
        for one in list(self._together):
            one.waiting += batch if one.given < batch[0].sequence else [e for e in batch if e.sequence > one.given]
            one.given = max(one.given, self._position)
            if len(one.waiting) > MOST_WAITING:
                self._together.discard(one)

    async def _leave(self, one: _Follower) -> None:
        self._together.discard(one)
        if not self._together and self._source is not None:
            source, self._source = self._source, None
            await source.aclose()
