"""Who owns which field after a plain write: whoever changed it last, as managedFields tells it."""

from typing import Any

from events.event import Millis
from events.timestamp import format_timestamp
from ops.sandbox.embedded_cluster.changes.apply import Fields, fields_of, owned_part, parts, subtracted
from ops.sandbox.embedded_cluster.changes.merge_rules import MergeRule
from ops.sandbox.embedded_cluster.store import Object


def owned_by(
    before: Object | None,
    after: Object,
    *,
    manager: str,
    now: Millis,
    subresource: str = "",
    rule: MergeRule = MergeRule(),  # noqa: B008 - frozen
) -> Object:
    """The object with what has changed in the manager's name, and in nobody else's."""
    changed, gone = _differences(owned_part(before or {}), owned_part(after), rule)
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


def _differences(before: Any, after: Any, rule: MergeRule) -> tuple[Fields, Fields]:
    """The fields that are new or other than before, and those that are no more."""
    if before == after:
        return {}, {}
    old, new = parts(before, rule), parts(after, rule)
    changed: Fields = {}
    gone: Fields = {word: fields_of(value, below) for word, (below, value) in old.items() if word not in new}
    for word, (below, value) in new.items():
        if word not in old:
            changed[word] = fields_of(value, below)
        elif old[word][1] != value:
            found, lost = _differences(old[word][1], value, below)
            if found or not parts(value, below):
                changed[word] = found
            if lost:
                gone[word] = lost
    return changed, gone


def _united(left: Fields, right: Fields) -> Fields:
    result = dict(left)
    for name, inner in right.items():
        result[name] = _united(result[name], inner) if name in result else inner
    return result
