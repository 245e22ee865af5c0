"""The bounds of single fields in a definition's schema, in the words of OpenAPI (services/validation/kinds/definition_bounds.py)."""

from functools import partial

from events.json_object import JsonObject
from ops.production.crds.schema_paths import changed_at
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
        schema = changed_at(schema, path, partial(_bounded, bounds=bounds))
    return schema


def _bounded(schema: JsonObject, bounds: Bounds) -> JsonObject:
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
    return {**schema, **found}
