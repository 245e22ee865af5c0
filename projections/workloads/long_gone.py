"""Workloads that are gone: whoever keeps something of each forgets them when nothing was told of them for an hour of the log's time.

What is kept is then as large as what lives, and not as what ever was. Cards and quota are given back within that hour; what is told
of a workload later is told of one that nobody knows.
"""

from events.catalogue import AnyEvent
from events.event import Millis
from events.workload import WorkloadDeleted, WorkloadSubmitted
from projections.object_versions import REMEMBERED


class LongGone:
    """Hears every event in the order of its time."""

    def __init__(self) -> None:
        self._told: dict[str, Millis] = {}
        """By workload that is gone when something was told of it last, in that order."""

    def hear(self, event: AnyEvent, workload: str, at: Millis) -> list[str]:
        """An event, and the workload that it is about; whom to forget now."""
        was_gone = self._told.pop(workload, None) is not None
        if isinstance(event, WorkloadDeleted) or (was_gone and not isinstance(event, WorkloadSubmitted)):
            self._told[workload] = at
        found: list[str] = []
        for one, told in self._told.items():
            if told + REMEMBERED > at:
                break
            found.append(one)
        for one in found:
            del self._told[one]
        return found

    def keep(self, workload: str, at: Millis) -> None:
        """Not yet: it still holds something."""
        self._told[workload] = at
