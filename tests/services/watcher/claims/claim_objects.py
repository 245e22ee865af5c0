"""Classes, templates, slices and pods that claim devices, written short."""

from typing import Any

from events.claims import DeviceClassMapping, DeviceSource
from events.json_object import JsonObject
from events.settings import SettingsObserved

GROUP = "resource.k8s.io/v1"


def _cel(expression: str) -> list[JsonObject]:
    return [{"cel": {"expression": expression}}] if expression else []


def mapping(resource: str, of: Any) -> DeviceClassMapping:
    """Classes that are counted as a resource, by their devices or by a `counter` or `capacity`: name, driver, expression."""
    if isinstance(of, list):
        return DeviceClassMapping(resource=resource, classes=tuple(of))
    sources = [
        DeviceSource(driver=driver, selector=selector, **{kind: name})
        for kind in ("counter", "capacity")
        for name, driver, selector in ([of[kind]] if kind in of else [])
    ]
    return DeviceClassMapping(resource=resource, classes=tuple(of["classes"]), sources=tuple(sources))


def settings(mappings: JsonObject, gates: dict[str, bool] | None = None) -> SettingsObserved:
    """Settings with these mappings, by resource."""
    found = tuple(mapping(resource, of) for resource, of in mappings.items())
    return SettingsObserved(device_class_mappings=found, gates=gates or {})


def device_class(name: str, *, cel: str = "", extended: str = "", created: str = "2026-01-01T00:00:00Z") -> JsonObject:
    """A DeviceClass."""
    spec = {"selectors": _cel(cel), **({"extendedResourceName": extended} if extended else {})}
    meta = {"name": name, "uid": f"uid-{name}", "creationTimestamp": created}
    return {"apiVersion": GROUP, "kind": "DeviceClass", "metadata": meta, "spec": spec}


def template(name: str, requests: list[JsonObject], namespace: str = "default") -> JsonObject:
    """A ResourceClaimTemplate."""
    found: list[JsonObject] = []
    for index, one in enumerate(requests):
        request: JsonObject = {"name": f"r{index}"}
        if "first" in one:
            request["firstAvailable"] = one["first"]
        elif "nothing" not in one:
            exact: JsonObject = {
                "deviceClassName": one.get("class", ""),
                "selectors": _cel(one.get("cel", "")),
                "allocationMode": one.get("mode", "ExactCount"),
                "count": one.get("count", 1),
            }
            if "admin" in one:
                exact["adminAccess"] = one["admin"]
            if "capacity" in one:
                exact["capacity"] = {"requests": one["capacity"]}
            request["exactly"] = exact
        found.append(request)
    meta = {"name": name, "namespace": namespace, "uid": f"uid-{namespace}-{name}"}
    spec = {"spec": {"devices": {"requests": found}}}
    return {"apiVersion": GROUP, "kind": "ResourceClaimTemplate", "metadata": meta, "spec": spec}


def resource_slice(
    name: str, *, driver: str, devices: JsonObject, pool: tuple[str, int, int] | None = None, node: str = "n1"
) -> JsonObject:
    """A ResourceSlice, with all that a device says besides capacity and counters as its attributes."""
    of, generation, count = pool or (name, 1, 1)
    found: list[JsonObject] = []
    for device, says in devices.items():
        typed = {str: "string", bool: "bool", int: "int"}
        attributes = {
            key: {typed[type(value)]: value} for key, value in says.items() if key not in ("capacity", "counters")
        }
        one: JsonObject = {"name": device, "attributes": attributes, "capacity": says.get("capacity", {})}
        if "counters" in says:
            counters = {key: {"value": value} for key, value in says["counters"].items()}
            one["consumesCounters"] = [{"counterSet": "all", "counters": counters}]
        found.append(one)
    meta = {"name": name, "uid": f"uid-{name}"}
    said = {"name": of, "generation": generation, "resourceSliceCount": count}
    spec = {"driver": driver, "pool": said, "nodeName": node, "devices": found}
    return {"apiVersion": GROUP, "kind": "ResourceSlice", "metadata": meta, "spec": spec}


def claim(name: str, *given: str, **says: Any) -> JsonObject:
    """A ResourceClaim of one request `r` for class `a` that was given devices, each as `driver/pool/device`.

    `pods` for which it is reserved, `owner` the pod that it was made for, `each` said of all devices, `request` in place of the one.
    """
    results = [
        dict(zip(("request", "driver", "pool", "device"), ("r", *one.split("/")), strict=True), **says.get("each", {}))
        for one in given
    ]
    reserved = [{"resource": "pods", "name": one, "uid": f"u-{one}"} for one in says.get("pods", ())]
    meta: JsonObject = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
    if "owner" in says:
        owner = {"apiVersion": "v1", "kind": "Pod", "name": says["owner"], "uid": "u", "controller": True}
        meta["ownerReferences"] = [owner]
    status: JsonObject = {"reservedFor": reserved}
    if given:
        status["allocation"] = {"devices": {"results": results}}
    request = says.get("request", {"name": "r", "exactly": {"deviceClassName": "a"}})
    spec = {"devices": {"requests": [request]}}
    return {"apiVersion": GROUP, "kind": "ResourceClaim", "metadata": meta, "spec": spec, "status": status}


def pod_spec(says: JsonObject) -> JsonObject:
    """The specification of a pod: `templates` and `claims` by name, `init` and `containers` with what each asks for."""
    claims = [{"name": f"t{i}", "resourceClaimTemplateName": one} for i, one in enumerate(says.get("templates", ()))]
    claims += [{"name": f"c{i}", "resourceClaimName": one} for i, one in enumerate(says.get("claims", ()))]

    def containers(key: str) -> list[JsonObject]:
        asked = says.get(key, [{}] if key == "containers" else [])
        return [
            {"name": f"{key}{i}", "image": "x", "resources": {"limits": one, "requests": one}}
            for i, one in enumerate(asked)
        ]

    return {"containers": containers("containers"), "initContainers": containers("init"), "resourceClaims": claims}
