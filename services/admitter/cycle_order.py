"""In which order the entries of a cycle are processed (kueue-semantics §4.1)."""

from collections.abc import Iterable, Sequence

from projections.gates import enabled
from projections.world import World
from services.admitter.entry import Entry


def in_turn(world: World, entries: Sequence[Entry]) -> Iterable[Entry]:
    """The entries in turn; each is processed before the next one is asked for."""
    return sorted(entries, key=lambda entry: classic_order(world, entry))


def classic_order(world: World, entry: Entry) -> tuple[int, int, int, int, str, str]:
    """Smaller borrowing level, higher priority, older, UID."""
    workload = entry.workload
    first = 1
    if enabled(world.settings, "PrioritizePreemptorWorkloads"):
        first = 0 if world.lines.of(entry.queue.name).held.get("preemptor") == workload.key else 1
    by_priority = -workload.priority if enabled(world.settings, "PrioritySortingWithinCohort") else 0
    return (first, entry.borrow, by_priority, entry.timestamp, workload.uid, workload.key)
