"""Keys of a file behind which nothing stands: to Go they are not there.

Rule: docs/rules/objects.md#empty-keys
"""

from typing import Any

from events.json_object import JsonObject, is_object

NAMED = ("featureGates", "outputs", "resourceWeights", "matchLabels", "devicePolicies")
"""Maps whose keys are names of somebody's own: Go reads a zero behind an empty one, so these are left to be refused."""


def without_empty_keys(found: JsonObject) -> JsonObject:
    """The same fields without those behind which nothing stands, in all parts."""
    return {
        name: value if name in NAMED else _within(value)
        for name, value in found.items()
        if value is not None  # Also `0`, `false` and `{}` say something.
    }


def _within(value: Any) -> Any:
    match value:
        case list():
            return [_within(one) for one in value]
        case _ if is_object(value):
            return without_empty_keys(value)
        case _:
            return value
