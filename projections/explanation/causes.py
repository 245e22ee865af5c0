"""What made a decision possible: the nearest earlier event without which it would not have been made then.

A commit may name its cause; most causes are derived here, by rule: an order follows the request of the preemptor, a
release follows the pods that are gone, and a pending workload is tried when quota came back or it was queued.
A workload that is gone is forgotten when no event was about it for an hour of the log's own time.
"""

from events.admission import AdmissionRefused, PreemptionRequested, QuotaReserved
from events.application import DecisionApplied, DecisionRejected
from events.catalogue import AnyEvent
from events.control import ObjectRemoved
from events.device import DevicesReleased, PodObserved
from events.multikueue import (
    MultiKueueClusterObserved,
    MultiKueueConfigObserved,
    QuotaAutomationSettled,
    RemoteQueuesObserved,
)
from events.preemption import PreemptionOrdered, PreemptionRefused, PreemptionWasted
from events.quota import ClusterQueueObserved, CohortObserved
from events.slices import WorkloadSliceResized
from events.workload import QuotaReleased, WorkloadDeleted, WorkloadFinished
from projections.log_position import LogPosition
from projections.workloads.long_gone import LongGone


class Causes:
    """Follows the log and finds the cause of each event."""

    def __init__(self) -> None:
        self._last: dict[str, str] = {}
        """By workload, the last event about it."""
        self._requests: dict[str, str] = {}
        """By preemptor, its open preemption request."""
        self._pods: dict[str, str] = {}
        """By workload, the last event about its pods."""
        self._clusters = ""
        """The last event by which quota may follow other clusters otherwise."""
        self._room = ""
        """The last event that may have freed quota."""
        self._room_number = 0
        self._number = 0
        self._numbers: dict[str, int] = {}
        self._gone = LongGone()

    def fold(self, event: AnyEvent, position: LogPosition) -> str:
        """The cause of this event, as `partition/sequence what`; empty for what comes from outside."""
        self._number += 1
        key = str(getattr(event, "workload", "") or getattr(event, "preemptor", ""))
        for gone in self._gone.hear(event, key, position.at):
            for known in (self._last, self._numbers, self._pods, self._requests):
                known.pop(gone, None)
        cause = self._cause(event, key) if position.partition != "FACTS" else ""
        reference = f"{position.partition}/{position.sequence} {type(event).__name__}"
        if key and not isinstance(event, DecisionApplied | DecisionRejected | PodObserved):
            self._last[key], self._numbers[key] = reference, self._number
        if isinstance(event, PodObserved) and key:
            self._pods[key] = reference
        if isinstance(event, PreemptionRequested):
            self._requests[event.workload] = reference
        if isinstance(event, RemoteQueuesObserved | MultiKueueClusterObserved | MultiKueueConfigObserved):
            self._clusters = reference
        room = (
            QuotaReleased,
            WorkloadSliceResized,
            WorkloadFinished,
            WorkloadDeleted,
            ClusterQueueObserved,
            CohortObserved,
            ObjectRemoved,
        )
        if isinstance(event, room):
            self._room, self._room_number = f"{reference} {key}".rstrip(), self._number
        return cause

    def _cause(self, event: AnyEvent, key: str) -> str:
        match event:
            case PreemptionOrdered():
                return self._requests.get(event.preemptor, "")
            case PreemptionRefused() | PreemptionWasted():
                return self._requests.get(event.preemptor, "")
            case QuotaReserved() | AdmissionRefused() | PreemptionRequested():
                return self._room if self._room_number > self._numbers.get(key, 0) else self._last.get(key, "")
            case QuotaAutomationSettled():
                return self._clusters
            case DevicesReleased():
                return self._pods.get(key, "") or self._last.get(key, "")
            case _:
                return self._last.get(key, "")
