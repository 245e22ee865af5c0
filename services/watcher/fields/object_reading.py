"""An object in its typed form, and what every object says of itself."""

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from events.api.labels import RESOURCE_IN_USE
from events.api.meta import ObjectMeta
from events.json_object import JsonMapping
from events.timestamp import parse_timestamp
from services.watcher.fields.problems import Refused, problem

T = TypeVar("T")


def read(value: JsonMapping, kind: type[T]) -> T:
    """An object in its typed form. Raises `Refused` naming the field that does not fit."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as bad:
        message, _, where = str(bad).partition(" - at `")
        raise Refused([problem(where.rstrip("`").removeprefix("$.") or "the object", message)]) from bad


def is_held(meta: ObjectMeta) -> bool:
    """Whether an object bears Kueue's finalizer."""
    return RESOURCE_IN_USE in (meta.finalizers or ())


def created_at(meta: ObjectMeta) -> int:
    """When the object was created; 0 when it does not say."""
    return parse_timestamp(meta.creation_timestamp) if meta.creation_timestamp else 0


def annotated(
    meta: ObjectMeta, name: str, read_as: Callable[[str], T], default: Any, instead: str = "e.g. 10m or a number"
) -> Any:
    """What an annotation says, or the default where there is none. Raises `Refused`."""
    text = (meta.annotations or {}).get(name)
    if text is None:
        return default
    try:
        return read_as(text)
    except ValueError as bad:
        raise Refused([problem(f"metadata.annotations[{name}]", f"{text!r} can't be read", instead)]) from bad
