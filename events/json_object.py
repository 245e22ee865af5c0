"""Objects as they come from JSON, before anybody has read them, and how fields of theirs are read.

A reader goes down a path of fields and holds to the type that it promises, whatever is there: where nothing is, or something
else, its answer is empty.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

JsonObject = dict[str, Any]
"""An object that is being made or changed."""
JsonMapping = Mapping[str, Any]
"""An object that is only read."""


def is_object(value: object) -> TypeGuard[JsonObject]:
    """Whether a value from JSON is an object."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[Any] | tuple[Any, ...]]:
    """Whether a value from JSON is an array."""
    return isinstance(value, (list, tuple))


def object_at(value: JsonMapping | None, *path: str) -> JsonMapping:
    """The object that fields lead to, e.g. `object_at(pod, "metadata", "labels")`; an empty one where none is."""
    for field in path:
        value = value.get(field) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def array_at(value: JsonMapping | None, *path: str) -> Sequence[Any]:
    """The array that fields lead to; an empty one where none is."""
    found: Any = value
    for field in path:
        inner: JsonMapping | None = found
        found = inner.get(field) if isinstance(inner, dict) else None
    items: Sequence[Any] | None = found
    return items if isinstance(items, (list, tuple)) else ()


def objects_at(value: JsonMapping | None, *path: str) -> list[JsonMapping]:
    """The objects of an array; an empty one stands for each that is something else, so that all keep their places."""
    found: Sequence[JsonMapping] = array_at(value, *path)
    return [one if isinstance(one, dict) else {} for one in found]
