"""Conditions of a status, as the API server checks them."""

import re
from collections.abc import Sequence

from events.json_object import JsonMapping
from services.validation.fields.names import why_not_qualified
from services.validation.problem import Problem, duplicate, invalid, not_supported, required, too_long

STATES = ("False", "True", "Unknown")
MESSAGE_AT_MOST = 32 * 1024

_REASON = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")


def is_true(conditions: Sequence[JsonMapping] | None, kind: str) -> bool:
    """Whether the condition is there and holds."""
    return any(one.get("type") == kind and one.get("status") == "True" for one in conditions or ())


def condition_problems(conditions: Sequence[JsonMapping] | None) -> list[Problem]:
    """All conditions of a status, each type once."""
    found: list[Problem] = []
    seen: list[str] = []
    for index, one in enumerate(conditions or ()):
        at, kind = f"status.conditions[{index}]", str(one.get("type") or "")
        if kind in seen:
            found.append(duplicate(f"{at}.type", kind, "each condition once"))
        seen.append(kind)
        found.extend(_condition(one, kind, at))
    return found


def _condition(one: JsonMapping, kind: str, field: str) -> list[Problem]:
    found: list[Problem] = []
    if kind:
        found.extend(invalid(f"{field}.type", kind, f"{kind!r}: {reason}") for reason in why_not_qualified(kind))
    else:
        found.append(required(f"{field}.type", "a condition has a type"))
    if one.get("status") not in STATES:
        found.append(not_supported(f"{field}.status", one.get("status"), STATES))
    if one.get("observedGeneration", 0) < 0:
        found.append(invalid(f"{field}.observedGeneration", one["observedGeneration"], "it is negative", "at least 0"))
    if not one.get("lastTransitionTime"):
        found.append(required(f"{field}.lastTransitionTime", "a condition says since when"))
    reason, message = str(one.get("reason") or ""), str(one.get("message") or "")
    if not reason:
        found.append(required(f"{field}.reason", "a condition has a reason"))
    elif _REASON.fullmatch(reason) is None:
        found.append(invalid(f"{field}.reason", reason, f"{reason!r} is no word in CamelCase"))
    if len(message) > MESSAGE_AT_MOST:
        found.append(too_long(f"{field}.message", message, MESSAGE_AT_MOST))
    return found
