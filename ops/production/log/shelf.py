"""Saved worlds and views on the bus: a stream of its own, in which each part of a saved one replaces the part before it.

Two places of each key take turns, so that one of them is whole at any moment; a label that is written last says what the parts
have to add up to. Nothing rests on it: what is lost or torn here is folded from the log.
"""

import base64
import hashlib
import zlib
from collections.abc import Mapping

import msgspec
from nats.aio.client import Client

from ops.production.log.cancellable import cancellable
from ops.production.log.connection import is_answered
from ops.production.log.generations import NO_MESSAGE, NOT_THERE, as_answer, asked, decoded
from ops.production.log.refusals import UNANSWERED, refusal, unanswered
from services.runtime.log_errors import LogUnavailable
from services.runtime.shelf_port import Kept
from services.watcher.saved_view import KEY

STREAM = "SNAPSHOTS"
WATCHER = KEY
"""The key of the watcher's view."""
_PART = 512 << 10
_MOST = 2 << 30
"""No saved world that is unpacked may be larger: who sends us more wants to fill our memory."""
_PLACES = ("a", "b")
_DEADLINE_S = 10.0


def rooms_of(key: str) -> tuple[str, ...]:
    """The subjects under which a key is saved: each part, and the label, of each of its two places."""
    return tuple(f"kuelog.snapshots.{key}.{place}.*" for place in _PLACES)


class _Label(msgspec.Struct, frozen=True, kw_only=True):
    number: int
    parts: int
    kept: Kept


class _Stored(msgspec.Struct, frozen=True):
    data: str = ""


class _Error(msgspec.Struct, frozen=True):
    err_code: int = 0
    description: str = ""


class _Found(msgspec.Struct, frozen=True):
    message: _Stored = _Stored()
    error: _Error | None = None


class _Ack(msgspec.Struct, frozen=True):
    error: _Error | None = None


class BusShelf:
    """The shelf on a bus."""

    def __init__(self, client: Client, *, replicas: int, max_bytes: int) -> None:
        self._client, self._replicas, self._max_bytes = client, replicas, max_bytes

    async def prepare(self) -> None:
        """Create the stream if it is not there. Raises `LogUnavailable`."""
        info = await asked(self._client, f"STREAM.INFO.{STREAM}", {})
        if info.get("error") is None:
            return
        config = {
            "name": STREAM,
            "subjects": ["kuelog.snapshots.>"],
            "storage": "file",
            "retention": "limits",
            "discard": "new",
            "max_msgs_per_subject": 1,
            "max_bytes": self._max_bytes,
            "num_replicas": self._replicas,
        }
        made = await asked(self._client, f"STREAM.CREATE.{STREAM}", config)
        if made.get("error") is not None:
            raise refusal(STREAM, made["error"])

    async def put(self, key: str, data: bytes, *, upto: Mapping[str, int], rules: str) -> None:
        """Keep one more, in place of the older of the two. Raises `LogUnavailable`."""
        there = await self._labels(key)
        older = min(_PLACES, key=lambda place: there[place].number if place in there else 0)
        packed = zlib.compress(data, 1)
        parts = [packed[i : i + _PART] for i in range(0, len(packed), _PART)]
        for number, part in enumerate(parts):
            await self._store(f"kuelog.snapshots.{key}.{older}.{number}", part)
        kept = Kept(key=key, upto=dict(upto), rules=rules, sha256=hashlib.sha256(data).hexdigest())
        number = max((one.number for one in there.values()), default=0) + 1
        label = _Label(number=number, parts=len(parts), kept=kept)
        await self._store(f"kuelog.snapshots.{key}.{older}.label", msgspec.json.encode(label, order="deterministic"))

    async def labels(self, key: str) -> list[Kept]:
        """What is kept, the newest first, without its content. Raises `LogUnavailable`."""
        there = (await self._labels(key)).values()
        return [one.kept for one in sorted(there, key=lambda one: one.number, reverse=True)]

    async def take(self, label: Kept) -> bytes | None:
        """The content of what a label names; None when it is not whole. Raises `LogUnavailable`."""
        for place, one in (await self._labels(label.key)).items():
            if one.kept != label:
                continue
            parts = [await self._last(f"kuelog.snapshots.{label.key}.{place}.{i}") for i in range(one.parts)]
            data = _unpacked(b"".join(part or b"" for part in parts))
            return data if hashlib.sha256(data).hexdigest() == label.sha256 else None
        return None

    async def _labels(self, key: str) -> dict[str, _Label]:
        found: dict[str, _Label] = {}
        for place in _PLACES:
            data = await self._last(f"kuelog.snapshots.{key}.{place}.label")
            try:
                found |= {place: msgspec.json.decode(data, type=_Label)} if data else {}
            except msgspec.MsgspecError:
                continue
        return {place: one for place, one in found.items() if one.kept.key == key}

    async def _last(self, subject: str) -> bytes | None:
        answer = await asked(self._client, f"STREAM.MSG.GET.{STREAM}", {"last_by_subj": subject})
        found = as_answer(STREAM, answer, _Found)
        if found.error is None:
            return _part(found.message.data)
        if found.error.err_code in (NO_MESSAGE, NOT_THERE):
            return None
        raise LogUnavailable(stream=STREAM, problem=found.error.description)

    async def _store(self, subject: str, data: bytes) -> None:
        try:
            reply = await cancellable(self._client.request(subject, data, timeout=_DEADLINE_S))
        except UNANSWERED as problem:
            raise unanswered(self._client, subject, STREAM, problem) from problem
        is_answered(self._client, subject)
        ack = decoded(STREAM, reply.data, _Ack)
        if ack.error is not None:
            raise refusal(STREAM, msgspec.to_builtins(ack.error))


def _part(text: str) -> bytes:
    """A part as it was stored; nothing when it can't be read, so that what it belongs to is not whole."""
    try:
        return base64.b64decode(text)
    except ValueError:
        return b""


def _unpacked(packed: bytes) -> bytes:
    """What was packed; nothing when it is no whole."""
    unpacking = zlib.decompressobj()
    try:
        data = unpacking.decompress(packed, _MOST)
    except zlib.error:
        return b""
    return data if unpacking.eof else b""


class MemoryShelf:
    """The shelf's twin in memory."""

    def __init__(self) -> None:
        self.kept: dict[str, list[Kept]] = {}

    async def prepare(self) -> None:
        """Nothing to prepare."""

    async def put(self, key: str, data: bytes, *, upto: Mapping[str, int], rules: str) -> None:
        """Keep one more, in place of the older of the two."""
        one = Kept(key=key, upto=dict(upto), rules=rules, sha256=hashlib.sha256(data).hexdigest(), data=data)
        self.kept[key] = [one, *self.kept.get(key, [])[:1]]

    async def labels(self, key: str) -> list[Kept]:
        """What is kept, the newest first."""
        return list(self.kept.get(key, []))

    async def take(self, label: Kept) -> bytes | None:
        """The content of what a label names."""
        return label.data
