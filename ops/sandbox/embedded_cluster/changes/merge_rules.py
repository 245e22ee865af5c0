"""How the parts of an object merge: which of its lists are maps, and by which fields.

Built-in kinds say so in their types, which are known here by the names of their fields; custom kinds in their schema,
and a list of which a schema says nothing is one value.
"""

import json
from typing import Any

import msgspec

MERGE_KEYS: dict[str, tuple[str, ...]] = {
    "containers": ("name",),
    "initContainers": ("name",),
    "volumes": ("name",),
    "env": ("name",),
    "volumeMounts": ("mountPath",),
    "ports": ("containerPort", "port"),
    "conditions": ("type",),
    "ownerReferences": ("uid",),
    "imagePullSecrets": ("name",),
    "schedulingGates": ("name",),
    "taints": ("key", "effect"),
    "addresses": ("type",),
}
"""Lists of built-in kinds that are maps, and by which field: the first of them that is there."""
_SETS = frozenset({"finalizers"})


class MergeRule(msgspec.Struct, frozen=True):
    """How the value at one place of an object merges."""

    schema: dict[str, Any] | None = None
    """What the schema of a custom kind says of the place; None where a built-in type is meant."""
    name: str = ""
    """The field, where a built-in type is meant."""

    def below(self, field: str) -> "MergeRule":
        """The rule for a field of an object; all metadata is Kubernetes' own."""
        if self.schema is None or field == "metadata":
            return MergeRule(None, field)
        known = (self.schema.get("properties") or {}).get(field)
        extra = self.schema.get("additionalProperties")
        return MergeRule(known or (extra if isinstance(extra, dict) else {}))

    @property
    def item(self) -> "MergeRule":
        """The rule for the items of a list."""
        return MergeRule(None) if self.schema is None else MergeRule(self.schema.get("items") or {})

    @property
    def is_set(self) -> bool:
        """Whether a list only grows by what is not in it."""
        if self.schema is None:
            return self.name in _SETS
        return self.schema.get("x-kubernetes-list-type") == "set"

    @property
    def is_atomic(self) -> bool:
        """Whether an object is one value, owned as a whole."""
        return self.schema is not None and self.schema.get("x-kubernetes-map-type") == "atomic"

    @property
    def keys(self) -> tuple[str, ...]:
        """The fields by which the items of a list are told apart; none where the list is one value."""
        if self.schema is None:
            return MERGE_KEYS.get(self.name, ())
        if self.schema.get("x-kubernetes-list-type") != "map":
            return ()
        return tuple(self.schema.get("x-kubernetes-list-map-keys") or ())

    def merges(self, value: Any) -> bool:
        """Whether a list is a map, and its items are such as can be told apart."""
        return bool(isinstance(value, list) and self.keys and all(isinstance(one, dict) for one in value))

    def word(self, item: dict[str, Any]) -> str:
        """What an item is called in FieldsV1; empty where nothing tells it from others."""
        if self.schema is None:
            key = next((one for one in self.keys if one in item), None)
            return "" if key is None else _word({key: item[key]})
        # A key that is left out is the schema's default.
        found = {key: item.get(key, self.item.below(key).default) for key in self.keys}
        return _word(found) if any(value is not None for value in found.values()) else ""

    @property
    def default(self) -> Any:
        """What stands for a value that is left out."""
        return (self.schema or {}).get("default")


def _word(keys: dict[str, Any]) -> str:
    return "k:" + json.dumps({name: keys[name] for name in sorted(keys)}, separators=(",", ":"))
