"""Which queue has to give next under fair sharing: that with the highest share.

Rule: docs/rules/fair-sharing.md#fair-highest-first

Queues and cohorts that can't give any more are pruned for good; shares are reckoned anew for every step. Where shares
are equal, the queue goes first whose first candidate does, and the cohort whose name does.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

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


class TargetQueues:
    """The queues of a tree that may have to give, with what is left of their candidates."""

    __slots__ = ("_names", "_own", "_pruned", "rows")

    def __init__(self, own: Node, rows: Mapping[str, LazyCandidates], names: Sequence[FlavorResource]) -> None:
        self.rows = rows
        """By cluster queue."""
        self._own, self._names = own, names
        self._pruned: set[str] = set()

    def next(self) -> Node | None:
        """The queue that has to give next; None when none can."""
        root = self._own.root
        if root.is_queue:
            return None if root.key in self._pruned or self._first(root) is None else root
        while root.key not in self._pruned:
            found = self._descend(root)
            if found is not None:
                return found
        return None

    def drop(self, node: Node) -> None:
        """Take nothing more from a queue."""
        self._pruned.add(node.key)

    def _descend(self, cohort: Node) -> Node | None:
        """The queue of a subtree that has the most; None when looking for it has only pruned something."""
        queue, queue_share = self._greatest_queue(cohort)
        deeper, deeper_share = self._greatest_cohort(cohort)
        if deeper is not None and (queue is None or deeper_share >= queue_share):
            return self._descend(deeper)
        if queue is None:
            self._pruned.add(cohort.key)
        return queue

    def _greatest_queue(self, cohort: Node) -> tuple[Node | None, Share]:
        best: Node | None = None
        most = Share()
        for child in cohort.children.values():
            if not child.is_queue or child.key in self._pruned:
                continue
            share = share_of(child, self._names)
            if (not share.borrowing and child is not self._own) or self._first(child) is None:
                self._pruned.add(child.key)
            elif best is None or share > most or (share == most and self._rank(child) < self._rank(best)):
                best, most = child, share
        return best, most

    def _greatest_cohort(self, cohort: Node) -> tuple[Node | None, Share]:
        best: Node | None = None
        most = Share()
        for child in cohort.children.values():
            if child.is_queue or child.key in self._pruned:
                continue
            share = share_of(child, self._names)
            if not share.borrowing and child not in self._own.path:
                # Not so on the way to the preemptor: below there may be imbalance, or its own queue.
                self._pruned.add(child.key)
            elif best is None or share > most:
                best, most = child, share
        return best, most

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
