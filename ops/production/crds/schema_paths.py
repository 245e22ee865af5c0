"""Where a field stands in a definition's schema."""

from collections.abc import Callable

from events.json_object import JsonObject


def changed_at(schema: JsonObject, path: str, change: Callable[[JsonObject], JsonObject]) -> JsonObject:
    """A schema with what a field is described by changed; in its path `[]` are the entries of a list, `{}` the values of a map."""
    return _changed(schema, path.split("."), change)


def _changed(schema: JsonObject, steps: list[str], change: Callable[[JsonObject], JsonObject]) -> JsonObject:
    if not steps:
        return change(schema)
    name = steps[0].rstrip("[]{}")
    node = schema["properties"][name]
    inside = {"[]": "items", "{}": "additionalProperties"}.get(steps[0][-2:])
    if inside is None:
        node = _changed(node, steps[1:], change)
    else:
        node = {**node, inside: _changed(node[inside], steps[1:], change)}
    return {**schema, "properties": {**schema["properties"], name: node}}
