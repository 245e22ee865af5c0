"""Pods whose node is gone for good: nobody there can say that they have ended, so they are ended and taken away here.

As the garbage collection of pods in kube-controller-manager does: of a node that is no longer there when it has been away for a
while, and of one that is not ready and that somebody has marked as out of service.
"""

from events.event import Millis
from events.timestamp import format_timestamp
from ops.production.process.clock import ScaledClock
from ops.sandbox.embedded_cluster.controllers.controller import Controller
from ops.sandbox.embedded_cluster.deletion import ENDED
from ops.sandbox.embedded_cluster.nodes.fault_injection import NODES, node_is_heard_of
from ops.sandbox.embedded_cluster.resources import Resources
from ops.sandbox.embedded_cluster.selection import look
from ops.sandbox.embedded_cluster.store import Name, Object, ObjectChange

PODS = "pods"
ABSENT_MS = 40_000
"""How long a node has to be away before its pods go: it may be made anew under its name."""
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
_AT_ONCE = {"gracePeriodSeconds": 0}


class PodGarbage(Controller):
    """Follows nodes that go, and the pods that are left of them."""

    def __init__(self, resources: Resources, clock: ScaledClock) -> None:
        super().__init__(resources, clock)
        self._away: dict[str, Millis] = {}
        """Since when a node of some pod is known to be away."""

    def kinds(self) -> tuple[str, ...]:
        """Pods and nodes."""
        return (PODS, NODES)

    def changed(self, change: ObjectChange, name: Name) -> None:
        """A node that changes or goes has its pods looked at."""
        super().changed(change, name)
        if change.key == NODES and change.type == "DELETED":
            self._look_at_pods_of(name[1])

    def look(self, key: str, name: Name, value: Object) -> None:
        """Take a pod away whose node will never end it."""
        if key == NODES:
            self._away.pop(name[1], None)
            if _is_out_of_service(value):
                self._look_at_pods_of(name[1])
            return
        node = look(value, "spec.nodeName")
        if not node:
            return
        found = self.store.get(NODES, ("", node))
        if found is None:
            gone = self._away.setdefault(node, self.clock.now()) + ABSENT_MS
            if self.clock.now() < gone:
                self.look_again(gone, PODS, name)
            else:
                self._take_away(name, value)
        elif _is_out_of_service(found) and not node_is_heard_of(self.store, node) and _is_leaving(value):
            self._take_away(name, value)

    def _look_at_pods_of(self, node: str) -> None:
        for name, pod in sorted(self.store.of(PODS).items()):
            if look(pod, "spec.nodeName") == node:
                self.look(PODS, name, pod)

    def _take_away(self, name: Name, pod: Object) -> None:
        """End it first, so that whoever holds it by a finalizer sees that it has ended."""
        kind = self.resources.kind("", "v1", PODS)
        if look(pod, "status.phase") not in ENDED:
            status = {**(pod.get("status") or {}), "phase": "Failed", "conditions": self._conditions(pod)}
            self.resources.update(kind, name, {"metadata": {}, "status": status}, subresource="status")
        found = self.store.get(PODS, name)
        if found is not None and not (
            found["metadata"].get("deletionTimestamp") and found["metadata"].get("finalizers")
        ):
            self.resources.delete(kind, name, _AT_ONCE)

    def _conditions(self, pod: Object) -> list[Object]:
        told = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "DeletionByPodGC",
            "message": "PodGC: node no longer exists",
            "lastTransitionTime": format_timestamp(self.clock.now()),
        }
        conditions: list[Object] = look(pod, "status.conditions") or []
        return [*(one for one in conditions if one["type"] not in (told["type"], "Ready")), told]


def _is_out_of_service(node: Object) -> bool:
    return any(one.get("key") == OUT_OF_SERVICE for one in look(node, "spec.taints") or ())


def _is_leaving(pod: Object) -> bool:
    return bool(pod["metadata"].get("deletionTimestamp"))
