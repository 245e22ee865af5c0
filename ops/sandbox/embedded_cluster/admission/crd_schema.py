"""Custom resources against their schema: defaults filled in, unknown fields pruned, the rest validated.

Of rules in CEL only our own are known, by what they mean; those of other definitions are not looked at.
"""

from collections.abc import Iterator
from typing import Any

import jsonschema_rs

from ops.production.crds.rules import MEANINGS
from ops.sandbox.embedded_cluster.failures import invalid
from ops.sandbox.embedded_cluster.kinds import ApiKind
from ops.sandbox.embedded_cluster.store import Object


class Schemas:
    """The schemas of all custom kinds, compiled once."""

    def __init__(self) -> None:
        self._compiled: dict[tuple[str, str], jsonschema_rs.Validator] = {}

    def forget(self) -> None:
        """Definitions have changed: compile anew."""
        self._compiled.clear()

    def admit(self, kind: ApiKind, value: Object, before: Object | None = None) -> Object:
        """The object as it may be stored. Raises 422 with every field that breaks the schema or one of its rules."""
        if kind.schema is None:
            return value
        shaped = {**shape(value, kind.schema), "apiVersion": value["apiVersion"], "kind": value["kind"]}
        shaped["metadata"] = value["metadata"]
        found = (kind.key, kind.version)
        validator = self._compiled.get(found)
        if validator is None:
            validator = self._compiled[found] = jsonschema_rs.validator_for(plain_schema(kind.schema))
        causes = [(_field(error), f"Invalid value: {error.message}") for error in _errors(kind, validator, shaped)]
        # As a real one does: rules are only asked of what has the shape that they are about.
        causes = causes or list(_broken(shaped, before, kind.schema, ""))
        if causes:
            raise invalid(kind.kind, value["metadata"]["name"], causes)
        return shaped


def _field(error: jsonschema_rs.ValidationError) -> str:
    """Where it is wrong; of what the object itself lacks, the name of that."""
    path = ".".join(str(part) for part in error.instance_path)
    return path or next(iter(error.message.split('"')[1:2]), "object")


def _errors(kind: ApiKind, validator: jsonschema_rs.Validator, value: Object) -> list[jsonschema_rs.ValidationError]:
    try:
        return list(validator.iter_errors(value))
    except ValueError as problem:
        causes = [("spec", f"Invalid value: it is nested too deeply ({problem})")]
        raise invalid(kind.kind, value["metadata"]["name"], causes) from problem


def _broken(value: Any, before: Any, schema: dict[str, Any], path: str) -> Iterator[tuple[str, str]]:
    """The rules that a value breaks, below and including itself; what an entry of a list was before is not asked by any of ours."""
    for one in schema.get("x-kubernetes-validations") or ():
        means = MEANINGS.get(one["rule"])
        if value is not None and means is not None and not means(value, before):
            yield path, f"Invalid value: {one['message']}"
    if isinstance(value, list) and "items" in schema:
        for index, one in enumerate(value):
            yield from _broken(one, None, schema["items"], f"{path}[{index}]")
    if not isinstance(value, dict):
        return
    old: dict[str, Any] = before if isinstance(before, dict) else {}
    for name, inner in (schema.get("properties") or {}).items():
        if name in value:
            yield from _broken(value[name], old.get(name), inner, f"{path}.{name}" if path else name)


def shape(value: Any, schema: dict[str, Any]) -> Any:
    """Fill in defaults and leave out what the schema does not know."""
    if isinstance(value, list):
        items = schema.get("items")
        return [shape(one, items) for one in value] if items else value
    if not isinstance(value, dict):
        return value
    known: dict[str, Any] = schema.get("properties") or {}
    extra = schema.get("additionalProperties")
    open_ended = schema.get("x-kubernetes-preserve-unknown-fields") or (not known and extra is None)
    result: dict[str, Any] = {}
    for name, field in value.items():
        if name in known:
            if field is not None or known[name].get("nullable"):
                result[name] = shape(field, known[name])
        elif isinstance(extra, dict):
            result[name] = shape(field, extra)
        elif open_ended or extra:
            result[name] = field
    for name, field in known.items():
        if name not in result and "default" in field:
            result[name] = shape(field["default"], field)
    return result


def plain_schema(schema: Any) -> Any:
    """An OpenAPI schema as JSON Schema: Kubernetes' own words taken out, int-or-string spelled out."""
    if isinstance(schema, list):
        return [plain_schema(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("x-kubernetes-int-or-string"):
        return {"type": ["integer", "string", "number"]}
    result: dict[str, Any] = {}
    for name, value in schema.items():
        if name.startswith("x-kubernetes-") or name in ("description", "default", "nullable", "format"):
            continue
        if name == "properties":
            result[name] = {field: plain_schema(inner) for field, inner in value.items()}
        elif name in ("enum", "required", "pattern"):
            result[name] = value
        else:
            result[name] = plain_schema(value)
    if schema.get("nullable") and isinstance(result.get("type"), str):
        result["type"] = [result["type"], "null"]
    return result
