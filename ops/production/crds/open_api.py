"""A structural OpenAPI schema from a typed API struct, as CustomResourceDefinitions need it."""

import msgspec

from events.json_object import JsonObject

OPEN: JsonObject = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
"""An object of which nothing is dropped."""
_FOREIGN = ("PodTemplate", "ObjectMeta")
"""What Kubernetes itself describes: kept as it comes."""
_NUMBERS = {"string", "integer", "number"}


def open_api(struct: type) -> JsonObject:
    """The schema of a struct, with every reference in its place."""
    components: JsonObject
    _, components = msgspec.json.schema_components([struct])
    return _inlined(components[struct.__name__], components)


def _inlined(schema: JsonObject, components: JsonObject) -> JsonObject:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return dict(OPEN) if name in _FOREIGN else _inlined(components[name], components)
    if "anyOf" in schema:
        return _any_of(schema, components)
    found = {name: value for name, value in schema.items() if name not in ("title", "default") and value != []}
    if not found:
        return {"x-kubernetes-preserve-unknown-fields": True}
    if "enum" in found:
        return {"type": "string", **found}
    if "properties" in found:
        found["properties"] = {
            name: {**_inlined(value, components), **_default(value)} for name, value in schema["properties"].items()
        }
    for name in ("additionalProperties", "items"):
        if isinstance(found.get(name), dict):
            found[name] = _inlined(found[name], components)
    return found


def _default(schema: JsonObject) -> JsonObject:
    """Defaults that say something: not the empty text that stands for nothing."""
    value = schema.get("default")
    return {"default": value} if isinstance(value, str | bool | int) and value != "" else {}


def _any_of(schema: JsonObject, components: JsonObject) -> JsonObject:
    options = [one for one in schema["anyOf"] if one.get("type") != "null"]
    kinds = {one.get("type") for one in options}
    if len(kinds) > 1 and kinds <= _NUMBERS:
        found: JsonObject = {"x-kubernetes-int-or-string": True}
    else:
        bounds = {name: value for name, value in schema.items() if name in ("maxItems", "minItems")}
        found = _inlined({**bounds, **options[0]}, components)
    # A closed list that does not hold null refuses it, whatever `nullable` says.
    may_be_null = len(options) < len(schema["anyOf"]) and "enum" not in found
    return {**found, "nullable": True} if may_be_null else found
