"""Ends pods by force that hang on nodes out of reach, as Kueue's failure recovery does: they fail, and go from the API at once.

Rule: docs/rules/eviction.md#failure-recovery
"""

from events.api.labels import FORCIBLE
from events.event import Millis
from events.json_object import JsonObject
from events.pod import PodEndForced
from projections.devices.state import DeviceState
from services.applier.events.cluster_events import pod_event
from services.applier.events.event_recorder import EventRecorder
from services.applier.pods.start_or_end import PODS, failed
from services.applier.writes.low_priority_writes import LowPriorityWrites
from services.applier.writes.retried_writes import RetriedWrites
from services.jobs.kinds import pods as rules
from services.runtime.clock_port import Clock
from services.runtime.cluster_port import Writer

CONDITION, REASON = "KueueFailureRecovery", "KueueForcefullyDeleted"


class ForcedPods:
    """Marks them as failed and deletes them, with retries; that they are gone is seen in the pods themselves."""

    def __init__(self, writer: Writer, clock: Clock, spare: LowPriorityWrites, notices: EventRecorder) -> None:
        self._writer, self._clock, self._notices = writer, clock, notices
        self._ending = RetriedWrites("pod", "pod not ended by force", self._end, clock, turn=spare.turn)
        self._offered: set[str] = set()
        """The UIDs of pods that were handed on and are not gone yet."""

    def observe(self, world: DeviceState) -> None:
        """Take up the pods that are to end; called after each turn of the partition."""
        for key, event in world.forced_pods.items():
            if event.uid not in self._offered:
                self._ending.offer(key, event)
        self._offered = {one.uid for one in world.forced_pods.values()}

    async def run(self) -> None:
        """End pods of which it was decided, until cancelled."""
        await self._ending.run()

    async def _end(self, key: str, event: PodEndForced) -> None:
        pod = await self._writer.get(PODS, event.namespace, event.pod)
        if pod["metadata"].get("uid") != event.uid or not rules.is_leaving(pod):
            return
        now = self._clock.now()
        await self._writer.merge(PODS, event.namespace, event.pod, forced(pod, event, now), subresource="status")
        self._notices.record(
            pod_event(event.namespace, event.pod, event.uid, now, REASON, message(event), warning=True)
        )
        await self._writer.delete(PODS, event.namespace, event.pod, uid=event.uid, at_once=True)


def message(event: PodEndForced) -> str:
    """Why it has to go, in Kueue's words."""
    why = f"due to unreachable node `{event.node}` (triggered by `{FORCIBLE}` annotation)"
    return f"Pod forcefully terminated after 1m0s grace period {why}"


def forced(pod: JsonObject, event: PodEndForced, at: Millis) -> JsonObject:
    """The patch of its status by which it has failed, in Kueue's words."""
    return failed(pod, CONDITION, REASON, message(event), at)
