"""Orders on FACTS by which trees move into a partition that begins as a fork of theirs, as the folds of the two find them."""

from collections.abc import Callable, Iterable, Iterator

from events.commit import Commit, Sighting
from events.partition_map import PartitionForked
from events.subjects import decisions_stream, fact_subject
from projections.partitions.state import PartitionState
from services.runtime.log_port import Entry
from services.runtime.partition.stored_message import Opened, Passed

_SUBJECT = fact_subject("", PartitionForked.__name__)


def orders_among(
    facts: Iterable[Entry], opened: Callable[[Entry], Opened | Passed], fork: str
) -> Iterator[tuple[int, PartitionForked]]:
    """The orders by which a partition is to begin as a fork, each with its sequence."""
    for entry in facts:
        found = opened(entry) if entry.subject in ("", _SUBJECT) else Passed()
        fact = found.message.fact if isinstance(found, Opened) and isinstance(found.message, Sighting) else None
        if isinstance(fact, PartitionForked) and decisions_stream(str(fact.partition)) == fork:
            yield entry.sequence, fact


def moves_trees(world: PartitionState, message: Sighting | Commit, partition: str) -> bool:
    """Whether trees leave a partition or come into it by a message that was just folded: nobody decides about them until that is fixed."""
    fact = message.fact if isinstance(message, Sighting) else None
    if not isinstance(fact, PartitionForked):
        return False
    fork, origin = decisions_stream(str(fact.partition)), decisions_stream(str(fact.origin))
    return world.forks.get(fork) == fact and partition in (fork, origin)
