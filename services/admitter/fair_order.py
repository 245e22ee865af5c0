"""Step 3 of a cycle under fair sharing: a tournament instead of a sort (docs/rules/fair-sharing.md#fair-order).

It is run again after every processed entry. At each cohort the winners of its children meet, each with the share that its
child would have with the winner's usage. An entry changes shares only on its path to the root, so only the cohorts on that
path have to look for a winner again.
"""

import heapq
from collections.abc import Callable, Iterator, Sequence

from events.settings import SettingsObserved
from projections.fair_sharing.share import Share, share_of
from projections.feature_gates import enabled
from projections.queues.pending_queues import PendingQueues
from projections.queues.state import QueueState
from projections.quota.node import Node
from services.admitter.entry import AdmissionEntry

Rank = tuple[int, int, Share, int, int, str, str]
"""The smallest wins: waiting preemptor, not borrowing the requested columns, share, minus priority, timestamp, UID, key."""
ClassicRank = tuple[int, int, int, int, str, str]
"""The smallest comes first without fair sharing: waiting preemptor, borrowing level, minus priority, timestamp, UID, key."""


def fair_turns(
    world: QueueState, entries: Sequence[AdmissionEntry], classic: Callable[[AdmissionEntry], ClassicRank]
) -> Iterator[AdmissionEntry]:
    """The entries in the order of the tournament; the caller charges the usage of one before it asks for the next.

    Trees do not share quota, so that no share compares them: of the winners of several that comes first which would without fair sharing.
    """
    trees: dict[str, list[AdmissionEntry]] = {}
    for entry in entries:
        if entry.node is None:
            yield entry  # It could not even be tried, so its place does not matter.
        else:
            trees.setdefault(entry.node.root.key, []).append(entry)
    left: list[tuple[ClassicRank, AdmissionEntry, Iterator[AdmissionEntry]]] = []
    for key in sorted(trees):
        _send_winner(left, _tournament(world, trees[key]).run(), classic)
    while left:
        _, winner, turns = heapq.heappop(left)
        yield winner
        _send_winner(left, turns, classic)


def _tournament(world: QueueState, entries: Sequence[AdmissionEntry]) -> "Tournament":
    tournament = Tournament(world)
    for entry in sorted(entries, key=lambda one: (one.queue.name, one.workload.key)):
        if entry.node is not None:
            tournament.enter(entry, entry.node)
    return tournament


def _send_winner(
    left: list[tuple[ClassicRank, AdmissionEntry, Iterator[AdmissionEntry]]],
    turns: Iterator[AdmissionEntry],
    classic: Callable[[AdmissionEntry], ClassicRank],
) -> None:
    """Have the next winner of a tree meet those of the others, if it has one."""
    winner = next(turns, None)
    if winner is not None:
        heapq.heappush(left, (classic(winner), winner, turns))


class Tournament:
    """The entries of one tree that are not processed yet."""

    __slots__ = ("_fields", "_names", "_nodes", "_waiting", "_world")

    def __init__(self, world: QueueState) -> None:
        self._world = world
        self._names = world.quota.columns.names
        self._waiting: dict[str, list[AdmissionEntry]] = {}
        """By key of the queue's node, in the order in which they were entered."""
        self._fields: dict[str, list[tuple[Rank, str]]] = {}
        """By key of a cohort, the ranks of its children's winners: a heap."""
        self._nodes: dict[str, Node] = {}

    def enter(self, entry: AdmissionEntry, node: Node) -> None:
        """Add an entry at its queue's node; entries of one queue keep their order."""
        self._waiting.setdefault(node.key, []).append(entry)
        self._nodes.update({one.key: one for one in node.path})

    def run(self) -> Iterator[AdmissionEntry]:
        """Yield the winner at the root, again and again; each win is found on the shares that the last one has left."""
        nodes = self._nodes.values()
        for node in sorted(nodes, key=lambda one: (-len(one.path), one.key)):
            self._meet(node)
        root = next((node for node in nodes if node.parent is None), None)
        while root is not None and (entry := self._winner(root)) is not None and entry.node is not None:
            self._waiting[entry.node.key].remove(entry)
            yield entry
            self._look_again(entry.node)

    def _look_again(self, processed: Node) -> None:
        for node in processed.path:
            if node.parent is not None:
                heapq.heappop(self._fields[node.parent.key])
                self._meet(node)

    def _meet(self, node: Node) -> None:
        """Send the winner of a node to the field of its parent."""
        entry = self._winner(node)
        if entry is not None and node.parent is not None:
            heapq.heappush(self._fields.setdefault(node.parent.key, []), (self._rank(entry, node), node.key))

    def _winner(self, node: Node) -> AdmissionEntry | None:
        while not node.is_queue:
            field = self._fields.get(node.key)
            if not field:
                return None
            node = self._nodes[field[0][1]]
        return next(iter(self._waiting[node.key]), None)

    def _rank(self, entry: AdmissionEntry, node: Node) -> Rank:
        """The rank of an entry among the children of the node's parent, with its usage added to the node."""
        world, settings, workload = self._world, self._world.settings, entry.workload
        with world.trial():
            if entry.node is not None:
                for column, amount in entry.usage.items():
                    entry.node.charge(world.trail, column, amount)
            share = share_of(node, self._names)
        borrows = 0
        if enabled(settings, "FairSharingPrioritizeNonBorrowing"):
            borrows = int(share.borrowing_on([column for column, amount in entry.usage.items() if amount > 0]))
        return (
            first_if_remembered(world.settings, world.lines, entry),
            borrows,
            share,
            -workload.priority if enabled(settings, "PrioritySortingWithinCohort") else 0,
            entry.timestamp,
            workload.uid,
            workload.key,
        )


def first_if_remembered(settings: SettingsObserved, lines: PendingQueues, entry: AdmissionEntry) -> int:
    """0 for the preemptor that a queue keeps first until its victims have left, if the feature gate is on; else 1."""
    if not enabled(settings, "PrioritizePreemptorWorkloads"):
        return 1
    return 0 if lines.of(entry.queue.name).held.get("preemptor") == entry.workload.key else 1
