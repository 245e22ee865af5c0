"""Server-side apply: who owns which field, conflicts, and what a manager no longer names is taken away."""

from collections.abc import Iterator
from typing import Any

from events.event import Millis
from events.timestamp import format_timestamp
from ops.sandbox.embedded_cluster.changes.merge_rules import MergeRule
from ops.sandbox.embedded_cluster.changes.patches import strategic_patch
from ops.sandbox.embedded_cluster.failures import ApiFailure
from ops.sandbox.embedded_cluster.store import Object

_UNOWNED = frozenset({"apiVersion", "kind"})
_UNOWNED_META = frozenset(
    {"name", "namespace", "managedFields", "resourceVersion", "uid", "creationTimestamp", "generation"}
)

Fields = dict[str, Any]
Path = tuple[str, ...]
_MISSING = object()


def apply(
    before: Object | None,
    wanted: Object,
    *,
    manager: str,
    force: bool,
    now: Millis,
    subresource: str = "",
    rule: MergeRule = MergeRule(),  # noqa: B008 - frozen
) -> Object:
    """The object after an apply. Raises 409 when another manager owns a field that would change."""
    named = owned_part(wanted)
    fields = fields_of(named, rule)
    if before is None:
        entries = [_entry(manager, wanted["apiVersion"], fields, now, subresource)]
        return {**wanted, "metadata": {**wanted["metadata"], "managedFields": entries}}
    entries: list[Object] = list(before["metadata"].get("managedFields") or [])
    place = (manager, "Apply", subresource)
    mine = next((one for one in entries if _place(one) == place), None)
    others = [one for one in entries if one is not mine]
    contested = set(_contested(fields, before, named, rule))
    if not force:
        _refuse_conflicts(others, contested)
    result = before
    if mine is not None:
        result = _without(before, mine["fieldsV1"], fields, [one["fieldsV1"] for one in others], rule)
    result = strategic_patch(result, named, rule)
    kept = [one for one in (_without_paths(one, contested) for one in others) if one["fieldsV1"]]
    if fields:
        kept.append(_entry(manager, wanted["apiVersion"], fields, now, subresource))
    return {**result, "metadata": {**result["metadata"], "managedFields": kept}}


def fields_of(value: Any, rule: MergeRule) -> Fields:
    """The FieldsV1 form of what is named in an object."""
    return {word: _with_itself(word, fields_of(inner, below)) for word, (below, inner) in parts(value, rule).items()}


def _with_itself(word: str, fields: Fields) -> Fields:
    return {".": {}, **fields} if word.startswith("k:") else fields


def parts(value: Any, rule: MergeRule) -> dict[str, tuple[MergeRule, Any]]:
    """What of a value is owned on its own, each under its word in FieldsV1, with its own rule."""
    if isinstance(value, dict) and not rule.is_atomic:
        return {f"f:{field}": (rule.below(field), inner) for field, inner in value.items()}
    if rule.merges(value):
        return {word: (rule.item, one) for one in value if (word := rule.word(one))}
    return {}


def owned_part(value: Object) -> Object:
    """What of an object anybody can own."""
    owned = {name: field for name, field in value.items() if name not in _UNOWNED and name != "metadata"}
    meta = {name: field for name, field in (value.get("metadata") or {}).items() if name not in _UNOWNED_META}
    return {**owned, "metadata": meta} if meta else owned


def _place(entry: Object) -> tuple[str, str, str]:
    return entry["manager"], entry["operation"], entry.get("subresource", "")


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


def _leaves(fields: Fields, path: Path = ()) -> set[Path]:
    found: set[Path] = set()
    for name, inner in fields.items():
        if name == ".":
            continue
        found |= _leaves(inner, (*path, name)) if any(part != "." for part in inner) else {(*path, name)}
    return found


def _refuse_conflicts(others: list[Object], contested: set[Path]) -> None:
    for one in others:
        for path in sorted(contested & _leaves(one["fieldsV1"])):
            told = "." + ".".join(part.removeprefix("f:") for part in path)
            raise ApiFailure(
                409,
                "Conflict",
                f'Apply failed with 1 conflict: conflict with "{one["manager"]}": {told}',
                causes=[(told, f'conflict with "{one["manager"]}"')],
            )


def _contested(fields: Fields, before: Any, named: Any, rule: MergeRule, path: Path = ()) -> Iterator[Path]:
    """The leaves that would change, both values walked down together: one at a time the same way is gone again and again."""
    theirs, ours = parts(before, rule), parts(named, rule)
    for name, inner in fields.items():
        if name == ".":
            continue
        (below, wanted), (_, there) = ours[name], theirs.get(name, (rule, _MISSING))
        if any(part != "." for part in inner):
            yield from _contested(inner, there, wanted, below, (*path, name))
        elif there != wanted:
            yield (*path, name)


def _without(value: Any, old: Fields, new: Fields, others: list[Fields], rule: MergeRule) -> Any:
    """Take away what the manager named last time and nobody names now."""
    gone: set[str] = set()
    changed: dict[str, Any] = {}
    for word, (below, inner) in parts(value, rule).items():
        if word not in old:
            continue
        theirs = [one[word] for one in others if word in one]
        if word not in new and not theirs:
            gone.add(word)
        elif old[word]:
            changed[word] = _without(inner, old[word], new.get(word, {}), theirs, below)
    if isinstance(value, dict):
        return {name: changed.get(f"f:{name}", one) for name, one in value.items() if f"f:{name}" not in gone}
    if not gone and not changed:
        return value
    return [changed.get(rule.word(one), one) for one in value if rule.word(one) not in gone]


def _without_paths(entry: Object, paths: set[Path]) -> Object:
    fields: Fields = entry["fieldsV1"]
    for path in paths:
        fields = _less(fields, path)
    return {**entry, "fieldsV1": fields}


def _less(fields: Fields, path: Path) -> Fields:
    """The fields without one of them."""
    head, *rest = path
    if head not in fields:
        return fields
    left = _less(fields[head], tuple(rest)) if rest else {}
    kept = {name: inner for name, inner in fields.items() if name != head}
    return {**kept, head: left} if rest and any(part != "." for part in left) else kept


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
