"""An object without one of its fields, so that the rest of it can be looked at, too."""

import re

from events.json_object import JsonObject, is_object

_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]|\[([^\]]+)\]")


def without_field(value: JsonObject, path: str) -> JsonObject | None:
    """A copy without the field at a path such as `spec.groups[0].name`; None where there is no such field."""
    steps: list[str | int] = [int(index) if index else name or key for name, index, key in _STEP.findall(path)]
    found = _without(value, steps) if steps else None
    return found if is_object(found) else None


def _without(part: object, steps: list[str | int]) -> object:
    """The part without what the steps lead to; None where they lead nowhere."""
    step, rest = steps[0], steps[1:]
    if isinstance(part, list) and isinstance(step, int) and step < len(part):
        items: list[object] = list(part)
        inner = _without(items[step], rest) if rest else None
        if rest and inner is None:
            return None
        return [*items[:step], *([inner] if rest else []), *items[step + 1 :]]
    if is_object(part) and isinstance(step, str) and step in part:
        if not rest:
            return {name: one for name, one in part.items() if name != step}
        inner = _without(part[step], rest)
        return {**part, step: inner} if inner is not None else None
    return None
