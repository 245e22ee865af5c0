"""Paths through plain JSON: what is at one, and the object with something else there."""

import re
from functools import lru_cache
from typing import Any

from events.json_object import JsonMapping, JsonObject, is_array, is_object, objects_at

Location = tuple[str | int, ...]
"""One exact place below an object."""

_TYPED = re.compile(r"(\w+)\[(\w+)\]")


class FieldBroken(Exception):
    """A field of an object can't be understood, and what to write instead."""

    def __init__(self, field: str, message: str, instead: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field, self.message, self.instead = field, message, instead


def locate(value: Any, path: str) -> list[Location]:
    """The places that a path leads to, in order; those that are not there are left out."""
    fields = _fields(path)
    if fields is not None:
        return [fields] if get(value, fields) is not None else []
    found: list[Location] = [()]
    for step in path.split(".") if path else ():
        found = [place for one in found for place in _steps(get(value, one), step, one)]
    return found


def get(value: Any, location: Location) -> Any:
    """What is at a place; None when nothing is."""
    for step in location:
        if isinstance(step, str):
            fields: JsonMapping | None = value
            value = fields.get(step) if isinstance(fields, dict) else None
        else:
            items: list[Any] | None = value
            value = items[step] if isinstance(items, list) and step < len(items) else None
    return value


def look(value: Any, path: str) -> Any:
    """What a path leads to first; None when it leads nowhere."""
    fields = _fields(path)
    if fields is not None:
        return get(value, fields)
    places = locate(value, path)
    return get(value, places[0]) if places else None


def put(value: Any, location: Location, new: Any) -> Any:
    """The value with something else at a place; None takes it away. What is on the way there is made."""
    if not location:
        return new
    step, rest = location[0], location[1:]
    if isinstance(step, int):
        items = list(value) if is_array(value) else []
        items.extend({} for _ in range(step + 1 - len(items)))
        items[step] = put(items[step], rest, new)
        return items
    fields = dict(value) if is_object(value) else {}
    if not rest and new is None:
        fields.pop(step, None)
    else:
        fields[step] = put(fields.get(step), rest, new)
    return fields


def whole(value: Any, path: str, default: int, at: Location = ()) -> int:
    """A count at a path. Raises `FieldBroken`."""
    found = get(value, (*at, *path.split(".")))
    if found is None:
        return default
    if isinstance(found, bool) or not isinstance(found, int) or found < 0:
        raise FieldBroken(dotted((*at, *path.split("."))), f"{found!r} is not a whole number of at least 0", "e.g. 1")
    return found


def total(value: Any, path: str) -> int:
    """The sum of the numbers that a path leads to."""
    numbers = (get(value, place) for place in locate(value, path))
    return sum(one for one in numbers if isinstance(one, int))


def dotted(location: Location) -> str:
    """A place as people write it."""
    text = ""
    for step in location:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def difference(before: JsonObject, after: JsonObject) -> JsonObject:
    """The merge patch that leads from one object to another; lists are replaced as a whole."""
    patch: JsonObject = {name: None for name in before if name not in after}
    for name, new in after.items():
        old = before.get(name)
        if is_object(old) and is_object(new):
            inner = difference(old, new)
            if inner:
                patch[name] = inner
        elif old != new or name not in before:
            patch[name] = new
    return patch


@lru_cache(1024)
def _fields(path: str) -> Location | None:
    """The steps of a path from field to field; None for one whose steps have to be looked for, and may lead to many places."""
    steps = tuple(path.split("."))
    return steps if all(step.isidentifier() for step in steps) else None


def _steps(value: Any, step: str, base: Location) -> list[Location]:
    if step == "*":
        if is_array(value):
            return [(*base, index) for index in range(len(value))]
        return [(*base, name) for name in value] if is_object(value) else []
    if step.isdigit() and is_array(value):
        return [(*base, int(step))] if int(step) < len(value) else []
    typed = _TYPED.fullmatch(step) if step.endswith("]") else None
    if typed is not None:
        items = enumerate(objects_at(value, typed[1]))
        return [(*base, typed[1], index) for index, one in items if one.get("type") == typed[2]]
    return [(*base, step)] if get(value, (step,)) is not None else []
