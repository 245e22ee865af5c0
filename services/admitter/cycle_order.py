"""In which order the entries of a cycle are processed, and who waits for the next cycle.

The order is in docs/rules/cycle.md#borrowing-last. Kueue takes those within their own quota before borrowers, but of each
queue only the first. Whoever borrows what the second of a queue may have back in the next cycle is evicted before it has
run, so it waits until the owners are through (docs/rules/cycle.md#owners-first).
"""

from collections.abc import Iterable, Sequence

from events.admission import Mode, RequeueReason
from events.catalogue import Decision
from projections.feature_gates import enabled
from projections.world import World
from services.admitter.entry import Entry
from services.admitter.fair_order import fair_turns, first_if_remembered


def in_turn(world: World, entries: Sequence[Entry]) -> Iterable[Entry]:
    """The entries in turn; each is processed before the next one is asked for."""
    if world.settings.fair_sharing:
        return fair_turns(world, entries)
    return sorted(entries, key=lambda entry: classic_order(world, entry))


def classic_order(world: World, entry: Entry) -> tuple[int, int, int, int, str, str]:
    """Smaller borrowing level, higher priority, older, UID."""
    workload = entry.workload
    by_priority = -workload.priority if enabled(world.settings, "PrioritySortingWithinCohort") else 0
    return (first_if_remembered(world, entry), entry.borrow, by_priority, entry.timestamp, workload.uid, workload.key)


def would_borrow(entry: Entry) -> bool:
    """Whether an entry gets in, or asks others to leave, beyond its queue's own quota."""
    return entry.borrow > 0 and (entry.mode is Mode.FIT or bool(entry.victims))


def owner_goes_on(world: World, entry: Entry, event: Decision | None) -> bool:
    """Whether the queue of an entry that was processed has own quota left, and somebody to try it in the next cycle."""
    if entry.node is None:
        return False
    usage, nominal = entry.node.usage, entry.node.subtree
    if all(usage[column] >= nominal[column] for column in entry.usage):
        return False
    if entry.requeue is RequeueReason.FAILED_AFTER_NOMINATION:
        return True
    line = world.lines.of(entry.queue.name)
    return event is not None and len(line.waiting) + sum(len(one.members) for one in line.classes.values()) > 1
