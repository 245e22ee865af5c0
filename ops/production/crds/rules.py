"""What a definition demands beyond types: rules in CEL, old values, and fields of older versions that may not be lost."""

from collections.abc import Callable
from typing import Any

from events.json_object import JsonObject, object_at
from ops.production.crds.field_rules import FIELD_MEANINGS

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
_HOST = "kubernetes.io/hostname"
_EACH_ONCE = {
    "rule": "self.all(one, self.exists_one(other, other.nodeLabel == one.nodeLabel))",
    "message": "each label once",
}
_HOST_LAST = {
    "rule": f"self.all(one, one.nodeLabel != '{_HOST}' || one == self[size(self) - 1])",
    "message": f"{_HOST} stands for the lowest level only",
}
_LEVELS_CHANGE = {
    "rule": f"self == oldSelf || [self, oldSelf].all(levels, levels[size(levels) - 1].nodeLabel == '{_HOST}')",
    "message": f"levels can be changed only where {_HOST} is the lowest before and after",
}
_UNCHANGED = "self == oldSelf"


def _may_borrow(preemption: JsonObject, _: Any) -> bool:
    borrows = object_at(preemption, "borrowWithinCohort").get("policy", "Never") != "Never"
    return preemption.get("reclaimWithinCohort") != "Never" or not borrows


def _may_prefer(fungibility: JsonObject, _: Any) -> bool:
    words = {fungibility.get(name) for name in ("whenCanBorrow", "whenCanPreempt")}
    return not fungibility.get("preference") or words == {"TryNextFlavor"}


def _labels(levels: list[JsonObject]) -> list[str]:
    return [one["nodeLabel"] for one in levels]


def _each_once(levels: list[JsonObject], _: Any) -> bool:
    return len(set(_labels(levels))) == len(levels)


def _host_last(levels: list[JsonObject], _: Any) -> bool:
    return _HOST not in _labels(levels)[:-1]


def _may_change(levels: list[JsonObject], before: list[JsonObject] | None) -> bool:
    return before is None or levels == before or _labels(levels)[-1:] == _labels(before)[-1:] == [_HOST]


MEANINGS: dict[str, Callable[[Any, Any], bool]] = {
    _UNCHANGED: lambda new, old: old is None or new == old,
    _PREEMPTION["rule"]: _may_borrow,
    _PREFERENCE["rule"]: _may_prefer,
    _EACH_ONCE["rule"]: _each_once,
    _HOST_LAST["rule"]: _host_last,
    _LEVELS_CHANGE["rule"]: _may_change,
    **FIELD_MEANINGS,
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
    if kind == "Topology":
        levels = found["properties"]["levels"]
        validations = [_EACH_ONCE, _HOST_LAST, _LEVELS_CHANGE]
        found["properties"]["levels"] = {**levels, "x-kubernetes-validations": validations}
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
