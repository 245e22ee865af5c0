"""One stream of the log on NATS JetStream, through nats-py, with our own publishing and pulling.

Appends carry the expected last sequence of the whole stream (docs/rules/log.md#expected-sequence) and wait for their
acknowledgement (docs/rules/log.md#acknowledged). Publishing uses an inbox of its own, because the client's asynchronous
publish loses errors (nats.py issue 985); reading overlaps its pulls.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise, takewhile

import msgspec
from nats.js.errors import NotFoundError

from events.event import Millis
from events.json_object import JsonObject
from events.subjects import facts_for
from ops.production.log.jetstream.cancellable import cancellable
from ops.production.log.jetstream.connection import Connection, Publication, is_answered
from ops.production.log.jetstream.generations import Generation, decoded, generations, mark_subject, next_under
from ops.production.log.jetstream.pull import PullReader, StreamGone, stored_at, trace_in
from ops.production.log.jetstream.refusals import DEADLINE_S, UNANSWERED, not_stored, refusal, unavailable
from services.runtime.log_errors import DiskFull, LogGap, LogMovedOn, LogRolled, LogUnavailable, TailLost, UnsafeStream
from services.runtime.log_port import Entry, Head, Message

WRONG_LAST_SEQUENCE = frozenset({10071, 10164})
_WINDOW = 256
_SEAM_S = 0.1
"""How soon we look again for the stream that goes on where one was rolled."""
_REMEMBERED = 20_000
"""Among so many of the last messages of each stream of the server a message is looked for that may have been stored twice."""
_LOOK_S = 30.0


class PublishAck(msgspec.Struct, frozen=True):
    """JetStream's answer to a publish."""

    stream: str = ""
    seq: int = 0
    duplicate: bool = False
    error: JsonObject | None = None


class _ServerTime(msgspec.Struct, frozen=True):
    """The server's time, from its answer to a question about a stream."""

    ts: datetime | None = None


_server_time = msgspec.json.Decoder(_ServerTime)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _millis(moment: datetime) -> Millis:
    return (moment - _EPOCH) // timedelta(milliseconds=1)


class JetStreamStream:
    """One stream of the log on JetStream."""

    def __init__(self, client: Connection, name: str) -> None:
        self.name = name
        self._client = client
        self._js = client.jetstream()
        self._open = name
        """The stream of the server that took in what was appended when we last looked."""
        self._unsure: set[str] = set()
        """Ids of messages that were published together and not all acknowledged: any may be stored."""

    async def append(
        self, subject: str, data: bytes, *, message_id: str, base: int, headers: Mapping[str, str] | None = None
    ) -> int:
        """Store on the condition that the stream ends at `base`; a lost acknowledgement is resolved by reading."""
        sent = {**(headers or {}), "Nats-Msg-Id": message_id, "Nats-Expected-Last-Sequence": str(base)}
        breaks = int(self._client.stats["reconnects"])
        try:
            reply = await cancellable(self._client.request(subject, data, timeout=DEADLINE_S, headers=sent))
            ack = decoded(self.name, reply.data, PublishAck)
        except UNANSWERED as problem:
            return await self._resolve(subject, message_id, base, problem, breaks)
        is_answered(self._client, subject)
        if ack.error is None and not ack.duplicate:
            return ack.seq
        if ack.error is None or ack.error.get("err_code") in WRONG_LAST_SEQUENCE:
            # Neither answer says enough of a repetition (docs/rules/log.md#lost-acknowledgement): look.
            return await self._mine_or_moved_on(message_id, base)
        raise refusal(self.name, ack.error)

    async def publish(self, messages: Sequence[Message]) -> None:
        """Store messages in order, a window at a time, each acknowledged; repetitions are dropped by their id."""
        doubtful = self._unsure.intersection(message.message_id for message in messages)
        stored = await self._stored_already(doubtful) if doubtful else frozenset[str]()
        self._unsure -= stored
        messages = [message for message in messages if message.message_id not in stored]
        for start in range(0, len(messages), _WINDOW):
            window = messages[start : start + _WINDOW]
            try:
                await self._publish(window)
            except BaseException:
                # Whoever publishes all of them again may do so when the server has forgotten what is stored already.
                self._unsure.update(message.message_id for message in messages[: start + len(window)])
                raise

    async def follow(self, after: int, reader: str = "") -> AsyncIterator[list[Entry]]:
        """All behind `after`, then what comes; survives reconnects, and goes over the seams of what was rolled.

        What is left out for a reader must not hide a gap: where the server says that it lacks messages, nothing is left out.
        """
        position = after
        mark = mark_subject(self.name)
        only = (*facts_for(reader), mark) if reader else ()
        while True:
            try:
                holding = await self._holding(position + 1, read=True)
            except LogUnavailable:
                holding = None
            if holding is None:
                await asyncio.sleep(_SEAM_S)
                continue
            try:
                filtered = only if only and await self._is_whole(holding) else ()
                async for batch in PullReader(self._client, self.name, holding, filtered).batches(position):
                    found = list(takewhile(lambda entry: entry.subject != mark, batch))
                    for entry in found:
                        if entry.sequence != position + 1 and not (filtered and entry.sequence > position):
                            raise LogGap(stream=self.name, expected=position + 1, found=entry.sequence)
                        position = entry.sequence
                    if found:
                        yield found
                    if len(found) < len(batch):
                        position = batch[len(found)].sequence - 1
                        break
            except (StreamGone, LogUnavailable):
                await asyncio.sleep(_SEAM_S)

    async def _is_whole(self, generation: str) -> bool:
        """Whether the server lacks no message of one of its streams. Raises `LogUnavailable`."""
        return all(one.whole for one in await self._standing() if one.name == generation)

    async def nothing_for(self, after: int, reader: str) -> int:
        """Up to where nothing behind `after` is for a partition, asked of the stream's leader."""
        standing = await self._standing()
        if not all(one.whole for one in standing):
            return after  # What is missing may have been for it: all is read, and a gap is found.
        end = max((one.last for one in standing), default=0)
        for one in standing:
            if after < one.last:
                asking = [next_under(self._client, one.name, subject, after + 1) for subject in facts_for(reader)]
                # What strayed behind the mark of a rolled one does not belong to the log.
                meant = [found for found in await asyncio.gather(*asking) if 0 < found <= one.last]
                if meant:
                    return min(meant) - 1
        return end

    async def read(self, after: int = 0) -> AsyncIterator[list[Entry]]:
        """All behind `after` up to the end as it is now."""
        end = (await self.last()).sequence
        if end <= after:
            return
        async for batch in self.follow(after):
            inside = [entry for entry in batch if entry.sequence <= end]
            yield inside
            if batch[-1].sequence >= end:
                return

    async def last(self) -> Head:
        """The end of the stream, asked of its leader."""
        copied = False
        try:
            info = await cancellable(self._js.stream_info(self._open))
            copied = info.config.mirror is not None
            first = max(info.config.first_seq or 1, 1)
            listens = not copied and mark_subject(self.name) not in (info.config.subjects or ())
            if listens and info.state.last_seq >= first:
                return _head(await self._get(self._open, info.state.last_seq))
        except NotFoundError:
            pass
        except UNANSWERED as problem:
            raise unavailable(self.name, problem) from problem
        return msgspec.structs.replace(await self._last_over_seams(), copied=copied)

    async def get(self, sequence: int) -> Entry:
        """One message, from the leader and never from a stale replica."""
        asked = self._open
        try:
            entry = await self._get(asked, sequence)
        except NotFoundError:
            holding = await self._holding(sequence)
            try:
                if holding is None:
                    raise LogGap(stream=self.name, expected=sequence, found=0)
                entry = await self._get(holding, sequence)
            except NotFoundError as problem:
                raise LogGap(stream=self.name, expected=sequence, found=0) from problem
        if entry.subject == mark_subject(self.name):
            # It was rolled since we last looked: the message of that sequence is in the stream that goes on.
            holding = await self._holding(sequence)
            if holding in (None, asked):
                raise LogGap(stream=self.name, expected=sequence, found=0)
            self._open = holding or asked
            return await self.get(sequence)
        return entry

    async def _get(self, generation: str, sequence: int) -> Entry:
        try:
            raw = await cancellable(self._js.get_msg(generation, seq=sequence))
        except NotFoundError:
            raise
        except UNANSWERED as problem:
            raise unavailable(self.name, problem) from problem
        headers = raw.headers or {}
        return Entry(
            stream=self.name,
            sequence=sequence,
            subject=raw.subject or "",
            message_id=headers.get("Nats-Msg-Id", ""),
            data=raw.data or b"",
            trace=trace_in(headers),
            stored=stored_at(headers, _millis(raw.time)) if raw.time is not None else 0,
        )

    async def now(self) -> Millis:
        """The time of the server that leads the stream."""
        try:
            time = await self._asked_time() or (await self._asked_time() if await self._standing() else None)
        except (*UNANSWERED, msgspec.MsgspecError) as problem:
            raise unavailable(self.name, problem) from problem
        return _millis(time) if time is not None else 0

    async def _asked_time(self) -> datetime | None:
        reply = await cancellable(self._client.request(f"$JS.API.STREAM.INFO.{self._open}", timeout=DEADLINE_S))
        return _server_time.decode(reply.data).ts

    async def _last_over_seams(self) -> Head:
        """The end of a stream that was rolled a moment ago, or holds nothing yet. Raises `LogUnavailable`."""
        found = await self._standing()
        for one in reversed(found):
            if one.last >= one.first:
                try:
                    return _head(await self._get(one.name, one.last))
                except NotFoundError as problem:
                    # nats-server counts the first message of a stream before it has failed to write it.
                    problem_text = f"it counts message {one.last}, and has not stored it"
                    raise DiskFull(stream=self.name, problem=problem_text) from problem
        return Head(sequence=found[-1].last) if found else Head()

    async def _standing(self) -> list[Generation]:
        """All streams of the server that hold this one, the oldest first."""
        found = await generations(self._client, self.name)
        for before, one in pairwise(found):
            if one.first != before.last + 1:
                raise UnsafeStream(
                    stream=one.name, field="first_seq", found=str(one.first), wanted=f"{before.last + 1}"
                )
        self._open = next((one.name for one in found if one.takes_in), self._open)
        return found

    async def _holding(self, sequence: int, *, read: bool = False) -> str | None:
        """The stream of the server in which a sequence is, or will be; None while none is there to take it in.

        Raises `LogRolled` when what held it is gone, `TailLost` when all before it was read and is not there, `LogUnavailable`.
        """
        found = await self._standing()
        if read and found and found[-1].takes_in and found[-1].last < sequence - 1:
            raise TailLost(stream=self.name, read=sequence - 1, found=found[-1].last)
        if found and sequence < found[0].first:
            raise LogRolled(stream=self.name, expected=sequence, first=found[0].first)
        for one in reversed(found):
            if one.first <= sequence and (one.takes_in or not one.marked or sequence <= one.last):
                return one.name
        return None

    async def _publish(self, window: Sequence[Message]) -> None:
        breaks = int(self._client.stats["reconnects"])
        questions = [
            Publication(one.subject, one.data, {**one.headers, "Nats-Msg-Id": one.message_id}) for one in window
        ]
        try:
            answers = await self._client.answers_to(questions, DEADLINE_S)
        except UNANSWERED as problem:
            answers = [problem]
        for message, answer in zip(window, answers, strict=False):
            if isinstance(answer, Exception):
                await self.last()
                raise not_stored(self._client, message.subject, self.name, answer, breaks) from answer
            is_answered(self._client, message.subject)
            ack = decoded(self.name, answer.data, PublishAck)
            if ack.error is not None:
                raise refusal(self.name, ack.error)
            self._unsure.discard(message.message_id)

    async def _stored_already(self, ids: set[str]) -> frozenset[str]:
        """Which messages are stored: after a roll, and after two minutes, the server does not know their ids any more.

        Raises `LogUnavailable`, also where the stream was removed or has lost its tail meanwhile: it is looked at again then.
        """
        found: set[str] = set()
        try:
            async with asyncio.timeout(_LOOK_S):
                for one in await self._standing():
                    begin = max(one.last - _REMEMBERED, one.first - 1)
                    if begin >= one.stored:
                        continue
                    async for batch in PullReader(self._client, self.name, one.name).batches(begin):
                        found |= ids.intersection(entry.message_id for entry in batch)
                        if batch[-1].sequence >= one.stored:
                            break
        except (StreamGone, TailLost, TimeoutError) as problem:
            why = "what was stored of what is to be told again could not be read"
            raise LogUnavailable(stream=self.name, problem=why) from problem
        return frozenset(found)

    async def _resolve(self, subject: str, message_id: str, base: int, problem: Exception, breaks: int) -> int:
        """No acknowledgement came: whether the message is there says whether it was stored."""
        try:
            return await self._mine_or_moved_on(message_id, base)
        except LogMovedOn as moved:
            if (await self.last()).sequence == base:
                # Nothing was stored, nor by anyone else: the bus did not take it.
                raise not_stored(self._client, subject, self.name, problem, breaks) from problem
            raise moved from problem

    async def _mine_or_moved_on(self, message_id: str, base: int) -> int:
        head = await self.last()
        if head.sequence < base:
            raise TailLost(stream=self.name, read=base, found=head.sequence)
        if head.sequence == base + 1 and head.message_id == message_id:
            return head.sequence
        if head.sequence > base:
            entry = await self.get(base + 1)
            if entry.message_id == message_id:
                return entry.sequence
        raise LogMovedOn(stream=self.name, base=base)


def _head(entry: Entry) -> Head:
    return Head(sequence=entry.sequence, message_id=entry.message_id, sha256=hashlib.sha256(entry.data).hexdigest())
