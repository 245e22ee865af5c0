"""The fields of built-in kinds, as the official client knows them."""

import re
from functools import cache
from typing import Any

import msgspec
from kubernetes.aio.client import models

from ops.sandbox.embedded_cluster.kinds import ApiKind

_OTHER_NAMES = {"events": "CoreV1Event"}
_PART = re.compile(r"(?:List\[|Dict\[str, )*([^\[\]]+)\]*")
_PLAIN = {
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "str": {"type": "string"},
    "bool": {"type": "boolean"},
    "datetime": {"type": "string", "format": "date-time"},
}
_ORIGIN = "io.k8s.api."


class Field(msgspec.Struct, frozen=True):
    """One field of a type: what is in it, in the client's words, and what it means."""

    type: str
    description: str

    @property
    def inner(self) -> str:
        """The type of the field, or of what is in its list or map."""
        found = _PART.fullmatch(self.type)
        return found.group(1) if found is not None else self.type


def type_of(kind: ApiKind) -> str:
    """The client's type of a built-in kind; empty where it has none."""
    name = _OTHER_NAMES.get(kind.key, f"V{kind.version.removeprefix('v')}{kind.kind}")
    return name if kind.schema is None and fields_of(name) else ""


@cache
def fields_of(type_name: str) -> dict[str, Field]:
    """The fields of a type by their names in JSON; none of what is no type of Kubernetes."""
    model: Any = getattr(models, type_name, None) if type_name[:1].isupper() else None
    if model is None:
        return {}
    told = {field.serialization_alias or name: field.description or "" for name, field in model.model_fields.items()}
    names = model.attribute_map
    return {names[own]: Field(kind, told.get(names[own], "")) for own, kind in model.openapi_types.items()}


def schemas_of(type_name: str, found: dict[str, Any] | None = None) -> dict[str, Any]:
    """The OpenAPI schemas of a type and of all that is in it, by the names that they refer to each other by."""
    found = {} if found is None else found
    if _ORIGIN + type_name in found:
        return found
    properties: dict[str, Any] = {}
    found[_ORIGIN + type_name] = {"type": "object", "properties": properties}
    for name, field in fields_of(type_name).items():
        properties[name] = {**_schema(field.type), "description": field.description}
        if fields_of(field.inner):
            schemas_of(field.inner, found)
    return found


def schema_name(type_name: str) -> str:
    """What the schema of a type is called."""
    return _ORIGIN + type_name


def _schema(told: str) -> dict[str, Any]:
    if told.startswith("List["):
        return {"type": "array", "items": _schema(told.removeprefix("List[")[:-1])}
    if told.startswith("Dict[str, "):
        return {"type": "object", "additionalProperties": _schema(told.removeprefix("Dict[str, ")[:-1])}
    if told in _PLAIN:
        return dict(_PLAIN[told])
    return {"allOf": [{"$ref": f"#/components/schemas/{_ORIGIN}{told}"}]} if fields_of(told) else {"type": "object"}
