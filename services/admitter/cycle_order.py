"""Step 3 of a cycle: the order in which entries are processed, and which of them wait for the next cycle.

Entries within their own quota come before borrowers (docs/rules/cycle.md#borrowing-last), but a cycle sees only the first
workload of each queue. A borrower admitted now would be evicted, before it has run, when the next workload of the owning
queue reclaims its quota in the next cycle; so it waits until the owners have no more (docs/rules/cycle.md#owners-first).
"""

from collections.abc import Collection, Iterable, Iterator, Sequence

from events.admission import Mode, RequeueReason
from events.catalogue import Decision
from events.settings import SettingsObserved
from projections.queues.order import priority_then_age
from projections.queues.pending_queues import PendingQueues
from projections.queues.state import QueueState
from services.admitter.entry import AdmissionEntry
from services.admitter.fair_order import ClassicRank, fair_turns, first_if_remembered


def in_turn(world: QueueState, entries: Sequence[AdmissionEntry]) -> Iterable[AdmissionEntry]:
    """The entries in the order of the cycle, lazily: under fair sharing it depends on the entries processed so far."""

    def classic(entry: AdmissionEntry) -> ClassicRank:
        return classic_order(world.settings, world.lines, entry)

    return fair_turns(world, entries, classic) if world.settings.fair_sharing else sorted(entries, key=classic)


def up_to(last: Collection[str], entries: Iterable[AdmissionEntry]) -> Iterator[AdmissionEntry]:
    """The entries until those of all these workloads have had their turn; all of them where there are none.

    Rule: docs/rules/cycle.md#room-was-made
    """
    left = set(last)
    for entry in entries:
        yield entry
        if entry.workload.key in left:
            left.remove(entry.workload.key)
            if not left:
                return


def classic_order(settings: SettingsObserved, lines: PendingQueues, entry: AdmissionEntry) -> ClassicRank:
    """Sort key without fair sharing: smaller borrowing level, higher priority, older, UID."""
    own = priority_then_age(settings, entry.workload, entry.timestamp)
    return (first_if_remembered(settings, lines, entry), entry.borrow, *own)


def tree_of(entry: AdmissionEntry) -> str:
    """The key of the tree that an entry is of; empty for one that could not even be tried."""
    return "" if entry.node is None else entry.node.root.key


def would_borrow(entry: AdmissionEntry) -> bool:
    """Whether an entry fits, or would preempt, beyond its queue's own quota."""
    return entry.borrow > 0 and (entry.mode is Mode.FIT or bool(entry.victims))


def owner_goes_on(lines: PendingQueues, entry: AdmissionEntry, event: Decision | None) -> bool:
    """Whether the queue of a processed entry has own quota left, and a workload to try on it in the next cycle."""
    if entry.node is None:
        return False
    usage, nominal = entry.node.usage, entry.node.subtree
    if all(usage[column] >= nominal[column] for column in entry.usage):
        return False
    if entry.requeue is RequeueReason.FAILED_AFTER_NOMINATION:
        return True
    line = lines.of(entry.queue.name)
    return event is not None and len(line.waiting) + sum(len(one.members) for one in line.classes.values()) > 1
