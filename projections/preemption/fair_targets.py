"""Which queue has to give next under fair sharing: that with the highest share.

Rule: docs/rules/fair-sharing.md#fair-highest-first

Queues and cohorts that can't give any more are pruned for good; shares are reckoned anew where a step has changed them. Where shares
are equal, the queue goes first whose first candidate does, and the cohort whose name does.
"""

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from projections.fair_sharing.share import Share, share_of
from projections.preemption.candidates import Candidate
from projections.quota.columns import FlavorResource
from projections.quota.node import Node


class LazyCandidates:
    """The candidates of one queue, in order, looked up when they are asked for."""

    __slots__ = ("_ahead", "_rest")

    def __init__(self, candidates: Iterable[Candidate]) -> None:
        self._rest: Iterator[Candidate] = iter(candidates)
        self._ahead: Candidate | None = None

    def first(self) -> Candidate | None:
        """The first candidate that is left; it stays."""
        if self._ahead is None:
            self._ahead = next(self._rest, None)
        return self._ahead

    def take(self) -> Iterator[Candidate]:
        """The candidates that are left; each is gone from the row when it is taken."""
        while (found := self.first()) is not None:
            self._ahead = None
            yield found


class TargetStanding(msgspec.Struct, frozen=True, gc=False):
    """How a child of a cohort stands among its siblings; the one that has to give first is the smallest."""

    child: Node
    share: Share
    rank: tuple[object, ...]
    """What decides between equal shares."""

    def __lt__(self, other: "TargetStanding") -> bool:
        return self.share > other.share or (self.share == other.share and self.rank < other.rank)


class TargetQueues:
    """The queues of a tree that may have to give, with what is left of their candidates.

    Between two calls of `next` nothing changes but what the queue that it gave last uses, its row, and with it the shares above.
    So each child of a cohort is looked at once, and again only when it is on the way to that queue.
    """

    __slots__ = ("_cohorts", "_last", "_names", "_own", "_places", "_pruned", "_queues", "_standing", "rows")

    def __init__(self, own: Node, rows: Mapping[str, LazyCandidates], names: Sequence[FlavorResource]) -> None:
        self.rows = rows
        """By cluster queue."""
        self._own, self._names = own, names
        self._pruned: set[str] = set()
        self._queues: dict[str, list[TargetStanding]] = {}
        """By cohort, a heap of the queues in it; with some that stand otherwise by now."""
        self._cohorts: dict[str, list[TargetStanding]] = {}
        """By cohort, a heap of the cohorts in it."""
        self._standing: dict[str, TargetStanding] = {}
        """By key of a child that was looked at, how it stands; those that are pruned stand nowhere."""
        self._places: dict[str, int] = {}
        """By key of a cohort, its place among its siblings."""
        self._last: Node | None = None

    def next(self) -> Node | None:
        """The queue that has to give next; None when none can."""
        root = self._own.root
        if root.is_queue:
            return None if root.key in self._pruned or self._first(root) is None else root
        if self._last is not None:
            for node in self._last.path[:-1]:
                self._look_at(node)
        self._last = None if root.key in self._pruned else self._descend(root)
        return self._last

    def drop(self, node: Node) -> None:
        """Take nothing more from a queue."""
        self._pruned.add(node.key)

    def _descend(self, cohort: Node) -> Node | None:
        """The queue of a subtree that has the most; None when there is none, and the subtree is pruned."""
        if cohort.key not in self._queues:
            self._open(cohort)
        while True:
            queue, deeper = self._greatest(self._queues[cohort.key]), self._greatest(self._cohorts[cohort.key])
            if deeper is not None and (queue is None or deeper.share >= queue.share):
                found = self._descend(deeper.child)
                if found is not None:
                    return found
                continue  # It is pruned, and nothing else has changed.
            if queue is None:
                self._pruned.add(cohort.key)
                return None
            return queue.child

    def _open(self, cohort: Node) -> None:
        self._queues[cohort.key], self._cohorts[cohort.key] = [], []
        for place, child in enumerate(cohort.children.values()):
            self._places[child.key] = place
            self._look_at(child)

    def _look_at(self, child: Node) -> None:
        """Have it stand as it does by now, or nowhere when it can't give any more."""
        if child.key in self._pruned or child.parent is None:
            return
        share = share_of(child, self._names)
        if self._can_give(child, share):
            rank = self._rank(child) if child.is_queue else (self._places[child.key],)
            self._standing[child.key] = found = TargetStanding(child, share, rank)
            heapq.heappush((self._queues if child.is_queue else self._cohorts)[child.parent.key], found)
        else:
            self._pruned.add(child.key)

    def _can_give(self, child: Node, share: Share) -> bool:
        if child.is_queue:
            return (share.borrowing or child is self._own) and self._first(child) is not None
        # On the way to the preemptor also without borrowing: below there may be imbalance, or its own queue.
        return share.borrowing or child in self._own.path

    def _greatest(self, heap: list[TargetStanding]) -> TargetStanding | None:
        while heap:
            first = heap[0]
            if first.child.key not in self._pruned and self._standing[first.child.key] is first:
                return first
            heapq.heappop(heap)
        return None

    def _first(self, queue: Node) -> Candidate | None:
        row = self.rows.get(queue.name)
        return None if row is None else row.first()

    def _rank(self, queue: Node) -> tuple[bool, bool, int, int, str, str]:
        first = self._first(queue)
        if first is None:
            raise LookupError(queue.name)
        workload = first.workload
        reserved_at = workload.admission.reserved_at if workload.admission is not None else 0
        return (
            not workload.evicted,
            queue is self._own,
            workload.priority,
            -reserved_at,
            workload.uid,
            workload.key,
        )
