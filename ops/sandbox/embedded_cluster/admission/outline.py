"""Of which types the fields of built-in objects are, as far as anything here reads them: what is of another is refused by name."""

from contextlib import suppress
from typing import Any

import msgspec

from events.api.jobs import ApiJob
from events.api.pods import ApiNode, ApiPod, PodTemplate
from ops.sandbox.embedded_cluster.admission.pod_rules import TEMPLATES
from ops.sandbox.embedded_cluster.failures import invalid
from ops.sandbox.embedded_cluster.kinds import ApiKind
from ops.sandbox.embedded_cluster.store import Object

_WHOLE: dict[str, type[Any]] = {"pods": ApiPod, "nodes": ApiNode, "jobs.batch": ApiJob}


class _Gated(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    scheduling_gates: list[dict[str, Any]] = []


def refuse_outline(kind: ApiKind, value: Object) -> None:
    """Raise 422 with the field whose value is of another type."""
    if kind.schema is not None:
        return
    whole = _WHOLE.get(kind.key)
    if whole is not None:
        _refuse(kind, value, value.get("spec") or {}, _Gated, "spec")
        _refuse(kind, value, {**value, "spec": value.get("spec") or {}, "status": value.get("status") or {}}, whole, "")
        return
    for name in ("spec", "status"):
        if not isinstance(value.get(name) or {}, dict):
            raise invalid(kind.kind, _name(value), [(name, "an object is expected")])
    at, inner = TEMPLATES.get(kind.key, ()), value
    for count, name in enumerate(at, 1):
        inner = inner.get(name) or {}
        if not isinstance(inner, dict):
            raise invalid(kind.kind, _name(value), [(".".join(at[:count]), "an object is expected")])
    if at:
        _refuse(kind, value, inner, PodTemplate, ".".join(at))


def _refuse(kind: ApiKind, value: Object, part: Object, shape: type[Any], path: str) -> None:
    with suppress(msgspec.ValidationError, RecursionError):
        msgspec.convert(part, shape)
        return
    try:
        msgspec.convert(_without_nothing(part), shape)
    except (msgspec.ValidationError, RecursionError) as problem:
        told, _, at = str(problem).partition(" - at `")
        field = f"{path}{at.rstrip('`').removeprefix('$')}".strip(".")
        raise invalid(kind.kind, _name(value), [(field or "object", f"Invalid value: {told}")]) from problem


def _without_nothing(value: Any) -> Any:
    """A field that is null counts as one that is not there."""
    if isinstance(value, dict):
        return {name: _without_nothing(inner) for name, inner in value.items() if inner is not None}
    return [_without_nothing(one) for one in value] if isinstance(value, list) else value


def _name(value: Object) -> str:
    return str((value.get("metadata") or {}).get("name", ""))
