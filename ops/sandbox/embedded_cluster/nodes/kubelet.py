"""The kubelet's stand-in: bound pods run for as long as their annotation says, then end; deleted ones go."""

from events.api.labels import EXIT, RUN_SECONDS, TERMINATION_SECONDS
from events.event import Millis
from events.timestamp import format_timestamp
from ops.production.process.clock import ScaledClock
from ops.sandbox.embedded_cluster.controllers.controller import Controller
from ops.sandbox.embedded_cluster.deletion import ENDED
from ops.sandbox.embedded_cluster.nodes.fault_injection import node_is_heard_of
from ops.sandbox.embedded_cluster.resources import Resources
from ops.sandbox.embedded_cluster.selection import look
from ops.sandbox.embedded_cluster.store import Name, Object

PODS = "pods"
_JOB_POD_RUNS_S = 10.0
_KEEPS_RUNNING = frozenset({"ReplicaSet", "StatefulSet"})
"""Owners whose pods serve until they are deleted."""
_LOST_MS = 1000
"""How often a pod on a lost node is looked at."""


class Kubelet(Controller):
    """Runs the pods of all nodes, in name only."""

    def __init__(self, resources: Resources, clock: ScaledClock) -> None:
        super().__init__(resources, clock)
        self._started: dict[str, Millis] = {}
        self._deleted: dict[str, Millis] = {}

    def kinds(self) -> tuple[str, ...]:
        """Pods."""
        return (PODS,)

    def look(self, key: str, name: Name, value: Object) -> None:
        """Start, end or remove a pod when its time has come; nothing is heard of pods on a lost node."""
        uid, node = value["metadata"]["uid"], look(value, "spec.nodeName")
        if node and not node_is_heard_of(self.store, node):
            self.look_again(self.clock.now() + _LOST_MS, PODS, name)
            return
        phase = look(value, "status.phase")
        if value["metadata"].get("deletionTimestamp"):
            self._remove(name, value, uid)
        elif look(value, "spec.nodeName") and phase == "Pending":
            self._started[uid] = self.clock.now()
            self._tell(name, value, "Running", ready=True)
        elif phase == "Running":
            self._end(name, value, uid)

    def _end(self, name: Name, value: Object, uid: str) -> None:
        seconds = _seconds(value, RUN_SECONDS)
        if seconds is None:
            owners: list[Object] = value["metadata"].get("ownerReferences") or []
            if not owners or any(one.get("kind") in _KEEPS_RUNNING for one in owners):
                return
            seconds = _JOB_POD_RUNS_S
        end = self._started.setdefault(uid, self.clock.now()) + int(seconds * 1000)
        if self.clock.now() < end:
            self.look_again(end, PODS, name)
            return
        failed = (value["metadata"].get("annotations") or {}).get(EXIT, "0") != "0"
        self._tell(name, value, "Failed" if failed else "Succeeded", ready=False)

    def _remove(self, name: Name, value: Object, uid: str) -> None:
        gone = self._deleted.setdefault(uid, self.clock.now()) + int((_seconds(value, TERMINATION_SECONDS) or 0) * 1000)
        if self.clock.now() < gone:
            self.look_again(gone, PODS, name)
            return
        self._started.pop(uid, None)
        if value["metadata"].get("finalizers"):
            # What somebody holds has ended all the same.
            if look(value, "spec.nodeName") and look(value, "status.phase") not in ENDED:
                self._tell(name, value, "Failed", ready=False)
            return
        self._deleted.pop(uid, None)
        self.store.remove(PODS, name)

    def _tell(self, name: Name, value: Object, phase: str, *, ready: bool) -> None:
        now = format_timestamp(self.clock.now())
        truth = "True" if ready else "False"
        kept = [
            one for one in look(value, "status.conditions") or () if one["type"] not in ("Ready", "ContainersReady")
        ]
        conditions = [
            *kept,
            *({"type": kind, "status": truth, "lastTransitionTime": now} for kind in ("Ready", "ContainersReady")),
        ]
        status = {**(value.get("status") or {}), "phase": phase, "conditions": conditions}
        if phase == "Running":
            status["startTime"] = now
        self.resources.update(
            self.resources.kind("", "v1", PODS), name, {"metadata": {}, "status": status}, subresource="status"
        )


def _seconds(value: Object, annotation: str) -> float | None:
    text = (value["metadata"].get("annotations") or {}).get(annotation)
    try:
        return None if text is None else max(float(text), 0.0)
    except ValueError:
        return None
