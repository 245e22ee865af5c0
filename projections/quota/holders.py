"""The workloads that hold quota of one cluster queue, kept in the order in which they would have to make room."""

from bisect import bisect_left, insort
from collections.abc import Iterator
from functools import partial

from projections.quota.columns import Usage
from projections.trail import Trail
from projections.workloads.lifecycle import Workload

HolderOrder = tuple[int, int, str, str]
"""Lower priority first, later reserved first, UID, key (docs/rules/preemption.md#victims-order)."""


class QuotaHolders:
    """Holders in the order in which they got quota, and sorted for preemption: those that are evicted already, and the rest."""

    __slots__ = ("_orders", "leaving", "staying", "usage")

    def __init__(self) -> None:
        self.usage: dict[str, Usage] = {}
        """What each holds, by key, in the order in which they got it."""
        self.leaving: list[HolderOrder] = []
        self.staying: list[HolderOrder] = []
        self._orders: dict[str, tuple[bool, HolderOrder]] = {}

    def __contains__(self, key: object) -> bool:
        return key in self.usage

    def __iter__(self) -> Iterator[str]:
        return iter(self.usage)

    def __len__(self) -> int:
        return len(self.usage)

    def add(self, trail: Trail, workload: Workload, usage: Usage) -> None:
        """The workload holds quota from now on, or holds another amount."""
        trail.put(self.usage, workload.key, usage)
        self.place(trail, workload)

    def remove(self, trail: Trail, key: str) -> None:
        """The workload holds nothing any more; taken back, it stands among the others where it stood."""
        trail.note(partial(self._hold, dict(self.usage)))
        del self.usage[key]
        leaving, order = self._orders[key]
        self._take(trail, self.leaving if leaving else self.staying, order)
        trail.drop(self._orders, key)

    def place(self, trail: Trail, workload: Workload) -> bool:
        """Sort a holder in where it belongs now; whether it stood elsewhere before."""
        reserved_at = workload.admission.reserved_at if workload.admission is not None else 0
        leaving = workload.evicted
        order = (workload.priority, -reserved_at, workload.uid, workload.key)
        old = self._orders.get(workload.key)
        if old is not None:
            if old[0] is leaving and old[1] == order:
                return False
            self._take(trail, self.leaving if old[0] else self.staying, old[1])
        row = self.leaving if leaving else self.staying
        insort(row, order)
        trail.note(partial(_delete, row, order))
        trail.put(self._orders, workload.key, (leaving, order))
        return old is not None

    def _hold(self, usage: dict[str, Usage]) -> None:
        self.usage.clear()
        self.usage.update(usage)

    @staticmethod
    def _take(trail: Trail, row: list[HolderOrder], order: HolderOrder) -> None:
        _delete(row, order)
        trail.note(partial(insort, row, order))


def _delete(row: list[HolderOrder], order: HolderOrder) -> None:
    del row[bisect_left(row, order)]
