"""When to forget workloads that are gone: after an hour of the log's time without an event about them.

Tables by workload then grow with those that exist, not with those that ever did. Cards and quota are given back within
that hour; a later event is one about an unknown workload.
"""

from events.catalogue import AnyEvent
from events.event import Millis
from events.workload import WorkloadDeleted, WorkloadSubmitted
from projections.object_versions import REMEMBERED


class LongGone:
    """Follows all events in the order of their time."""

    def __init__(self) -> None:
        self._last_event: dict[str, Millis] = {}
        """By workload that is gone the time of the last event about it, in that order."""

    def hear(self, event: AnyEvent, workload: str, at: Millis) -> list[str]:
        """Take note of an event about a workload; returns the workloads to forget now."""
        was_gone = self._last_event.pop(workload, None) is not None
        if isinstance(event, WorkloadDeleted) or (was_gone and not isinstance(event, WorkloadSubmitted)):
            self._last_event[workload] = at
        found: list[str] = []
        for one, last in self._last_event.items():
            if last + REMEMBERED > at:
                break
            found.append(one)
        for one in found:
            del self._last_event[one]
        return found

    def keep(self, workload: str, at: Millis) -> None:
        """Keep a workload for another hour: it still holds something."""
        self._last_event[workload] = at
