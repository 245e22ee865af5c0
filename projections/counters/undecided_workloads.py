"""Workloads of a divided log about which nothing was decided in a partition yet: each is counted by the one that decides about it.

Facts of a namespace without a home are for all partitions, and who decides is seen by its first decision. Before a log is divided all is
decided in its first partition.

Rule: docs/metrics.md#divided
"""

from collections.abc import Collection, Mapping

import msgspec

from events.catalogue import AnyEvent
from events.event import Millis
from events.workload import WorkloadDeleted, WorkloadSubmitted
from projections.partitions.homes import FIRST
from projections.trail import Trail


class Creation(msgspec.Struct, frozen=True, gc=False):
    """What there is to count of a new workload: the kind of its owner, empty where nothing is, and how long after that it was told of."""

    kind: str = ""
    took: Millis = 0


class UndecidedWorkloads:
    """Those of one partition, by key; none where the log has no other."""

    def __init__(self, trail: Trail, partition: str) -> None:
        self._trail, self._first = trail, partition == FIRST
        self._divided = {"": not self._first}
        self.waiting: dict[str, Creation] = {}
        """What is counted of their creation if they are decided about here."""

    def __contains__(self, key: str) -> bool:
        return key in self.waiting

    @property
    def divided(self) -> bool:
        """Whether other partitions hear of the same workloads."""
        return self._divided[""]

    def told(self, event: WorkloadSubmitted, at: Millis) -> Creation:
        """A workload is new; what is to be counted of that at once."""
        fresh = event.adopted is None and event.generation <= 1
        kind = event.owner.kind if fresh and event.owner is not None else ""
        creation = Creation(kind, at - event.created_at)
        if not self.divided:
            return creation
        self._trail.put(self.waiting, event.workload, creation)
        return Creation()

    def hear(self, event: AnyEvent, *, decided: bool) -> Creation:
        """What is to be counted of a workload's creation, now that something was decided about it here."""
        key = getattr(event, "workload", None)
        if not isinstance(key, str) or key not in self.waiting or not (decided or isinstance(event, WorkloadDeleted)):
            return Creation()
        creation = self.waiting[key]
        self._trail.drop(self.waiting, key)
        return creation if decided else Creation()

    def divide(self) -> Collection[str]:
        """The log has several partitions from now on; those of its workloads that the first one goes on deciding about."""
        self._trail.put(self._divided, "", True)
        left = () if self._first else tuple(self.waiting)
        for key in left:
            self._trail.drop(self.waiting, key)
        return left

    def begin_at(self, waiting: Mapping[str, Creation], *, divided: bool) -> None:
        """Go on from what was stored."""
        self.waiting.update(waiting)
        self._divided[""] = divided or not self._first
