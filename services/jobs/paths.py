"""Reading and writing plain JSON by paths."""

import re
from collections.abc import Mapping
from typing import Any

from events.json_object import JsonObject

Location = tuple[str | int, ...]
"""One exact place below an object."""

_TYPED = re.compile(r"(\w+)\[(\w+)\]")


class FieldBroken(Exception):
    """A field of a job can't be understood."""

    def __init__(self, field: str, message: str, instead: str = "") -> None:
        super().__init__(f"{field}: {message}")
        self.field, self.message, self.instead = field, message, instead


def locate(value: Any, path: str, base: Location = ()) -> list[Location]:
    """The places that a path leads to, in order; those that are not there are left out."""
    if not base and path.isidentifier():
        return [(path,)] if isinstance(value, dict) and value.get(path) is not None else []
    found: list[Location] = [base]
    for step in path.split(".") if path else ():
        found = [place for one in found for place in _steps(get(value, one), step, one)]
    return found


def get(value: Any, location: Location) -> Any:
    """What is at a place; None when nothing is."""
    for step in location:
        match value:
            case dict():
                value = value.get(step)
            case list() if isinstance(step, int) and step < len(value):
                value = value[step]
            case _:
                return None
    return value


def look(value: Any, path: str) -> Any:
    """What a path leads to first; None when it leads nowhere."""
    places = locate(value, path)
    return get(value, places[0]) if places else None


def put(value: Any, location: Location, new: Any) -> Any:
    """The value with something else at a place; None takes it away. What is on the way there is made."""
    if not location:
        return new
    step, rest = location[0], location[1:]
    if isinstance(step, int):
        items: list[Any] = list(value) if isinstance(value, list) else []
        items.extend({} for _ in range(step + 1 - len(items)))
        items[step] = put(items[step], rest, new)
        return items
    fields: JsonObject = dict(value) if isinstance(value, dict) else {}
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
        if isinstance(old, dict) and isinstance(new, dict):
            inner = difference(old, new)
            if inner:
                patch[name] = inner
        elif old != new or name not in before:
            patch[name] = new
    return patch


def _steps(value: Any, step: str, base: Location) -> list[Location]:
    if step == "*":
        if isinstance(value, list):
            return [(*base, index) for index in range(len(value))]
        return [(*base, name) for name in value] if isinstance(value, Mapping) else []
    if step.isdigit() and isinstance(value, list):
        return [(*base, int(step))] if int(step) < len(value) else []
    typed = _TYPED.fullmatch(step) if step.endswith("]") else None
    if typed is not None:
        items = value.get(typed[1]) if isinstance(value, dict) else None
        if not isinstance(items, list):
            return []
        return [
            (*base, typed[1], index)
            for index, one in enumerate(items)
            if isinstance(one, dict) and one.get("type") == typed[2]
        ]
    return [(*base, step)] if isinstance(value, dict) and value.get(step) is not None else []
