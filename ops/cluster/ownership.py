"""Who owns which field after a plain write: whoever changed it last, as managedFields tells it."""

from typing import Any

from events.event import Millis
from events.timestamp import format_timestamp
from ops.cluster.apply import Fields, fields_of, owned_part, subtracted
from ops.cluster.patches import MERGE_KEYS
from ops.cluster.store import Object


def owned_by(before: Object | None, after: Object, *, manager: str, now: Millis, subresource: str = "") -> Object:
    """The object with what has changed in the manager's name, and in nobody else's."""
    changed, gone = _differences(owned_part(before or {}), owned_part(after), "")
    if not changed and not gone:
        return after
    entries: list[Object] = list((before or {}).get("metadata", {}).get("managedFields") or ())
    place = (manager, "Update", after["apiVersion"], subresource)
    mine = next((one for one in entries if _place(one) == place), None)
    others = [one for one in entries if one is not mine]
    taken = _united(changed, gone)
    kept = [{**one, "fieldsV1": left} for one in others if (left := subtracted(one["fieldsV1"], taken))]
    held: Fields = subtracted(mine["fieldsV1"], gone) if mine is not None else {}
    fields = _united(held, changed)
    if fields:
        entry: Object = {
            "manager": manager,
            "operation": "Update",
            "apiVersion": after["apiVersion"],
            "time": format_timestamp(now),
            "fieldsType": "FieldsV1",
            "fieldsV1": fields,
        }
        kept.append({**entry, "subresource": subresource} if subresource else entry)
    return {**after, "metadata": {**after["metadata"], "managedFields": kept}}


def _place(entry: Object) -> tuple[str, str, str, str]:
    return entry["manager"], entry["operation"], entry["apiVersion"], entry.get("subresource", "")


def _differences(before: Any, after: Any, name: str) -> tuple[Fields, Fields]:
    """The fields that are new or other than before, and those that are no more."""
    if before == after:
        return {}, {}
    old, new = _parts(before, name), _parts(after, name)
    changed: Fields = {}
    gone: Fields = {part: fields_of(value, inner) for part, (inner, value) in old.items() if part not in new}
    for part, (inner, value) in new.items():
        if part not in old:
            changed[part] = fields_of(value, inner)
        elif old[part][1] != value:
            found, lost = _differences(old[part][1], value, inner)
            if found or not _parts(value, inner):
                changed[part] = found
            if lost:
                gone[part] = lost
    return changed, gone


def _parts(value: Any, name: str) -> dict[str, tuple[str, Any]]:
    """What of a value is owned on its own, each under its word in FieldsV1, with the name of the field."""
    if isinstance(value, dict):
        return {f"f:{field}": (field, inner) for field, inner in value.items()}
    keys = MERGE_KEYS.get(name)
    if isinstance(value, list) and keys and all(isinstance(one, dict) for one in value):
        words = ((next((key for key in keys if key in one), None), one) for one in value)
        return {f'k:{{"{key}":"{one[key]}"}}': ("", one) for key, one in words if key is not None}
    return {}


def _united(left: Fields, right: Fields) -> Fields:
    result = dict(left)
    for name, inner in right.items():
        result[name] = _united(result[name], inner) if name in result else inner
    return result
