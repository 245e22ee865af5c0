"""Giving a bus back what it has lost of a stream: the same messages at the same sequences, by whoever has read them.

Every process that knows them does so, and each message is stored on the condition that the stream ends right before it: whoever
comes second finds it there. Where something else stands by then the log is not the one that was read here.
"""

import asyncio

import structlog

from ops.production.log.jetstream.pull import STORED
from ops.production.log.kept_tail import KeptTail
from services.runtime.clock_port import Clock
from services.runtime.log_errors import LogGap, LogMovedOn, LogUnavailable, TailLost
from services.runtime.log_port import Head, Stream

log = structlog.get_logger()

_RETRY_MS = 500
_PATIENCE = 20
"""So many times it is looked whether others bring back what is not known here, or may not be stored from here."""


class GivingBack:
    """One stream, and what this process knows of its end."""

    def __init__(
        self, stream: Stream, tail: KeptTail, clock: Clock, problems: dict[str, str], given_back: dict[str, int]
    ) -> None:
        self._stream, self._tail, self._clock = stream, tail, clock
        self._problems, self._given_back = problems, given_back
        self.seen_to = 0
        """The connection to the bus after which it was looked whether anything is missing."""
        self._one_at_a_time = asyncio.Lock()

    async def back(self, read: int = 0) -> None:
        """Return when all stands there again that is known here, up to `read` at least. Raises `TailLost`."""
        async with self._one_at_a_time:
            key, left, ended = f"{self._stream.name} end", _PATIENCE, -1
            try:
                while True:
                    # Before the end is asked for: what is read while the answer is on its way may stand behind that end.
                    wanted = max(read, self._tail.end)
                    head = await self._head()
                    if head.sequence >= wanted:
                        await self._compare(head, wanted)
                        return
                    await self._compare(head, head.sequence)
                    self._problems[key] = _TAIL_LOST.format(self._stream.name, head.sequence, wanted)
                    left, ended = (left if head.sequence == ended else _PATIENCE), head.sequence
                    if await self._store_next(head):
                        continue
                    left -= 1
                    if not left:
                        raise TailLost(stream=self._stream.name, read=wanted, found=head.sequence)
                    await self._clock.sleep(_RETRY_MS)
            finally:
                self._problems.pop(key, None)

    async def unread(self) -> bool:
        """Store again what was stored from here and not read here, for it may be lost, too; what is not is known by its id.

        At which sequences it stood is not known here: whoever has read it, or what stood before it, has to be first. False where the
        bus did not take it: what it lacks when it answers again has to be looked at anew.
        """
        try:
            await self._stream.publish(self._tail.unread)
        except LogUnavailable:
            await self._clock.sleep(_RETRY_MS)
            return False
        return True

    async def _store_next(self, head: Head) -> bool:
        """Whether the message behind the end stands there now, by us or by somebody else."""
        entry = self._tail.of(head.sequence + 1)
        if entry is None:
            return False
        try:
            await self._stream.append(
                entry.subject,
                entry.data,
                message_id=entry.message_id,
                base=head.sequence,
                # What counts of its time rests on when the bus had it first.
                headers={STORED: str(entry.stored)} if entry.stored else None,
            )
        except LogMovedOn:
            return True
        except (LogUnavailable, TailLost) as problem:
            log.warning("not given back yet", stream=entry.stream, sequence=entry.sequence, problem=str(problem))
            return False
        self._given_back[entry.stream] = self._given_back.get(entry.stream, 0) + 1
        log.error("a lost message was stored again", stream=entry.stream, sequence=entry.sequence)
        return True

    async def _compare(self, head: Head, sequence: int) -> None:
        """What stands there is what was read there, as far as that is still known. Raises `TailLost`."""
        known = self._tail.of(sequence)
        if known is None:
            return
        try:
            found = await self._asked(sequence)
        except LogGap:
            return  # It was lost again, or rolled away meanwhile.
        if found != known.data:
            problem = f"holds another message at sequence {sequence} than was read here"
            raise TailLost(stream=self._stream.name, read=self._tail.end, found=head.sequence, problem=problem)

    async def _head(self) -> Head:
        while True:
            try:
                return await self._stream.last()
            except LogUnavailable:
                await self._clock.sleep(_RETRY_MS)

    async def _asked(self, sequence: int) -> bytes:
        while True:
            try:
                return (await self._stream.get(sequence)).data
            except LogUnavailable:
                await self._clock.sleep(_RETRY_MS)


_TAIL_LOST = (
    "LogRegressed: {} has lost its tail: it ends at {}, and was read up to {}. What was read is being stored again"
)
