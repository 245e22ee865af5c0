"""Ends pods that were sent to a node by its name and will never get there, as Kueue's node controller does.

Rule: docs/rules/topology.md#stranded-pods
"""

from collections.abc import Sequence

from events.api.labels import TOPOLOGY_GATE
from events.event import Millis
from events.json_object import JsonObject
from events.json_path import get
from projections.topology.placement.node_failures import stranded_pods
from projections.topology.state import TopologyState
from services.applier.events.cluster_events import pod_event
from services.applier.events.event_recorder import EventRecorder
from services.applier.pods.start_or_end import PODS, failed
from services.applier.writes.low_priority_writes import LowPriorityWrites
from services.applier.writes.retried_writes import RetriedWrites
from services.jobs.kinds import pods as rules
from services.jobs.pod_sets.scheduling_gates import waits_at
from services.runtime.clock_port import Clock
from services.runtime.cluster_port import Writer

CONDITION, REASON = "TerminatedByKueue", "UnschedulableOnAssignedNode"
MESSAGE = "Pod terminated by Kueue NodeController due to node taint"
_EVENT = "PodTerminatedByKueue"


class StrandedPods:
    """Marks them as failed, with retries; that they have failed is seen in the pods themselves."""

    def __init__(self, writer: Writer, clock: Clock, spare: LowPriorityWrites, notices: EventRecorder) -> None:
        self._writer, self._clock, self._notices = writer, clock, notices
        self._ending = RetriedWrites("pod", "pod not ended", self._end, clock, turn=spare.turn)
        self._offered: dict[str, set[str]] = {}
        """By workload, the UIDs of pods that were handed on and are not seen to have failed."""

    def observe(self, world: TopologyState, touched: Sequence[str]) -> None:
        """Take up the pods that are to end; called after each turn of the partition."""
        for key in touched:
            offered = self._offered.pop(key, set[str]())
            workload = world.workloads.get(key)
            found = stranded_pods(world, workload) if workload is not None and key in world.placed_pods else ()
            for one in found:
                if one.uid not in offered:
                    self._ending.offer(f"{one.namespace}/{one.name}", one.uid)
            if found:
                self._offered[key] = {one.uid for one in found}

    async def run(self) -> None:
        """End pods that wait for a job that is gone, until cancelled."""
        await self._ending.run()

    async def _end(self, key: str, uid: str) -> None:
        namespace, _, name = key.partition("/")
        pod = await self._writer.get(PODS, namespace, name)
        if pod["metadata"].get("uid") != uid or not still_waits(pod):
            return
        now = self._clock.now()
        await self._writer.merge(PODS, namespace, name, ended(pod, now), subresource="status")
        self._notices.record(pod_event(namespace, name, uid, now, _EVENT, MESSAGE))


def still_waits(pod: JsonObject) -> bool:
    """Whether nothing has taken the pod, and nothing ends it."""
    waits = not get(pod, ("spec", "nodeName")) and get(pod, ("status", "phase")) in (None, "Pending")
    return waits and not rules.is_leaving(pod) and not waits_at(pod, TOPOLOGY_GATE)


def ended(pod: JsonObject, at: Millis) -> JsonObject:
    """The patch of its status by which it has failed, in Kueue's words."""
    return failed(pod, CONDITION, REASON, MESSAGE, at)
