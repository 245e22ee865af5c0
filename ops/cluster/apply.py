"""Server-side apply: who owns which field, conflicts, and what a manager no longer names is taken away."""

from typing import Any

from events.event import Millis
from events.timestamp import format_timestamp
from ops.cluster.failures import ApiFailure
from ops.cluster.patches import MERGE_KEYS, strategic_patch
from ops.cluster.store import Object

_UNOWNED = frozenset({"apiVersion", "kind"})
_UNOWNED_META = frozenset(
    {"name", "namespace", "managedFields", "resourceVersion", "uid", "creationTimestamp", "generation"}
)

Fields = dict[str, Any]


def apply(
    before: Object | None, wanted: Object, *, manager: str, force: bool, now: Millis, subresource: str = ""
) -> Object:
    """The object after an apply. Raises 409 when another manager owns a field that would change."""
    fields = fields_of(owned_part(wanted))
    if before is None:
        entries = [_entry(manager, wanted["apiVersion"], fields, now, subresource)]
        return {**wanted, "metadata": {**wanted["metadata"], "managedFields": entries}}
    entries: list[Object] = list(before["metadata"].get("managedFields") or [])
    _refuse_conflicts(before, wanted, entries, fields, manager, force=force)
    mine = next((one for one in entries if one["manager"] == manager and one["operation"] == "Apply"), None)
    result = before
    if mine is not None:
        others: list[Fields] = [one["fieldsV1"] for one in entries if one is not mine]
        result = _without(before, mine["fieldsV1"], fields, others)
    result = strategic_patch(result, owned_part(wanted))
    kept = [_minus(one, fields) if force and one is not mine else one for one in entries if one is not mine]
    kept = [one for one in kept if one["fieldsV1"]]
    kept.append(_entry(manager, wanted["apiVersion"], fields, now, subresource))
    return {**result, "metadata": {**result["metadata"], "managedFields": kept}}


def fields_of(value: Any, name: str = "") -> Fields:
    """The FieldsV1 form of what is named in an object."""
    if isinstance(value, dict):
        return {f"f:{field}": fields_of(inner, field) for field, inner in value.items()}
    keys = MERGE_KEYS.get(name)
    if isinstance(value, list) and keys and all(isinstance(one, dict) for one in value):
        found: Fields = {}
        for one in value:
            key = next((k for k in keys if k in one), None)
            if key is not None:
                found[f'k:{{"{key}":"{one[key]}"}}'] = {".": {}, **fields_of(one)}
        return found
    return {}


def owned_part(value: Object) -> Object:
    """What of an object anybody can own."""
    owned = {name: field for name, field in value.items() if name not in _UNOWNED and name != "metadata"}
    meta = {name: field for name, field in (value.get("metadata") or {}).items() if name not in _UNOWNED_META}
    return {**owned, "metadata": meta} if meta else owned


def _entry(manager: str, api_version: str, fields: Fields, now: Millis, subresource: str) -> Object:
    entry = {
        "manager": manager,
        "operation": "Apply",
        "apiVersion": api_version,
        "time": format_timestamp(now),
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }
    return {**entry, "subresource": subresource} if subresource else entry


def _leaves(fields: Fields, path: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    found: set[tuple[str, ...]] = set()
    for name, inner in fields.items():
        if name == ".":
            continue
        found |= _leaves(inner, (*path, name)) if inner else {(*path, name)}
    return found


def _refuse_conflicts(
    before: Object, wanted: Object, entries: list[Object], fields: Fields, manager: str, *, force: bool
) -> None:
    if force:
        return
    mine = _leaves(fields)
    for one in entries:
        if one["manager"] == manager:
            continue
        for path in sorted(mine & _leaves(one["fieldsV1"])):
            if _at(before, path) != _at(wanted, path):
                told = "." + ".".join(part.removeprefix("f:") for part in path)
                raise ApiFailure(
                    409,
                    "Conflict",
                    f'Apply failed with 1 conflict: conflict with "{one["manager"]}": {told}',
                    causes=[(told, f'conflict with "{one["manager"]}"')],
                )


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for part in path:
        if isinstance(value, dict) and part.startswith("f:"):
            value = value.get(part[2:])
        elif isinstance(value, list) and part.startswith("k:"):
            value = next((one for one in value if part.startswith("k:") and _keyed(one, part)), None)
        else:
            return None
    return value


def _keyed(one: Object, part: str) -> bool:
    return any(f'k:{{"{key}":"{one[key]}"}}' == part for key in one)


def _without(value: Any, old: Fields, new: Fields, others: list[Fields]) -> Any:
    """Take away what the manager named last time and nobody names now."""
    if not isinstance(value, dict):
        return value
    result = dict(value)
    for name, inner in old.items():
        field = name.removeprefix("f:")
        if not name.startswith("f:") or field not in result:
            continue
        theirs = [one[name] for one in others if name in one]
        if name not in new and not theirs:
            result.pop(field)
        elif inner and isinstance(result[field], dict):
            result[field] = _without(result[field], inner, new.get(name, {}), theirs)
    return result


def _minus(entry: Object, fields: Fields) -> Object:
    return {**entry, "fieldsV1": subtracted(entry["fieldsV1"], fields)}


def subtracted(left: Fields, right: Fields) -> Fields:
    """The fields of one set that are not in the other."""
    result: Fields = {}
    for name, inner in left.items():
        if name not in right:
            result[name] = inner
        elif inner:
            rest = subtracted(inner, right[name])
            if any(part != "." for part in rest):
                result[name] = rest
    return result
