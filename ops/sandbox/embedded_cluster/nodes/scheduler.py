"""The scheduler's stand-in, HAMi's included: pods go to nodes that suit, GPU pods to the cards that their pins name.

It is a test double of HAMi, and knows nothing of kuelog's own fit: what kuelog reserved must hold here by itself.
"""

from typing import Any

from events.quantity import BadQuantity, to_units
from events.timestamp import format_timestamp
from ops.production.process.clock import ScaledClock
from ops.sandbox.embedded_cluster.controllers.controller import Controller
from ops.sandbox.embedded_cluster.controllers.resource_claims import CLAIMS
from ops.sandbox.embedded_cluster.nodes.device_allocation import CLASSES, SLICES, Allocation, DeviceAllocation
from ops.sandbox.embedded_cluster.nodes.hami import HamiNodes, gpu_requests
from ops.sandbox.embedded_cluster.nodes.hami_dialects import DIALECTS
from ops.sandbox.embedded_cluster.resources import Resources
from ops.sandbox.embedded_cluster.selection import look
from ops.sandbox.embedded_cluster.store import Name, Object, ObjectChange

PODS, NODES = "pods", "nodes"
_EXTENDED_BY_HAMI = frozenset(name for one in DIALECTS.values() for name in one.names())


class Scheduler(Controller):
    """Assigns pending pods to nodes, oldest first."""

    def __init__(self, resources: Resources, clock: ScaledClock) -> None:
        super().__init__(resources, clock)
        self._pending: dict[Name, None] = {}
        self._hami, self._devices = HamiNodes(resources.store), DeviceAllocation(resources)
        self._stirred = True
        self._left: dict[str, dict[str, int]] = {}
        """What is left of each node's resources, reckoned once a round."""

    def kinds(self) -> tuple[str, ...]:
        """Pods and nodes, and what devices are claimed and found by."""
        return (PODS, NODES, SLICES, CLASSES, CLAIMS)

    def changed(self, change: ObjectChange, name: Name) -> None:
        """Anything that may have made room stirs those that wait."""
        if change.type == "DELETED" or look(change.object, "status.phase") in ("Succeeded", "Failed"):
            self._stirred = True
        super().changed(change, name)

    def look(self, key: str, name: Name, value: Object) -> None:
        """Remember a pod that waits for a node."""
        if key != PODS:
            self._stirred = True
            return
        waiting = (
            not look(value, "spec.nodeName")
            and look(value, "status.phase") == "Pending"
            and not value["metadata"].get("deletionTimestamp")
            and not look(value, "spec.schedulingGates")
        )
        if waiting and name not in self._pending:
            self._pending[name] = None
            self._stirred = True
        elif not waiting:
            self._pending.pop(name, None)

    def settled(self, idle: bool) -> None:  # noqa: FBT001
        """Try those that wait, once things have calmed down."""
        if not (idle and self._stirred):
            return
        self._stirred = False
        self._left = {}
        for name in list(self._pending):
            pod = self.store.get(PODS, name)
            if pod is None or self._assign(name, pod):
                self._pending.pop(name, None)

    def _assign(self, name: Name, pod: Object) -> bool:
        refusals: dict[str, int] = {}
        suitable: list[Object] = []
        allocations: dict[str, Allocation] = {}
        for (_, _), node in sorted(self.store.of(NODES).items()):
            why = self._refuses(node, pod) or self._claims(node, pod, allocations)
            if why:
                refusals[why] = refusals.get(why, 0) + 1
            else:
                suitable.append(node)
        requests = gpu_requests(pod)
        annotations: dict[str, str] = {}
        chosen: Object | None = suitable[0] if suitable else None
        if any(requests):
            chosen = None
            found, why = self._hami.choose(suitable, pod, requests, self.clock.now())
            if found is None:
                refusals[why] = len(suitable)
            else:
                chosen, annotations = found
        if chosen is None:
            self._unschedulable(name, pod, refusals)
            return False
        node_name = chosen["metadata"]["name"]
        if node_name in allocations:
            pod = self._devices.give(pod, allocations[node_name])
        self._bind(name, pod, node_name, annotations)
        return True

    def _claims(self, node: Object, pod: Object, allocations: dict[str, Allocation]) -> str:
        """Why a node has not the devices that a pod claims; empty where it has, or where nothing is claimed."""
        extended = {name: amount for name, amount in _requests(pod).items() if self._by_class(name, node)}
        if not extended and not pod["spec"].get("resourceClaims"):
            return ""
        found = self._devices.find(node["metadata"]["name"], pod, extended)
        if isinstance(found, str):
            return found
        allocations[node["metadata"]["name"]] = found
        return ""

    def _by_class(self, resource: str, node: Object) -> bool:
        """Whether a resource is no plugin's on a node, and a device class stands behind it."""
        return resource not in (look(node, "status.allocatable") or {}) and bool(self._devices.extended(resource))

    def _bind(self, name: Name, pod: Object, node: str, annotations: dict[str, str]) -> None:
        left = self._left.get(node, {})
        for resource, amount in {**_requests(pod), "pods": 1}.items():
            if resource in left:
                left[resource] -= amount
        meta = dict(pod["metadata"])
        if annotations:
            meta["annotations"] = {**(meta.get("annotations") or {}), **annotations}
        now = format_timestamp(self.clock.now())
        conditions = [one for one in look(pod, "status.conditions") or () if one["type"] != "PodScheduled"]
        status = {
            **(pod.get("status") or {}),
            "conditions": [*conditions, {"type": "PodScheduled", "status": "True", "lastTransitionTime": now}],
        }
        self.store.put(
            PODS, name, {**pod, "metadata": meta, "spec": {**pod["spec"], "nodeName": node}, "status": status}
        )

    def _unschedulable(self, name: Name, pod: Object, refusals: dict[str, int]) -> None:
        total = len(self.store.of(NODES))
        told = ", ".join(f"{count} {why}" for why, count in sorted(refusals.items())) or "no nodes"
        message = f"0/{total} nodes are available: {told}."
        kept = [one for one in look(pod, "status.conditions") or () if one["type"] != "PodScheduled"]
        old = look(pod, 'status.conditions[?(@.type=="PodScheduled")].message')
        if old == message:
            return
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": message,
            "lastTransitionTime": format_timestamp(self.clock.now()),
        }
        status = {**(pod.get("status") or {}), "conditions": [*kept, condition]}
        self.store.put(PODS, name, {**pod, "status": status})

    def _refuses(self, node: Object, pod: Object) -> str:  # noqa: C901 - one check after the other
        spec = pod["spec"]
        labels = node["metadata"].get("labels") or {}
        if look(node, "spec.unschedulable"):
            return "node(s) were unschedulable"
        if look(node, 'status.conditions[?(@.type=="Ready")].status') in ("False", "Unknown"):
            return "node(s) were not ready"
        if any(labels.get(key) != value for key, value in (spec.get("nodeSelector") or {}).items()):
            return "node(s) didn't match Pod's node affinity/selector"
        terms = look(spec, "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms")
        named = {"metadata.name": node["metadata"]["name"]}
        if terms and not any(
            all(_meets(labels, one) for one in term.get("matchExpressions") or ())
            and all(_meets(named, one) for one in term.get("matchFields") or ())
            for term in terms
        ):
            return "node(s) didn't match Pod's node affinity/selector"
        for taint in look(node, "spec.taints") or ():
            if taint["effect"] != "PreferNoSchedule" and not any(
                _tolerates(one, taint) for one in spec.get("tolerations") or ()
            ):
                return f"node(s) had untolerated taint {{{taint['key']}: {taint.get('value', '')}}}"
        free = self._free(node)
        for resource, amount in _requests(pod).items():
            if resource in _EXTENDED_BY_HAMI or self._by_class(resource, node):
                continue
            if amount > free.get(resource, 0):
                return f"Insufficient {resource}"
        return ""

    def _free(self, node: Object) -> dict[str, int]:
        node_name = node["metadata"]["name"]
        if node_name in self._left:
            return self._left[node_name]
        free = {name: to_units(name, text) for name, text in (look(node, "status.allocatable") or {}).items()}
        for pod in self.store.of(PODS).values():
            if look(pod, "spec.nodeName") != node_name:
                continue
            if look(pod, "status.phase") in ("Succeeded", "Failed"):
                continue
            for resource, amount in {**_requests(pod), "pods": 1}.items():
                if resource in free:
                    free[resource] -= amount
        self._left[node_name] = free
        return free


def _requests(pod: Object) -> dict[str, int]:
    total: dict[str, int] = {"pods": 1}
    for container in pod["spec"].get("containers") or ():
        resources = container.get("resources") or {}
        asked: dict[str, Any] = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
        for name, text in asked.items():
            try:
                total[name] = total.get(name, 0) + to_units(name, text)
            except BadQuantity:
                continue
    return total


def _tolerates(toleration: Object, taint: Object) -> bool:
    if toleration.get("effect") not in (None, "", taint["effect"]):
        return False
    if toleration.get("key") not in (None, "", taint["key"]):
        return False
    return toleration.get("operator") == "Exists" or toleration.get("value", "") == taint.get("value", "")


def _meets(labels: Object, one: Object) -> bool:
    value, values = labels.get(one["key"]), one.get("values") or ()
    return {
        "In": value in values,
        "NotIn": value not in values,
        "Exists": value is not None,
        "DoesNotExist": value is None,
    }.get(one["operator"], False)
