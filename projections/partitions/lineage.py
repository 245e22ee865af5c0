"""In which partitions the history of a partition is: one that began as a fork goes on from that of its origin."""

from collections.abc import Mapping
from typing import TypeAlias

from events.control import ForkedFrom
from events.partition_map import PartitionForked
from events.subjects import decisions_stream

Forks: TypeAlias = Mapping[str, ForkedFrom] | Mapping[str, PartitionForked]
"""By partition, how it began as a fork: as CONTROL says it, or the order on FACTS."""


def lineage(forks: Forks, partition: str) -> tuple[str, ...]:
    """The partitions in which the history of a partition is, the first one first and itself last."""
    found = [partition]
    while (fork := forks.get(found[0])) is not None:
        found.insert(0, decisions_stream(str(fork.origin)))
    return tuple(found)


def forks_of(forks: Forks, partition: str) -> tuple[str, ...]:
    """The partitions that began as forks of a partition."""
    return tuple(sorted(name for name, fork in forks.items() if decisions_stream(str(fork.origin)) == partition))


def decided_in(forks: Forks, partition: str, number: int) -> str:
    """Of the lineage of a partition, that in which the decision of a number was made."""
    while number and (fork := forks.get(partition)) is not None and number <= fork.above:
        partition = decisions_stream(str(fork.origin))
    return partition
