"""What the server says of fields that a kind does not have: refused, warned of or passed over, as the client asks."""

from collections.abc import Iterator
from typing import Any

from ops.sandbox.embedded_cluster.api.built_in_fields import fields_of, type_of
from ops.sandbox.embedded_cluster.failures import bad_request
from ops.sandbox.embedded_cluster.kinds import ApiKind
from ops.sandbox.embedded_cluster.store import Object
from services.validation.conversion.convert import STORED
from services.validation.fields.unknown_fields import unknown_fields as kueue_fields

_META = "V1ObjectMeta"
_WAYS = ("", "Strict", "Warn", "Ignore")


def warnings(kind: ApiKind, value: Object, way: str, before: Object | None = None) -> list[str]:
    """What the client is warned of, but for what was there before. Raises 400 with every unknown field when it is strict."""
    if way not in _WAYS:
        raise bad_request(f"fieldValidation: {way!r} is none of Ignore, Warn, Strict")
    if way not in ("Strict", "Warn"):
        return []
    known = unknown_fields(kind, before) if before is not None else ()
    found = [f'unknown field "{field}"' for field in unknown_fields(kind, value) if field not in known]
    if found and way == "Strict":
        told = f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: strict decoding error: '
        raise bad_request(told + ", ".join(found))
    return found


def unknown_fields(kind: ApiKind, value: Object) -> list[str]:
    """The paths of the fields that the kind does not have."""
    if kind.schema is None:
        known = type_of(kind)
        return list(_of_type(value, known, "")) if known else []
    properties: dict[str, Any] = kind.schema.get("properties") or {}
    whole = {**kind.schema, "properties": {**properties, "apiVersion": {}, "kind": {}, "metadata": {}}}
    found = [*_of_type(value.get("metadata"), _META, "metadata"), *_of_schema(value, whole, "")]
    if kind.api_version == STORED:
        # These schemas let everything through, so that whoever watches can tell of it.
        found += [one.field for one in kueue_fields({**value, "kind": kind.kind})]
    return list(dict.fromkeys(found))


def _of_type(value: Any, type_name: str, path: str) -> Iterator[str]:
    if isinstance(value, list):
        for index, one in enumerate(value):
            yield from _of_type(one, type_name, f"{path}[{index}]")
        return
    if not isinstance(value, dict):
        return
    known = fields_of(type_name)
    for name, inner in value.items():
        below = f"{path}.{name}" if path else name
        if name not in known:
            yield below
        elif known[name].type.startswith("Dict[") and isinstance(inner, dict):
            for key, one in inner.items():
                yield from _of_inner(one, known[name].inner, f"{below}.{key}")
        else:
            yield from _of_inner(inner, known[name].inner, below)


def _of_inner(value: Any, type_name: str, path: str) -> Iterator[str]:
    if fields_of(type_name):
        yield from _of_type(value, type_name, path)


def _of_schema(value: Any, schema: dict[str, Any], path: str) -> Iterator[str]:
    if isinstance(value, list):
        for index, one in enumerate(value):
            yield from _of_schema(one, schema.get("items") or {}, f"{path}[{index}]")
        return
    if not isinstance(value, dict):
        return
    known: dict[str, Any] = schema.get("properties") or {}
    extra = schema.get("additionalProperties")
    closed = known and extra is None and not schema.get("x-kubernetes-preserve-unknown-fields")
    for name, inner in value.items():
        below = f"{path}.{name}" if path else name
        if name in known:
            yield from _of_schema(inner, known[name], below)
        elif isinstance(extra, dict):
            yield from _of_schema(inner, extra, below)
        elif closed:
            yield below
