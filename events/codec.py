"""Messages to bytes and back: deterministic JSON, and old versions lifted to today's.

An event is written under its tag `<Name>.v<n>`. Adding a field with a default keeps the version; anything else is a
new tag, and `UPCASTS` says how the old one becomes it. Stored bytes are never rewritten.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from events.catalogue import AnyEvent
from events.commit import Commit, Sighting
from events.json_object import JsonObject, is_array, is_object
from events.shared_specs import sharing

UPCASTS: dict[str, Callable[[JsonObject], JsonObject]] = {}
"""Old tag to the function that turns the untyped event into the next version, tag included."""

_encoder = msgspec.json.Encoder(order="deterministic")
_sighting = msgspec.json.Decoder(Sighting)
_commit = msgspec.json.Decoder(Commit)
_event: msgspec.json.Decoder[AnyEvent] = msgspec.json.Decoder(AnyEvent)

M = TypeVar("M")

_SIGHTINGS, _COMMITS = 512, 128
"""So many messages are remembered: in one process every partition reads the same ones, and then holds the same values.

A commit may hold a hundred decisions, and whoever folds it is hardly ever many of them behind.
"""


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


@lru_cache(maxsize=_SIGHTINGS)
def decode_sighting(data: bytes) -> Sighting:
    """A sighting from its bytes, with values that it shares with others. Raises `NotOurs`."""
    found = _decoded(data, _sighting, Sighting, "a sighting")
    fact = sharing(found.fact)
    return found if fact is found.fact else replace(found, fact=fact)


@lru_cache(maxsize=_COMMITS)
def decode_commit(data: bytes) -> Commit:
    """A commit from its bytes. Raises `NotOurs`."""
    return _decoded(data, _commit, Commit, "a commit")


def decode_event(data: bytes) -> AnyEvent:
    """One event from its bytes. Raises `NotOurs`."""
    return _decoded(data, _event, AnyEvent, "an event")


def upcast(event: JsonObject) -> JsonObject:
    """The event under the newest version of its tag; unchanged when it is new enough."""
    while (lift := UPCASTS.get(str(event.get("type", "")))) is not None:
        event = lift(event)
    return event


def _decoded(data: bytes, decoder: msgspec.json.Decoder[M], kind: Any, what: str) -> M:
    try:
        try:
            return decoder.decode(data)
        except msgspec.MsgspecError as problem:
            return _decode_old(data, kind, problem)
    except Exception as problem:  # noqa: BLE001 - whatever bytes do to a decoder, the answer is that they can't be read
        message = str(problem).partition("\n")[0][:_SHOWN]
        raise NotOurs(what=what, problem=message or type(problem).__name__) from problem


def _decode_old(data: bytes, kind: type[M], problem: msgspec.MsgspecError) -> M:
    plain: object = msgspec.json.decode(data)
    if not is_object(plain):
        raise problem
    lifted: JsonObject = upcast(plain)
    fact, events = lifted.get("fact"), lifted.get("events")
    if is_object(fact):
        lifted["fact"] = upcast(fact)
    if is_array(events):
        lifted["events"] = [upcast(event) if is_object(event) else event for event in events]
    try:
        return msgspec.convert(lifted, kind)
    except msgspec.MsgspecError:
        raise problem from None


_SHOWN = 300
