"""Reading a stream fast: an ephemeral ordered consumer whose next pull is on its way before the last one is used up."""

import asyncio
import base64
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress

import msgspec
import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import ConnectionClosedError, Error, NoRespondersError
from nats.errors import TimeoutError as NatsTimeout

from events.event import Millis
from events.json_object import JsonObject
from ops.production.log.jetstream.cancellable import cancellable
from ops.production.log.jetstream.connection import (
    MayNot,
    calling_on_return,
    is_answered,
    is_refused,
    may_not_read,
    reads,
)
from ops.production.log.jetstream.generations import NO_MESSAGE, NOT_THERE, as_answer, asked
from services.runtime.log_errors import LogUnavailable, NotAllowed, TailLost
from services.runtime.log_port import Entry

log = structlog.get_logger()

_BATCH = 1000
_EXPIRES_S = 2.0
_SILENT_S = 3.0
"""A pull that has run out is told of: whoever hears nothing for longer has lost his consumer with the server that had it."""
_RETRY_S = 0.2
_MAY_NOT_S = 5.0
"""How many seconds pass until a reader without the right asks again: rights change seldom."""
_SEQUENCE_TOKEN = 5
_STORED_TOKEN = 7
"""When the message was stored, in nanoseconds since 1970."""
_NANOS_PER_MILLI = 1_000_000
_V2_TOKENS = 11
_MOST_DIGITS = 15
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(-.*)?")
"""As W3C has it, later versions included; anybody who may store a message writes its headers."""


class _Created(msgspec.Struct):
    name: str = ""
    error: JsonObject | None = None


STORED = "Kuelog-Stored"
"""The header that says when a message was stored first, where it was restored from a backup: never later than it was."""


def stored_at(headers: Mapping[str, str] | None, here: Millis) -> Millis:
    """When a message was stored first, given when it was stored here."""
    header = (headers or {}).get(STORED, "")
    return min(int(header), here) if header.isascii() and header.isdecimal() and len(header) <= _MOST_DIGITS else here


def trace_in(headers: Mapping[str, str] | None) -> str:
    """The trace that a message names; empty where it names none, or nothing that is one."""
    found = _TRACEPARENT.fullmatch((headers or {}).get("traceparent", ""))
    return "" if found is None else found.group(1)


class _Stored(msgspec.Struct, frozen=True):
    data: str = ""


class _Found(msgspec.Struct, frozen=True):
    message: _Stored = _Stored()
    error: JsonObject | None = None


class StreamGone(Exception):
    """The stream of the server that was read is not there any more: it was rolled, archived and removed."""


class PullReader:
    """Reads one stream of the server from a sequence on, for ever, in order and without acknowledgements."""

    def __init__(self, client: Client, stream: str, generation: str = "", only: tuple[str, ...] = ()) -> None:
        self._client, self._stream, self._generation, self._only = client, stream, generation or stream, only

    async def batches(self, after: int) -> AsyncIterator[list[Entry]]:
        """Batches of what is stored behind `after`; begins anew by itself after a break. Raises `StreamGone`, `TailLost`.

        Without the right to read it waits until there is one; the connection names what is missing (`unreadable`).
        """
        position = after
        last: Entry | None = None
        while True:
            try:
                await self._still_there(last)
                async for batch in self._session(position):
                    yield batch
                    last = batch[-1]
                    position = last.sequence
            except (MayNot, NotAllowed) as problem:
                if may_not_read(self._client, self._stream, problem.subject):
                    log.warning(
                        "stream can't be read", stream=self._stream, problem=f"it may not publish to {problem.subject}"
                    )
                await asyncio.sleep(_MAY_NOT_S)
            except (NatsTimeout, NoRespondersError, ConnectionClosedError, OSError, Error, LogUnavailable):
                pass  # The connection is coming back by itself; until then there is nothing to read.
            await asyncio.sleep(_RETRY_S)

    async def _still_there(self, read: Entry | None) -> None:
        """What was read last stands there still: a server may come back without what it had not brought to its disk.

        Raises `TailLost`, `StreamGone`, `LogUnavailable`.
        """
        if read is None:
            return
        answer = await asked(self._client, f"STREAM.MSG.GET.{self._generation}", {"seq": read.sequence})
        found = as_answer(self._generation, answer, _Found)
        if found.error is not None:
            if found.error.get("err_code") == NOT_THERE:
                raise StreamGone
            if found.error.get("err_code") != NO_MESSAGE:
                raise LogUnavailable(stream=self._generation, problem=str(found.error.get("description")))
            raise TailLost(stream=self._stream, read=read.sequence, found=read.sequence - 1)
        if base64.b64decode(found.message.data) != read.data:
            raise TailLost(
                stream=self._stream,
                read=read.sequence,
                found=read.sequence,
                problem=f"holds another message at sequence {read.sequence} than was read here",
            )

    async def _session(self, after: int) -> AsyncIterator[list[Entry]]:
        consumer = await self._create(after)
        inbox = self._client.new_inbox()
        arrived: asyncio.Queue[Msg | None] = asyncio.Queue()

        async def take(message: Msg) -> None:
            arrived.put_nowait(message)

        subscription = await self._client.subscribe(inbox, cb=take, pending_msgs_limit=0, pending_bytes_limit=0)
        # The consumer lived in the memory of a server that may have ended: a lost connection ends the session.
        with calling_on_return(self._client, lambda: arrived.put_nowait(None)):
            async for batch in self._pulled(after, consumer, inbox, arrived, subscription):
                yield batch

    async def _pulled(
        self, after: int, consumer: str, inbox: str, arrived: "asyncio.Queue[Msg | None]", subscription: Subscription
    ) -> AsyncIterator[list[Entry]]:
        try:
            subject = f"$JS.API.CONSUMER.MSG.NEXT.{self._generation}.{consumer}"
            pull = msgspec.json.encode({"batch": _BATCH, "expires": int(_EXPIRES_S * 1e9)})
            await self._client.publish(subject, pull, reply=inbox)
            await self._client.publish(subject, pull, reply=inbox)
            position = after
            while True:
                batch, done, lost = await self._gather(arrived, position)
                for _ in range(done):
                    await self._client.publish(subject, pull, reply=inbox)
                if not lost:
                    reads(self._client, self._stream)
                if batch:
                    position = batch[-1].sequence
                    yield batch
                if lost and is_refused(self._client, subject):
                    is_answered(self._client, subject)  # Nobody asks under this consumer's name again.
                    raise MayNot(f"$JS.API.CONSUMER.MSG.NEXT.{self._generation}.*")
                if lost:
                    return
        finally:
            with suppress(ConnectionClosedError):
                await subscription.unsubscribe()

    async def _gather(self, arrived: "asyncio.Queue[Msg | None]", position: int) -> tuple[list[Entry], int, bool]:
        """What has arrived, how many pulls are used up, and whether the session is lost."""
        batch: list[Entry] = []
        used = 0
        try:
            # Not wait_for: before Python 3.12 it can swallow the cancellation that ends this reader.
            async with asyncio.timeout(_SILENT_S):
                message = await arrived.get()
        except TimeoutError:
            return batch, 0, True
        while True:
            if message is None:
                return batch, used, True
            if message.reply.startswith("$JS.ACK."):
                entry = self._entry(message)
                if not self._follows(message, entry, position):
                    # Nothing was lost on the way to here if the first message of all is another one: the stream has a gap.
                    first = self._delivery(message) == 1 and entry.sequence > position
                    return [entry] if first else batch, used, True
                position = entry.sequence
                self._delivered += 1
                self._left -= 1
                if self._left % _BATCH == 0:
                    used += 1
                    self._left += _BATCH
                batch.append(entry)
            else:
                status = (message.headers or {}).get("Status", "")
                if status not in {"404", "408", "100"}:
                    return batch, used, True
                if status != "100":
                    used += 1
                    self._left = 2 * _BATCH
            if arrived.empty() or len(batch) >= 2 * _BATCH:
                return batch, used, False
            message = arrived.get_nowait()

    def _entry(self, message: Msg) -> Entry:
        tokens = message.reply.split(".")
        # $JS.ACK.<stream>.<consumer>.<delivered>.<stream sequence>… ; longer since the account was put in front.
        longer = 2 if len(tokens) >= _V2_TOKENS else 0
        sequence = int(tokens[_SEQUENCE_TOKEN + longer])
        return Entry(
            stream=self._stream,
            sequence=sequence,
            subject=message.subject,
            message_id=(message.headers or {}).get("Nats-Msg-Id", ""),
            data=message.data,
            trace=trace_in(message.headers),
            stored=stored_at(message.headers, int(tokens[_STORED_TOKEN + longer]) // _NANOS_PER_MILLI),
        )

    def _follows(self, message: Msg, entry: Entry, position: int) -> bool:
        """Whether nothing was lost on the way to here before a message: what is filtered is counted by delivery, all else by sequence."""
        if not self._only:
            return entry.sequence == position + 1
        return self._delivery(message) == self._delivered + 1 and entry.sequence > position

    @staticmethod
    def _delivery(message: Msg) -> int:
        """The number of the message among all that its consumer has delivered."""
        tokens = message.reply.split(".")
        return int(tokens[_SEQUENCE_TOKEN + 3 if len(tokens) >= _V2_TOKENS else _SEQUENCE_TOKEN + 1])

    async def _create(self, after: int) -> str:
        self._left, self._delivered = 2 * _BATCH, 0
        config: JsonObject = {
            "stream_name": self._generation,
            "config": {
                "deliver_policy": "by_start_sequence",
                "opt_start_seq": after + 1,
                "ack_policy": "none",
                "replay_policy": "instant",
                "inactive_threshold": int(30e9),
                "mem_storage": True,
                "num_replicas": 1,
            },
        }
        if self._only:
            config["config"]["filter_subjects"] = list(self._only)
        reply = await cancellable(
            self._client.request(
                f"$JS.API.CONSUMER.CREATE.{self._generation}", msgspec.json.encode(config), timeout=_EXPIRES_S
            )
        )
        created = msgspec.json.decode(reply.data, type=_Created)
        if created.error is not None:
            if created.error.get("err_code") == NOT_THERE:
                raise StreamGone
            raise Error(str(created.error.get("description")))
        return created.name
