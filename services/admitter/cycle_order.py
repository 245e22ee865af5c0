"""In which order the entries of a cycle are processed (kueue-semantics §4.1)."""

from collections.abc import Iterable, Sequence

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
