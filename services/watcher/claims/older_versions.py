"""Objects of resource.k8s.io as v1beta1 writes them, in the form of v1; v1beta2 has that form already.

There a request says of itself what it asks for, where v1 has `exactly`, and a device what it is under `basic`. Objects of a
list do not say their version, so it is told by their form: what has that of v1 stays as it is.
"""

from events.json_object import JsonMapping, JsonObject, is_array, is_object

_BESIDE = ("name", "firstAvailable")
"""What a request has beside what it asks for."""


def as_v1(kind: str, value: JsonMapping) -> JsonMapping:
    """An object in the form of v1; whatever can't be understood stays as it is, for whoever reads it to say so."""
    spec = value.get("spec")
    if not is_object(spec):
        return value
    match kind:
        case "ResourceClaim":
            return {**value, "spec": _claim(spec)}
        case "ResourceClaimTemplate" if is_object(inner := spec.get("spec")):
            return {**value, "spec": {**spec, "spec": _claim(inner)}}
        case "ResourceSlice" if is_array(devices := spec.get("devices")):
            return {**value, "spec": {**spec, "devices": [_device(one) for one in devices]}}
        case _:
            return value


def _claim(spec: JsonObject) -> JsonObject:
    devices = spec.get("devices")
    if not is_object(devices) or not is_array(requests := devices.get("requests")):
        return spec
    return {**spec, "devices": {**devices, "requests": [_request(one) for one in requests]}}


def _request(one: object) -> object:
    if not is_object(one) or "deviceClassName" not in one:
        return one
    asked = {name: value for name, value in one.items() if name not in _BESIDE}
    return {**{name: one[name] for name in _BESIDE if name in one}, "exactly": asked}


def _device(one: object) -> object:
    if not is_object(one) or not is_object(basic := one.get("basic")):
        return one
    return {"name": one.get("name", ""), **basic}
