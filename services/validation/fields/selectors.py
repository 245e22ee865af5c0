"""Label selectors, taints and tolerations, as the API server checks them."""

from collections.abc import Sequence

from events.json_object import JsonMapping, array_at, objects_at
from services.validation.fields.names import label_key_problems, labels_problems, why_no_label_value
from services.validation.problem import Problem, duplicate, forbidden, invalid, not_supported, required

_LISTS = ("In", "NotIn")
_PRESENCE = ("Exists", "DoesNotExist")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_TAINTS = "spec.nodeTaints"
_TOLERATED = {"operator": ("Equal", "Exists"), "effect": _EFFECTS}


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
    """Keys, operators and effects of tolerations, and what of them contradicts itself: no pod can have such a one."""
    found: list[Problem] = []
    for index, one in enumerate(tolerations or ()):
        if one.get("key"):
            found.extend(label_key_problems(one["key"], f"{field}[{index}].key"))
        for name, known in _TOLERATED.items():
            if one.get(name) and one[name] not in known:
                found.append(not_supported(f"{field}[{index}].{name}", one[name], known))
        found.extend(_contradictions(one, f"{field}[{index}]"))
    return found


def _contradictions(one: JsonMapping, field: str) -> list[Problem]:
    operator, value, effect = one.get("operator", ""), one.get("value"), one.get("effect", "")
    found: list[Problem] = []
    if not one.get("key") and operator in ("", "Equal"):
        what = "without a key it stands for all taints, which only Exists does"
        found.append(invalid(f"{field}.operator", operator, what, "operator: Exists and no value, or a key"))
    if operator == "Exists" and value:
        found.append(invalid(f"{field}.value", value, "operator Exists compares with no value", "no value"))
    if one.get("tolerationSeconds") is not None and effect != "NoExecute":
        what = f"tolerationSeconds are for what puts pods out, which {effect or 'no effect'} does not"
        found.append(invalid(f"{field}.effect", effect, what, "effect: NoExecute, or no tolerationSeconds"))
    return found


def effect_problems(taints: Sequence[JsonMapping] | None) -> list[Problem]:
    """Taints of a flavor that do not say what becomes of pods."""
    found: list[Problem] = []
    for index, one in enumerate(taints or ()):
        effect, at = one.get("effect", ""), f"{_TAINTS}[{index}].effect"
        if not effect:
            found.append(required(at, "it does not say what becomes of pods", f"one of {', '.join(_EFFECTS)}"))
        elif effect not in _EFFECTS:
            found.append(not_supported(at, effect, _EFFECTS))
    return found


def taint_problems(taints: Sequence[JsonMapping] | None) -> list[Problem]:
    """Keys and values of a flavor's taints, each key and effect once."""
    found: list[Problem] = []
    seen: list[tuple[str, str]] = []
    for index, one in enumerate(taints or ()):
        at, key, value = f"{_TAINTS}[{index}]", str(one.get("key", "")), str(one.get("value", ""))
        found.extend(label_key_problems(key, f"{at}.key"))
        found.extend(invalid(f"{at}.value", value, f"{value!r}: {reason}") for reason in why_no_label_value(value)[:1])
        if (key, str(one.get("effect", ""))) in seen:
            found.append(duplicate(at, f"{key}:{one.get('effect')}", "each key and effect once"))
        seen.append((key, str(one.get("effect", ""))))
    return found
