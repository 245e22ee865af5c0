"""Events that say why a pod has no node, as the scheduler tells them beside the pod's condition."""

import hashlib

from events.timestamp import format_timestamp
from ops.sandbox.embedded_cluster.controllers.controller import Controller
from ops.sandbox.embedded_cluster.selection import look
from ops.sandbox.embedded_cluster.store import Name, Object

PODS, EVENTS = "pods", "events"


class SchedulingEvents(Controller):
    """One event for each pod and each reason."""

    def kinds(self) -> tuple[str, ...]:
        """Pods."""
        return (PODS,)

    def look(self, key: str, name: Name, value: Object) -> None:
        """Tell why the pod fits no node, unless that was told."""
        condition = look(value, 'status.conditions[?(@.type=="PodScheduled")]') or {}
        if condition.get("reason") != "Unschedulable" or value["metadata"].get("deletionTimestamp"):
            return
        space = self.store.get("namespaces", ("", name[0]))
        if space is None or space["metadata"].get("deletionTimestamp"):
            return
        uid, message = value["metadata"]["uid"], condition["message"]
        told = f"{name[1]}.{hashlib.sha256(f'{uid}/{message}'.encode()).hexdigest()[:16]}"
        if self.store.get(EVENTS, (name[0], told)) is not None:
            return
        now = format_timestamp(self.clock.now())
        about = {"apiVersion": "v1", "kind": "Pod", "namespace": name[0], "name": name[1], "uid": uid}
        event = {
            "metadata": {"name": told},
            "type": "Warning",
            "reason": "FailedScheduling",
            "message": message,
            "involvedObject": about,
            "source": {"component": "default-scheduler"},
            "reportingComponent": "default-scheduler",
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        self.resources.create(self.resources.kind("", "v1", EVENTS), name[0], event)
