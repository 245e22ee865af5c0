"""The scheduler's stand-in for devices of ResourceSlices: which of them the claims of a pod get on a node.

It is a test double of the allocator of Kubernetes, and knows nothing of how kuelog counts claims.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from typing import Any, cast

import msgspec

from events.api.claims import ApiDevice
from events.quantity import parse_quantity
from ops.production.device_selectors import DeviceSelectors
from ops.sandbox.embedded_cluster.controllers.owned_pods import owner_reference
from ops.sandbox.embedded_cluster.controllers.resource_claims import CLAIMS
from ops.sandbox.embedded_cluster.resources import Resources
from ops.sandbox.embedded_cluster.selection import look
from ops.sandbox.embedded_cluster.store import Name, Object
from services.watcher.claims.capacity import granted
from services.watcher.claims.selectors import SelectorFailed

SLICES, CLASSES = "resourceslices.resource.k8s.io", "deviceclasses.resource.k8s.io"
_Place = tuple[str, str, str]
"""Driver, pool and name of a device."""
_NONE_LEFT = "cannot allocate all claims"


class Allocation(msgspec.Struct):
    """What the claims of one pod get on one node."""

    node: str
    results: dict[Name, list[Object]]
    """By claim; only of those that had nothing before."""
    shared: list[Name]
    """All claims of the pod."""
    extended: list[Object]
    """What it gets for its extended resources, in a claim that is made for that."""


class DeviceAllocation:
    """The published devices, and who holds them."""

    def __init__(self, resources: Resources) -> None:
        self._resources, self._store = resources, resources.store

    @cached_property
    def _selectors(self) -> DeviceSelectors:
        return DeviceSelectors()

    def extended(self, resource: str) -> str:
        """The class behind an extended resource: the latest that names it, of equals the first by name; empty without one."""
        found = [
            (one["metadata"].get("creationTimestamp", ""), name)
            for (_, name), one in self._store.of(CLASSES).items()
            if look(one, "spec.extendedResourceName") == resource
        ]
        latest = max((created for created, _ in found), default="")
        return min((name for created, name in found if created == latest), default="")

    def find(self, node: str, pod: Object, extended: dict[str, int]) -> Allocation | str:
        """What a pod's claims get on a node, or why they get nothing; `extended` is what it asks for by such names."""
        namespace = pod["metadata"].get("namespace", "")
        found = Allocation(node, {}, [], [])
        room = _Room(self._store.of(SLICES), self._store.of(CLAIMS), node)
        named = {one["name"]: one["resourceClaimName"] for one in look(pod, "status.resourceClaimStatuses") or ()}
        for one in pod["spec"].get("resourceClaims") or ():
            name = (namespace, one.get("resourceClaimName") or named.get(one["name"], ""))
            claim = self._store.get(CLAIMS, name)
            if claim is None:
                return f"waiting for the claim {one['name']} of the pod"
            found.shared.append(name)
            held = look(claim, "status.allocation")
            if held:
                if look(held, "nodeSelector.node") not in (None, node):
                    return "resourceclaim not available on the node"
                continue
            results = self._of_claim(room, look(claim, "spec.devices.requests") or ())
            if isinstance(results, str):
                return results
            found.results[name] = results
        for resource, count in sorted(extended.items()):
            results = self._of_request(room, resource, {"deviceClassName": self.extended(resource), "count": count})
            if isinstance(results, str):
                return results
            found.extended.extend(results)
        return found

    def give(self, pod: Object, allocation: Allocation) -> Object:
        """Write into the claims what they get, and that the pod holds them; the pod, with the claim made for its extended resources."""
        meta = pod["metadata"]
        reserved = {"resource": "pods", "name": meta["name"], "uid": meta["uid"]}
        if allocation.extended:
            kind = self._resources.kind("resource.k8s.io", "v1", "resourceclaims")
            owner = {"ownerReferences": [owner_reference({"apiVersion": "v1", "kind": "Pod", **pod})]}
            marked = {"annotations": {"resource.kubernetes.io/extended-resource-claim": "true"}}
            requests = [
                {"name": one, "exactly": {"deviceClassName": self.extended(one)}}
                for one in dict.fromkeys(result["request"] for result in allocation.extended)
            ]
            spec = {"devices": {"requests": requests}}
            value = {
                "metadata": {"generateName": f"{meta['name']}-extended-resources-", **owner, **marked},
                "spec": spec,
            }
            made = self._resources.create(kind, meta["namespace"], value)
            name = (meta["namespace"], made["metadata"]["name"])
            named = {"extendedResourceClaimStatus": {"resourceClaimName": name[1]}}
            pod = {**pod, "status": {**(pod.get("status") or {}), **named}}
            allocation.results[name] = allocation.extended
            allocation.shared.append(name)
        for name in allocation.shared:
            claim = cast(Object, self._store.get(CLAIMS, name))
            status = dict(claim.get("status") or {})
            if name in allocation.results:
                status["allocation"] = {
                    "devices": {"results": allocation.results[name]},
                    # Written short: which node it is, instead of terms that only that node meets.
                    "nodeSelector": {"node": allocation.node},
                }
            status["reservedFor"] = [*(status.get("reservedFor") or ()), reserved]
            self._store.put(CLAIMS, name, {**claim, "status": status})
        return pod

    def _of_claim(self, room: "_Room", requests: Any) -> list[Object] | str:
        results: list[Object] = []
        for request in requests:
            found = self._of_request(room, request["name"], request.get("exactly") or {})
            if isinstance(found, str):
                return found
            results.extend(found)
        return results

    def _of_request(self, room: "_Room", name: str, exact: Object) -> list[Object] | str:
        found = self._store.get(CLASSES, ("", exact.get("deviceClassName", "")))
        if found is None:
            return f"request {name}: device class {exact.get('deviceClassName', '')} does not exist"
        wanted = [
            one["cel"]["expression"]
            for one in (*(look(found, "spec.selectors") or ()), *(exact.get("selectors") or ()))
            if "cel" in one
        ]
        asked = look(exact, "capacity.requests") or {}
        results: list[Object] = []
        for place, device in room.devices():
            if len(results) == exact.get("count", 1):
                break
            try:
                suits = all(self._selectors.meets(one, place[0], device) for one in wanted)
            except SelectorFailed as failed:
                return f"request {name}: {failed}"
            result = room.take(place, device, asked, admin=bool(exact.get("adminAccess"))) if suits else None
            if result is not None:
                results.append({"request": name, **result})
        return results if len(results) == exact.get("count", 1) else _NONE_LEFT


class _Room:
    """The devices that a node reaches, and what of them is left."""

    def __init__(self, slices: dict[Name, Object], claims: dict[Name, Object], node: str) -> None:
        self._taken: set[_Place] = set()
        self._given: dict[tuple[_Place, str], Fraction] = {}
        self._counters: dict[tuple[str, str, str, str], Fraction] = {}
        self._devices: dict[_Place, ApiDevice] = {}
        everywhere: dict[_Place, ApiDevice] = {}
        for _, one in sorted(slices.items()):
            spec = one["spec"]
            pool = (spec["driver"], spec["pool"]["name"])
            for counters in spec.get("sharedCounters") or ():
                for name, value in counters["counters"].items():
                    self._counters[(*pool, counters["name"], name)] = parse_quantity(value["value"])
            for value in spec.get("devices") or ():
                device = msgspec.convert(value, ApiDevice)
                everywhere[(*pool, device.name)] = device
                if spec.get("allNodes") or spec.get("nodeName") == node:
                    self._devices[(*pool, device.name)] = device
        for claim in claims.values():
            for result in look(claim, "status.allocation.devices.results") or ():
                place = (result["driver"], result["pool"], result["device"])
                if place in everywhere and not result.get("adminAccess"):
                    self._hold(place, everywhere[place], result.get("consumedCapacity"))

    def devices(self) -> Iterator[tuple[_Place, ApiDevice]]:
        """All that the node reaches, in order."""
        yield from sorted(self._devices.items(), key=lambda one: one[0])

    def take(self, place: _Place, device: ApiDevice, asked: Object, *, admin: bool) -> Object | None:
        """Take a device, or as much of it as is asked for; None where that is not left."""
        result: Object = {"driver": place[0], "pool": place[1], "device": place[2]}
        if admin:
            return {**result, "adminAccess": True}
        if any(self._counters.get(one, Fraction(0)) < amount for one, amount in self._consumed(place, device)):
            return None
        if not device.allow_multiple_allocations:
            if place in self._taken:
                return None
            self._hold(place, device, None)
            return result
        consumed: dict[str, str] = {}
        for name, capacity in (device.capacity or {}).items():
            amount = granted(capacity, asked.get(name))
            if amount is None or self._given.get((place, name), Fraction(0)) + amount > parse_quantity(capacity.value):
                return None
            consumed[name] = str(amount)
        self._hold(place, device, consumed)
        return {**result, "consumedCapacity": consumed, "shareID": f"share-{len(self._given)}"}

    def _hold(self, place: _Place, device: ApiDevice, consumed: Object | None) -> None:
        self._taken.add(place)
        for one, amount in self._consumed(place, device):
            self._counters[one] = self._counters.get(one, Fraction(0)) - amount
        for name, amount in (consumed or {}).items():
            self._given[place, name] = self._given.get((place, name), Fraction(0)) + Fraction(amount)

    @staticmethod
    def _consumed(place: _Place, device: ApiDevice) -> list[tuple[tuple[str, str, str, str], Fraction]]:
        return [
            ((*place[:2], one.counter_set, name), parse_quantity(value.value))
            for one in device.consumes_counters or ()
            for name, value in one.counters.items()
        ]
