"""What the API server does to pods of a namespace with a LimitRange, where no API server is: defaults, and pods that are too large refused."""

from collections.abc import Iterable

from events.json_object import JsonObject
from events.quantity import parse_quantity
from ops.sandbox.embedded_cluster.failures import denied

_PLUGIN = "LimitRanger"


def limited(pod: JsonObject, ranges: Iterable[JsonObject]) -> JsonObject:
    """A pod as it is stored, by the LimitRanges of its namespace, that say of containers alone. Raises `ApiFailure`."""
    spec = pod["spec"]
    for one in ranges:
        for limit in one["spec"]["limits"]:
            for field in ("containers", "initContainers"):
                if field in spec:
                    spec = {**spec, field: [_limited(container, limit) for container in spec[field]]}
    return {**pod, "spec": spec}


def _limited(container: JsonObject, limit: JsonObject) -> JsonObject:
    asked = container.get("resources") or {}
    limits = {**(limit.get("default") or {}), **(asked.get("limits") or {})}
    requests = {**(limit.get("defaultRequest") or {}), **(asked.get("limits") or {}), **(asked.get("requests") or {})}
    for resource, most in (limit.get("max") or {}).items():
        if max(parse_quantity(one[resource]) for one in (limits, requests)) > parse_quantity(most):
            message = f"maximum {resource} usage per Container is {most}"
            raise denied(_PLUGIN, {"message": message, "code": 403, "reason": "Forbidden"})
    return {**container, "resources": {**asked, "limits": limits, "requests": requests}}
