"""The condition Active of a MultiKueueCluster: whether it is connected, and why not.

Rule: docs/rules/multikueue.md#connection
"""

from events.event import Millis
from events.json_object import JsonObject, object_at, objects_at
from events.timestamp import format_timestamp


def active_patch(
    value: JsonObject, generation: int, status: str, reason: str, message: str, at: Millis
) -> JsonObject | None:
    """The merge patch that sets the condition Active of a MultiKueueCluster; None when it says so."""
    conditions = objects_at(value, "status", "conditions")
    before = object_at(next((one for one in conditions if one.get("type") == "Active"), None))
    if (before.get("status"), before.get("reason"), before.get("message")) == (status, reason, message):
        return None
    since = before.get("lastTransitionTime") if before.get("status") == status else None
    ours = {
        "type": "Active",
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": since or format_timestamp(at),
        "observedGeneration": generation,
    }
    rest = [one for one in conditions if one.get("type") != "Active"]
    version = {"resourceVersion": value["metadata"]["resourceVersion"]}
    return {"metadata": version, "status": {"conditions": [*rest, ours]}}
