"""Which lists of each kind are maps, and by which field: so that writers who name one item each leave the others alone."""

from events.json_object import JsonObject
from ops.production.crds.open_api import OPEN

Keys = dict[str, tuple[str, ...]]
_NAME: tuple[str, ...] = ("name",)
_CONDITIONS: Keys = {"status.conditions": ("type",)}
_USES: Keys = {
    f"status.{word}{below}": _NAME for word in ("flavorsReservation", "flavorsUsage") for below in ("", "[].resources")
}
_GROUPS: Keys = {
    "spec.resourceGroups[].flavors": _NAME,
    "spec.resourceGroups[].flavors[].resources": _NAME,
}
LIST_KEYS: dict[str, Keys] = {
    "Workload": {
        **_CONDITIONS,
        "spec.podSets": _NAME,
        "spec.preemptionGates": _NAME,
        "status.admission.podSetAssignments": _NAME,
        "status.admissionChecks": _NAME,
        "status.preemptionGates": _NAME,
        "status.reclaimablePods": _NAME,
        "status.resourceRequests": _NAME,
        "status.schedulingStats.evictions": ("reason", "underlyingCause"),
        "status.unhealthyNodes": _NAME,
    },
    "ClusterQueue": {
        **_CONDITIONS,
        **_USES,
        **_GROUPS,
        "spec.admissionChecksStrategy.admissionChecks": _NAME,
    },
    "Cohort": _GROUPS,
    "LocalQueue": {**_CONDITIONS, **_USES},
    "AdmissionCheck": _CONDITIONS,
    "MultiKueueCluster": _CONDITIONS,
    "ProvisioningRequestConfig": {"spec.podSetUpdates.nodeSelector": ("key",)},
}
"""By kind and path, as Kueue's definitions have them (docs/rules/objects.md#versions)."""
_WHOLE = {"ClusterQueue": ("spec.namespaceSelector",), "ResourceFlavor": ("spec.nodeLabels",)}
"""Objects that are one value (`x-kubernetes-map-type: atomic`): an apply replaces all of it."""


def with_list_keys(kind: str, schema: JsonObject) -> JsonObject:
    """A schema in which the lists of its kind are maps; what it leaves open stays open."""
    for path, keys in LIST_KEYS.get(kind, {}).items():
        schema = _marked(schema, path.split("."), keys)
    for path in _WHOLE.get(kind, ()):
        schema = _changed(schema, path.split("."), {"x-kubernetes-map-type": "atomic"})
    return schema


def _marked(schema: JsonObject, path: list[str], keys: tuple[str, ...]) -> JsonObject:
    return _changed(schema, path, {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)})


def _changed(schema: JsonObject, path: list[str], words: JsonObject) -> JsonObject:
    """The schema with words added at a path; what is not described on the way is left open."""
    name, inside = path[0].removesuffix("[]"), path[0].endswith("[]")
    properties: JsonObject = schema.get("properties") or {}
    node: JsonObject = properties.get(name) or ({"type": "array", "items": dict(OPEN)} if inside else dict(OPEN))
    if inside:
        node = {**node, "items": _changed(node["items"], path[1:], words)}
    elif len(path) > 1:
        node = _changed(node, path[1:], words)
    elif "x-kubernetes-list-map-keys" in words:
        node = _listed(node, words)
    else:
        node = {**node, **words}
    return {**schema, "properties": {**properties, name: node}}


def _listed(node: JsonObject, words: JsonObject) -> JsonObject:
    """A list whose items have their keys: each is required, unless it has a default."""
    items: JsonObject = node.get("items") or dict(OPEN)
    properties: JsonObject = dict(items.get("properties") or {})
    for key in words["x-kubernetes-list-map-keys"]:
        properties.setdefault(key, {"type": "string"})
    keys = [key for key in words["x-kubernetes-list-map-keys"] if "default" not in properties[key]]
    required = sorted({*items.get("required", ()), *keys})
    found: JsonObject = {**items, "properties": properties, **({"required": required} if required else {})}
    described = {name: value for name, value in node.items() if name in ("maxItems", "minItems", "nullable")}
    return {"type": "array", **described, "items": found, **words}
