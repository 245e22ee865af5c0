"""Removes our finalizer from pods whose end is on the log, and deletes pods that a group has no place for.

These are writes of low priority.
"""

from events.api.labels import MANAGED
from events.json_object import JsonObject
from events.pod import PodAccounted
from services.applier.events.cluster_events import pod_event
from services.applier.events.event_recorder import EventRecorder
from services.applier.pods.start_or_end import PODS, end_pods
from services.applier.state import ApplierState
from services.applier.writes.low_priority_writes import LowPriorityWrites
from services.applier.writes.retried_writes import RetriedWrites
from services.jobs.kinds import pods as rules
from services.runtime.clock_port import Clock
from services.runtime.cluster_port import Writer

_WHY = {"ExcessPodDeleted": "Excess pod deleted", "WorkloadDeleted": "The workload is deleted"}


class PodKeeper:
    """Removes finalizers, and deletes excess pods. The outcome of a pod is on the log before its finalizer is removed."""

    def __init__(self, writer: Writer, clock: Clock, spare: LowPriorityWrites, notices: EventRecorder) -> None:
        self._writer, self._notices = writer, notices
        self._letting_go = RetriedWrites("pod", "pod not let go", self._let_go, clock, turn=spare.turn)

    def observe(self, world: ApplierState) -> None:
        """Take up the pods to release or delete; called after each turn of the partition."""
        for key in world.pod_work.take("pod-keeper"):
            found = world.accounted.get(key)
            if found is not None:
                self._letting_go.offer(key, found)

    async def run(self) -> None:
        """Take our finalizer off pods that are accounted for, until cancelled."""
        await self._letting_go.run()

    async def _let_go(self, _: str, event: PodAccounted) -> None:
        pod = await self._writer.get(PODS, event.namespace, event.name)
        meta: JsonObject = pod["metadata"]
        if meta.get("uid") != event.uid:
            return
        if event.doomed and not rules.is_leaving(pod):
            await end_pods(self._writer, pod, event.doomed, _WHY[event.doomed])
            self._notices.record(
                pod_event(event.namespace, event.name, event.uid, self._notices.now, event.doomed, _WHY[event.doomed])
            )
        if rules.is_held(pod):
            left = [one for one in meta["finalizers"] if one != MANAGED]
            patch: JsonObject = {"metadata": {"uid": event.uid, "finalizers": left or None}}
            await self._writer.merge(PODS, event.namespace, event.name, patch)
