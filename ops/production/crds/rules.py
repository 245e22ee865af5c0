"""What a definition demands beyond types: rules in CEL, old values, and fields of older versions that may not be lost."""

from collections.abc import Callable
from typing import Any

from events.json_object import JsonObject

_FIXED = {
    "AdmissionCheck": ("controllerName",),
    "LocalQueue": ("clusterQueue",),
}
"""Fields that never change."""
_PREEMPTION = {
    "rule": "!(self.reclaimWithinCohort == 'Never' && has(self.borrowWithinCohort)"
    " && self.borrowWithinCohort.policy != 'Never')",
    "message": "borrowWithinCohort needs a reclaimWithinCohort other than Never",
}
_PREFERENCE = {
    "rule": "!has(self.preference) || (self.whenCanBorrow == 'TryNextFlavor' && self.whenCanPreempt == 'TryNextFlavor')",
    "message": "a preference needs whenCanBorrow and whenCanPreempt: TryNextFlavor",
}
_UNCHANGED = "self == oldSelf"


def _may_borrow(preemption: JsonObject, _: Any) -> bool:
    borrows = (preemption.get("borrowWithinCohort") or {}).get("policy", "Never") != "Never"
    return preemption.get("reclaimWithinCohort") != "Never" or not borrows


def _may_prefer(fungibility: JsonObject, _: Any) -> bool:
    words = {fungibility.get(name) for name in ("whenCanBorrow", "whenCanPreempt")}
    return not fungibility.get("preference") or words == {"TryNextFlavor"}


MEANINGS: dict[str, Callable[[Any, Any], bool]] = {
    _UNCHANGED: lambda new, old: old is None or new == old,
    _PREEMPTION["rule"]: _may_borrow,
    _PREFERENCE["rule"]: _may_prefer,
}
"""What each rule says of a value and of what it was before, for an API that knows no CEL."""
_OLD_VALUES = {"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt"}
"""v1beta1's words, which may stand in a stored object: without a converting webhook nothing rewrites them."""


def with_rules(kind: str, spec: JsonObject, *, open_ended: bool) -> JsonObject:
    """The schema of a specification with the rules of its kind."""
    found = {**spec, "properties": dict(spec["properties"])}
    if open_ended:
        found["x-kubernetes-preserve-unknown-fields"] = True
    for name in _FIXED.get(kind, ()):
        field = found["properties"][name]
        found["properties"][name] = {**field, "x-kubernetes-validations": [_unchanged(name)]}
    if kind == "ClusterQueue":
        _cluster_queue(found["properties"])
    return found


def _unchanged(name: str) -> JsonObject:
    return {"rule": _UNCHANGED, "message": f"{name} can't be changed"}


def _cluster_queue(properties: JsonObject) -> None:
    properties["preemption"] = {**properties["preemption"], "x-kubernetes-validations": [_PREEMPTION]}
    fungibility = properties["flavorFungibility"]
    fields = dict(fungibility["properties"])
    for name, word in _OLD_VALUES.items():
        fields[name] = {**fields[name], "enum": sorted([*fields[name]["enum"], word])}
    properties["flavorFungibility"] = {
        **fungibility,
        "properties": fields,
        "x-kubernetes-validations": [_PREFERENCE],
    }
