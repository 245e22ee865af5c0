"""The bounds of single fields in a definition's schema, in the words of OpenAPI (services/validation/kinds/definition_bounds.py)."""

from events.json_object import JsonObject
from services.validation.fields.bounds import Bounds
from services.validation.kinds.definition_bounds import BOUNDS

_SIZES = {
    "string": ("minLength", "maxLength"),
    "array": ("minItems", "maxItems"),
    "object": ("minProperties", "maxProperties"),
    "integer": ("minimum", "maximum"),
}


def with_bounds(kind: str, schema: JsonObject) -> JsonObject:
    """A schema that refuses what goes beyond the bounds of its kind. What it leaves open stays open."""
    for path, bounds in BOUNDS.get(kind, {}).items():
        schema = _bounded(schema, path.split("."), bounds)
    return schema


def _bounded(schema: JsonObject, steps: list[str], bounds: Bounds) -> JsonObject:
    if not steps:
        return {**schema, **_words(schema, bounds)}
    name = steps[0].rstrip("[]{}")
    node = schema["properties"][name]
    inside = {"[]": "items", "{}": "additionalProperties"}.get(steps[0][-2:])
    if inside is None:
        node = _bounded(node, steps[1:], bounds)
    else:
        node = {**node, inside: _bounded(node[inside], steps[1:], bounds)}
    return {**schema, "properties": {**schema["properties"], name: node}}


def _words(schema: JsonObject, bounds: Bounds) -> JsonObject:
    found: JsonObject = {
        word: size
        for word, size in zip(_SIZES[schema["type"]], (bounds.least, bounds.most), strict=True)
        if size is not None
    }
    if bounds.form is not None:
        found["pattern"] = bounds.form.pattern
    if bounds.options:
        found["enum"] = sorted(bounds.options)
    if bounds.once:
        found["x-kubernetes-list-type"] = "set"
    if bounds.needs:
        found["required"] = sorted({*schema.get("required", ()), *bounds.needs})
        # What has to be said has no default, which would say it.
        found["properties"] = {
            name: {word: said for word, said in field.items() if word != "default"} if name in bounds.needs else field
            for name, field in schema["properties"].items()
        }
    return found
