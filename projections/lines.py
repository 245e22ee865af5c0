"""Who waits where and in what order: the line of each cluster queue, and those parked beside it.

A workload is in one place at most: in line, or parked (kueue-semantics §3.1). Every order is total and ends in a UID
(§3.2). The heap is only a cache of the order: `waiting` says who is really in line, so stale heap entries are skipped.
"""

import heapq
from collections.abc import Iterator

from projections.trail import Trail

OrderKey = tuple[int | str, ...]


class Line:
    """The line of one cluster queue."""

    __slots__ = ("_heap", "held", "parked", "waiting")

    def __init__(self) -> None:
        self.waiting: dict[str, OrderKey] = {}
        self.parked: dict[str, str] = {}
        """Parked workloads and why."""
        self.held: dict[str, str] = {}
        """`preemptor`: the workload of this queue that waits for its victims, and whether it is sticky."""
        self._heap: list[tuple[OrderKey, str]] = []

    @property
    def empty(self) -> bool:
        """Nobody waits here, is parked here, or is remembered."""
        return not (self.waiting or self.parked or self.held)

    def push(self, trail: Trail, key: str, order: OrderKey) -> None:
        """Put a workload in line, or move it; it is parked no longer."""
        trail.drop(self.parked, key)
        old = self.waiting.get(key)
        if old == order:
            return
        if old is not None:
            self._restore_on_undo(trail, key, old)
        trail.put(self.waiting, key, order)
        heapq.heappush(self._heap, (order, key))

    def park(self, trail: Trail, key: str, reason: str) -> None:
        """Take a workload out of the line and set it beside."""
        self._leave(trail, key)
        trail.put(self.parked, key, reason)

    def remove(self, trail: Trail, key: str) -> None:
        """The workload waits here no longer."""
        self._leave(trail, key)
        trail.drop(self.parked, key)

    def head(self) -> str | None:
        """The first in line."""
        heap = self._heap
        while heap:
            order, key = heap[0]
            if self.waiting.get(key) == order:
                return key
            heapq.heappop(heap)
        return None

    def in_order(self) -> Iterator[str]:
        """All in line, first to last."""
        return (key for _, key in sorted((order, key) for key, order in self.waiting.items()))

    def _leave(self, trail: Trail, key: str) -> None:
        order = self.waiting.get(key)
        if order is None:
            return
        self._restore_on_undo(trail, key, order)
        trail.drop(self.waiting, key)

    def _restore_on_undo(self, trail: Trail, key: str, order: OrderKey) -> None:
        # Going back puts the order into `waiting` again; its heap entry may have been skipped as stale by then.
        trail.note(lambda: heapq.heappush(self._heap, (order, key)))


class Lines:
    """The lines of all cluster queues, by name."""

    __slots__ = ("_lines",)

    def __init__(self) -> None:
        self._lines: dict[str, Line] = {}

    def of(self, cluster_queue: str) -> Line:
        """The line of a cluster queue; an empty one where nobody ever waited."""
        line = self._lines.get(cluster_queue)
        if line is None:
            line = self._lines[cluster_queue] = Line()
        return line

    def names(self) -> list[str]:
        """The cluster queues that somebody ever waited for, in order."""
        return sorted(self._lines)
