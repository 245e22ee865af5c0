"""The log on NATS JetStream through nats-py, with our own publishing and pulling.

Every rule here answers something measured (reference: log engineering): appends carry the stream-level expected last
sequence and wait for their acknowledgement (§0.3, §0.4); publishing uses an inbox of its own, because the client's
asynchronous publish loses errors (§0.5); reading overlaps its pulls (§1.3).
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import msgspec
import nats
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import ConnectionClosedError, Error, NoRespondersError
from nats.errors import TimeoutError as NatsTimeout
from nats.js.api import DiscardPolicy, RetentionPolicy, StorageType, StreamConfig
from nats.js.errors import APIError, NotFoundError

from ops.log.cancellable import cancellable
from ops.log.pull import PullReader
from services.log_errors import LogFull, LogGap, LogMovedOn, LogUnavailable, UnsafeStream
from services.log_port import Entry, Head, Message, Stream

WRONG_LAST_SEQUENCE = frozenset({10071, 10164})
STORE_FULL = frozenset({10077, 10023, 10047})
_DEADLINE_S = 5.0
_WINDOW = 256
_GIB = 1 << 30


class PublishAck(msgspec.Struct, frozen=True):
    """JetStream's answer to a publish."""

    stream: str = ""
    seq: int = 0
    duplicate: bool = False
    error: dict[str, Any] | None = None


_ack = msgspec.json.Decoder(PublishAck)


class JetStreamStream:
    """One stream of the log on JetStream."""

    def __init__(self, client: Client, name: str) -> None:
        self.name = name
        self._client = client
        self._js = client.jetstream()

    async def append(
        self, subject: str, data: bytes, *, message_id: str, base: int, headers: Mapping[str, str] | None = None
    ) -> int:
        """Store on the condition that the stream ends at `base`; a lost acknowledgement is resolved by reading."""
        sent = {**(headers or {}), "Nats-Msg-Id": message_id, "Nats-Expected-Last-Sequence": str(base)}
        try:
            reply = await cancellable(self._client.request(subject, data, timeout=_DEADLINE_S, headers=sent))
            ack = _ack.decode(reply.data)
        except (NatsTimeout, NoRespondersError, ConnectionClosedError, OSError, Error) as problem:
            return await self._resolve(message_id, base, problem)
        if ack.error is None and not ack.duplicate:
            return ack.seq
        if ack.error is not None and ack.error.get("err_code") in STORE_FULL:
            raise LogFull(stream=self.name)
        if ack.error is None or ack.error.get("err_code") in WRONG_LAST_SEQUENCE:
            # On three servers a repetition is answered as a duplicate, on one as a wrong sequence (§0.1): look.
            return await self._mine_or_moved_on(message_id, base)
        raise LogUnavailable(stream=self.name, problem=str(ack.error.get("description")))

    async def publish(self, messages: Sequence[Message]) -> None:
        """Store messages in order, a window at a time, each acknowledged; repetitions are dropped by their id."""
        for start in range(0, len(messages), _WINDOW):
            window = messages[start : start + _WINDOW]
            acks = await asyncio.gather(*(self._publish(message) for message in window), return_exceptions=True)
            for answer in acks:
                if isinstance(answer, BaseException):
                    raise answer

    async def follow(self, after: int) -> AsyncIterator[list[Entry]]:
        """All behind `after`, then what comes; survives reconnects."""
        reader = PullReader(self._client, self.name)
        position = after
        async for batch in reader.batches(after):
            for entry in batch:
                if entry.sequence != position + 1:
                    raise LogGap(stream=self.name, expected=position + 1, found=entry.sequence)
                position = entry.sequence
            yield batch

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
        try:
            info = await cancellable(self._js.stream_info(self.name))
            if info.state.last_seq == 0:
                return Head()
            entry = await self.get(info.state.last_seq)
        except (NatsTimeout, NoRespondersError, ConnectionClosedError, OSError, APIError) as problem:
            raise LogUnavailable(stream=self.name, problem=str(problem) or type(problem).__name__) from problem
        return Head(sequence=entry.sequence, message_id=entry.message_id, sha256=hashlib.sha256(entry.data).hexdigest())

    async def get(self, sequence: int) -> Entry:
        """One message, from the leader and never from a stale replica."""
        try:
            raw = await cancellable(self._js.get_msg(self.name, seq=sequence))
        except NotFoundError as problem:
            raise LogGap(stream=self.name, expected=sequence, found=0) from problem
        headers = raw.headers or {}
        return Entry(
            stream=self.name,
            sequence=sequence,
            subject=raw.subject or "",
            message_id=headers.get("Nats-Msg-Id", ""),
            data=raw.data or b"",
        )

    async def _publish(self, message: Message) -> None:
        try:
            reply = await cancellable(
                self._client.request(
                    message.subject, message.data, timeout=_DEADLINE_S, headers={"Nats-Msg-Id": message.message_id}
                )
            )
        except (NatsTimeout, NoRespondersError, ConnectionClosedError, OSError, Error) as problem:
            raise LogUnavailable(stream=self.name, problem=str(problem) or type(problem).__name__) from problem
        ack = _ack.decode(reply.data)
        if ack.error is not None:
            if ack.error.get("err_code") in STORE_FULL:
                raise LogFull(stream=self.name)
            raise LogUnavailable(stream=self.name, problem=str(ack.error.get("description")))

    async def _resolve(self, message_id: str, base: int, problem: Exception) -> int:
        """No acknowledgement came: whether the message is there says whether it was stored."""
        try:
            return await self._mine_or_moved_on(message_id, base)
        except LogMovedOn as moved:
            if (await self.last()).sequence == base:
                # Nothing was stored, nor by anyone else: the bus did not take it.
                raise LogUnavailable(stream=self.name, problem=str(problem) or type(problem).__name__) from problem
            raise moved from problem

    async def _mine_or_moved_on(self, message_id: str, base: int) -> int:
        head = await self.last()
        if head.sequence == base + 1 and head.message_id == message_id:
            return head.sequence
        if head.sequence > base:
            entry = await self.get(base + 1)
            if entry.message_id == message_id:
                return entry.sequence
        raise LogMovedOn(stream=self.name, base=base)


class JetStreamBus:
    """A connection to NATS, and the streams on it."""

    def __init__(self, client: Client, *, replicas: int, max_bytes: int) -> None:
        self.client = client
        self._replicas, self._max_bytes = replicas, max_bytes

    async def stream(self, name: str) -> Stream:
        """The stream of that name, created with settings under which a log loses nothing. Raises `UnsafeStream`."""
        js = self.client.jetstream()
        try:
            try:
                info = await cancellable(js.stream_info(name))
            except NotFoundError:
                await cancellable(js.add_stream(self.settings_of(name)))
            else:
                _check_safe(name, info.config)
        except (NatsTimeout, NoRespondersError, ConnectionClosedError, OSError, APIError) as problem:
            raise LogUnavailable(stream=name, problem=str(problem) or type(problem).__name__) from problem
        return JetStreamStream(self.client, name)

    async def close(self) -> None:
        """Close the connection."""
        await self.client.close()

    def settings_of(self, name: str) -> StreamConfig:
        """The settings under which a stream of that name loses nothing."""
        return StreamConfig(
            name=name,
            subjects=[subjects_of(name)],
            storage=StorageType.FILE,
            retention=RetentionPolicy.LIMITS,
            discard=DiscardPolicy.NEW,
            max_bytes=self._max_bytes,
            num_replicas=self._replicas,
            deny_delete=True,
            deny_purge=True,
            allow_direct=False,
            duplicate_window=120,
        )


def subjects_of(name: str) -> str:
    """The subjects that a stream takes in."""
    family, _, place = name.partition("_")
    rooms = {"FACTS": "kuelog.facts.>", "CONTROL": "kuelog.control.>"}
    if family in rooms:
        return rooms[family]
    return f"kuelog.{ {'LOG': 'log', 'DEVICES': 'devices'}.get(family, family.lower()) }.{place}.>"


def _check_safe(name: str, config: StreamConfig) -> None:
    if config.discard != DiscardPolicy.NEW:
        raise UnsafeStream(stream=name, field="discard", found=str(config.discard), wanted="new")
    if config.storage != StorageType.FILE:
        raise UnsafeStream(stream=name, field="storage", found=str(config.storage), wanted="file")
    if not config.deny_delete or not config.deny_purge:
        raise UnsafeStream(stream=name, field="deny_delete and deny_purge", found="off", wanted="on")


async def connect(
    url: str, *, name: str = "kuelog", replicas: int = 1, max_bytes: int = 4 * _GIB, patience: float = 10.0
) -> JetStreamBus:
    """Connect, and reconnect for ever. Raises `LogUnavailable` when the bus does not answer at first."""

    async def ignore(problem: Exception) -> None:
        """The client tells of each lost connection; what matters shows where a request fails."""
        del problem

    try:
        async with asyncio.timeout(patience):
            client = await nats.connect(
                url.split(","),
                name=name,
                max_reconnect_attempts=-1,
                reconnect_time_wait=0.2,
                error_cb=ignore,
                allow_reconnect=True,
            )
    except (TimeoutError, OSError, Error) as problem:
        raise LogUnavailable(stream=url, problem=str(problem) or "no answer") from problem
    return JetStreamBus(client, replicas=replicas, max_bytes=max_bytes)


__all__ = ["JetStreamBus", "JetStreamStream", "Msg", "connect", "subjects_of"]
