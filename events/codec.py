"""Messages to bytes and back: deterministic JSON, and old versions lifted to today's.

An event is written under its tag `<Name>.v<n>`. Adding a field with a default keeps the version; anything else is a
new tag, and `UPCASTS` says how the old one becomes it. Stored bytes are never rewritten.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NoReturn, TypeVar

import msgspec

from events.catalogue import AnyEvent
from events.commit import Commit, Sighting

Plain = dict[str, Any]

UPCASTS: dict[str, Callable[[Plain], Plain]] = {}
"""Old tag to the function that turns the untyped event into the next version, tag included."""

_encoder = msgspec.json.Encoder(order="deterministic")
_sighting = msgspec.json.Decoder(Sighting)
_commit = msgspec.json.Decoder(Commit)
_event: msgspec.json.Decoder[AnyEvent] = msgspec.json.Decoder(AnyEvent)

M = TypeVar("M", Sighting, Commit)

_REMEMBERED = 512
"""So many messages are remembered: in one process every lane reads the same ones, and then holds the same values."""


class NotOurs(Exception):
    """A message on the log that this version can't read. Upgrade, or quarantine it by name."""

    def __init__(self, *, what: str, problem: str) -> None:
        super().__init__(
            f"{what} can't be read: {problem}. It was written by a newer version or is not kuelog's: upgrade, or have "
            "it skipped on record with `kuelog log quarantine`"
        )
        self.what, self.problem = what, problem


def encode(message: Sighting | Commit | AnyEvent) -> bytes:
    """The bytes of a message; the same message gives the same bytes everywhere."""
    return _encoder.encode(message)


@lru_cache(maxsize=_REMEMBERED)
def decode_sighting(data: bytes) -> Sighting:
    """A sighting from its bytes. Raises `NotOurs`."""
    try:
        return _sighting.decode(data)
    except msgspec.MsgspecError as problem:
        return _decode_old(data, Sighting, problem)


@lru_cache(maxsize=_REMEMBERED)
def decode_commit(data: bytes) -> Commit:
    """A commit from its bytes. Raises `NotOurs`."""
    try:
        return _commit.decode(data)
    except msgspec.MsgspecError as problem:
        return _decode_old(data, Commit, problem)


def decode_event(data: bytes) -> AnyEvent:
    """One event from its bytes. Raises `NotOurs`."""
    try:
        return _event.decode(data)
    except msgspec.MsgspecError as problem:
        try:
            return msgspec.convert(upcast(msgspec.json.decode(data)), AnyEvent)
        except msgspec.MsgspecError:
            _refuse("an event", problem)


def upcast(event: Plain) -> Plain:
    """The event under the newest version of its tag; unchanged when it is new enough."""
    while (lift := UPCASTS.get(str(event.get("type", "")))) is not None:
        event = lift(event)
    return event


def _decode_old(data: bytes, kind: type[M], problem: msgspec.MsgspecError) -> M:
    try:
        plain = msgspec.json.decode(data)
        if isinstance(plain, dict):
            if isinstance(plain.get("fact"), dict):
                plain["fact"] = upcast(plain["fact"])
            if isinstance(plain.get("events"), list):
                plain["events"] = [upcast(event) if isinstance(event, dict) else event for event in plain["events"]]
        return msgspec.convert(plain, kind)
    except msgspec.MsgspecError:
        _refuse(f"a {kind.__name__.lower()}", problem)


def _refuse(what: str, problem: Exception) -> NoReturn:
    raise NotOurs(what=what, problem=str(problem)) from problem
