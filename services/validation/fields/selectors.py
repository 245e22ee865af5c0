"""Label selectors, taints and tolerations, as the API server checks them."""

from collections.abc import Sequence

from events.json_object import JsonMapping, array_at, objects_at
from services.validation.fields.names import label_key_problems, labels_problems, why_no_label_value
from services.validation.problem import Problem, duplicate, forbidden, invalid, not_supported, required

_LISTS = ("In", "NotIn")
_PRESENCE = ("Exists", "DoesNotExist")
_TOLERATED = {
    "operator": ("Equal", "Exists", "Gt", "Lt"),
    "effect": ("NoSchedule", "PreferNoSchedule", "NoExecute"),
}


def selector_problems(selector: JsonMapping | None, field: str) -> list[Problem]:
    """What is wrong with a label selector."""
    if selector is None:
        return []
    found = labels_problems(selector.get("matchLabels"), f"{field}.matchLabels")
    for index, one in enumerate(objects_at(selector, "matchExpressions")):
        found.extend(_expression(one, f"{field}.matchExpressions[{index}]"))
    return found


def _expression(one: JsonMapping, field: str) -> list[Problem]:
    operator, values = one.get("operator", ""), array_at(one, "values")
    found: list[Problem] = []
    if operator in _LISTS and not values:
        found.append(
            required(
                f"{field}.values", f"operator {operator} compares with values, and there are none", "values: [...]"
            )
        )
    elif operator in _PRESENCE and values:
        found.append(forbidden(f"{field}.values", f"operator {operator} takes no values", "no values"))
    elif operator not in (*_LISTS, *_PRESENCE):
        found.append(
            invalid(
                f"{field}.operator", operator, f"there is no operator {operator!r}", "In, NotIn, Exists or DoesNotExist"
            )
        )
    found.extend(label_key_problems(str(one.get("key", "")), f"{field}.key"))
    for index, value in enumerate(values):
        found.extend(
            invalid(f"{field}.values[{index}]", value, f"{value!r}: {reason}")
            for reason in why_no_label_value(str(value))
        )
    return found


def toleration_problems(tolerations: Sequence[JsonMapping] | None, field: str) -> list[Problem]:
    """Keys, operators and effects of tolerations."""
    found: list[Problem] = []
    for index, one in enumerate(tolerations or ()):
        if one.get("key"):
            found.extend(label_key_problems(one["key"], f"{field}[{index}].key"))
        for name, known in _TOLERATED.items():
            if one.get(name) and one[name] not in known:
                found.append(not_supported(f"{field}[{index}].{name}", one[name], known))
    return found


def taint_problems(taints: Sequence[JsonMapping] | None, field: str) -> list[Problem]:
    """Keys and values of taints, each key and effect once."""
    found: list[Problem] = []
    seen: list[tuple[str, str]] = []
    for index, one in enumerate(taints or ()):
        at, key, value = f"{field}[{index}]", str(one.get("key", "")), str(one.get("value", ""))
        found.extend(label_key_problems(key, f"{at}.key"))
        found.extend(invalid(f"{at}.value", value, f"{value!r}: {reason}") for reason in why_no_label_value(value)[:1])
        if (key, str(one.get("effect", ""))) in seen:
            found.append(duplicate(at, f"{key}:{one.get('effect')}", "each key and effect once"))
        seen.append((key, str(one.get("effect", ""))))
    return found
