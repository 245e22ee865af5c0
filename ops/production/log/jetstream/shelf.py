"""Saved worlds and views on the bus: a stream of its own, in which each part of a saved one replaces the part before it.

Two places of each key take turns, so that one of them is whole at any moment; a label that is written last says what the parts
have to add up to. Nothing rests on it: what is lost or torn here is folded from the log.
"""

import asyncio
import base64
import hashlib
from collections.abc import Iterable, Mapping

import msgspec
from nats.aio.client import Client

from ops.production.log.jetstream.generations import asked
from ops.production.log.jetstream.last_messages import LastMessage, last_message, replace_message
from ops.production.log.jetstream.refusals import refusal
from projections.partitions.homes import FIRST
from services.runtime.log_errors import LogUnavailable
from services.runtime.packed import Packed, packed, unpacked
from services.runtime.shelf_port import ShelfLabel
from services.watcher.saved_view import KEY

STREAM = "SNAPSHOTS"
WATCHER = KEY
"""The key of the watcher's view."""
_COUNTERS = "counters"
_PART = 512 << 10
_PLACES = ("a", "b")
_DEADLINE_S = 10.0


def counters_of(partition: str) -> str:
    """The key of what was counted for metrics of a partition; that of the first is as old as whole logs."""
    return _COUNTERS if partition == FIRST else f"{_COUNTERS}-{partition}"


def rooms_of(key: str) -> tuple[str, ...]:
    """The subjects under which a key is saved: each part, and the label, of each of its two places."""
    return tuple(f"kuelog.snapshots.{key}.{place}.*" for place in _PLACES)


class _Label(msgspec.Struct, frozen=True, kw_only=True):
    number: int
    parts: int
    kept: ShelfLabel


class _Place(msgspec.Struct, frozen=True):
    """One of the two places of a key as it was found."""

    name: str
    label: _Label | None = None
    """What is there; None where nothing is, or nothing that can be read."""
    sequence: int = 0
    """Of the message that holds the label; 0 where there is none."""

    @property
    def number(self) -> int:
        return self.label.number if self.label is not None else 0


class BusShelf:
    """The shelf as messages of a stream of its own on the bus."""

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

    async def put(self, key: str, kept: Packed | Iterable[bytes], *, upto: Mapping[str, int], rules: str) -> None:
        """Keep one more, in place of the older of the two. Raises `LogUnavailable`, also where others have put one there since."""
        there = await self._places(key)
        older = min(there, key=lambda place: place.number)
        if not isinstance(kept, Packed):
            kept = await asyncio.to_thread(packed, kept)
        parts = [kept.deflated[i : i + _PART] for i in range(0, len(kept.deflated), _PART)]
        for number, part in enumerate(parts):
            await self._store(key, older, str(number), part)
        stands_for = ShelfLabel(key=key, upto=dict(upto), rules=rules, sha256=kept.sha256)
        number = max(place.number for place in there) + 1
        label = _Label(number=number, parts=len(parts), kept=stands_for)
        await self._store(key, older, "label", msgspec.json.encode(label, order="deterministic"))

    async def labels(self, key: str) -> list[ShelfLabel]:
        """What is kept, the newest first, without its content. Raises `LogUnavailable`."""
        there = [place.label for place in await self._places(key) if place.label is not None]
        return [one.kept for one in sorted(there, key=lambda one: one.number, reverse=True)]

    async def take(self, label: ShelfLabel) -> bytes | None:
        """The content of what a label names; None when it is not whole. Raises `LogUnavailable`."""
        for place in await self._places(label.key):
            if place.label is None or place.label.kept != label:
                continue
            parts = [await self._last(_subject(label.key, place.name, str(i))) for i in range(place.label.parts)]
            data = unpacked(b"".join(_part(part.data) for part in parts))
            return data if hashlib.sha256(data).hexdigest() == label.sha256 else None
        return None

    async def _places(self, key: str) -> list[_Place]:
        found: list[_Place] = []
        for name in _PLACES:
            stored = await self._last(_subject(key, name, "label"))
            label = _label_in(stored.data)
            found.append(_Place(name, label if label is not None and label.kept.key == key else None, stored.seq))
        return found

    async def _last(self, subject: str) -> LastMessage:
        return await last_message(self._client, STREAM, subject)

    async def _store(self, key: str, place: _Place, part: str, data: bytes) -> None:
        """Store a part, on the condition that the label of its place is the one that was found."""
        subject = _subject(key, place.name, part)
        condition = {
            "Nats-Expected-Last-Subject-Sequence": str(place.sequence),
            "Nats-Expected-Last-Subject-Sequence-Subject": _subject(key, place.name, "label"),
        }
        stored = await replace_message(self._client, STREAM, subject, data, condition=condition, deadline_s=_DEADLINE_S)
        if not stored:
            raise LogUnavailable(stream=STREAM, problem="another has put a saved world there since")


def _subject(key: str, place: str, part: str) -> str:
    return f"kuelog.snapshots.{key}.{place}.{part}"


def _label_in(text: str) -> _Label | None:
    try:
        return msgspec.json.decode(_part(text), type=_Label)
    except msgspec.MsgspecError:
        return None


def _part(text: str) -> bytes:
    """A part as it was stored; nothing when it can't be read, so that what it belongs to is not whole."""
    try:
        return base64.b64decode(text)
    except ValueError:
        return b""


class MemoryShelf:
    """The shelf in memory, for simulations and tests."""

    def __init__(self) -> None:
        self.kept: dict[str, list[ShelfLabel]] = {}

    async def prepare(self) -> None:
        """Nothing to prepare."""

    async def put(self, key: str, kept: Packed | Iterable[bytes], *, upto: Mapping[str, int], rules: str) -> None:
        """Keep one more, in place of the older of the two."""
        data = unpacked(kept.deflated) if isinstance(kept, Packed) else b"".join(kept)
        one = ShelfLabel(key=key, upto=dict(upto), rules=rules, sha256=hashlib.sha256(data).hexdigest(), data=data)
        self.kept[key] = [one, *self.kept.get(key, [])[:1]]

    async def labels(self, key: str) -> list[ShelfLabel]:
        """What is kept, the newest first."""
        return list(self.kept.get(key, []))

    async def take(self, label: ShelfLabel) -> bytes | None:
        """The content of what a label names."""
        return label.data
