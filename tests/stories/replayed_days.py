"""Days that were written as logs, replayed: what comes of it, as a process of any Python tells it.

python -m tests.stories.replayed_days DAYS.json
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from ops.production.log.streams import DEVICE_PARTITION, PARTITION
from ops.queries.replay import fold_partition
from services.runtime.log_port import Entry

Log = dict[str, list[Entry]]


class Partition(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one partition of one day."""

    day: int
    partition: str
    commits: int
    verified: int
    otherwise: list[str]
    """The decisions whose bytes are not those that were recorded."""
    state_hash: str


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What one process found, and which Python that was."""

    version: str
    partitions: list[Partition]


def replayed(days: Sequence[Log]) -> Told:
    """Every decision of every day decided again."""
    partitions: list[Partition] = []
    for day, entries in enumerate(days):
        for partition in (PARTITION, DEVICE_PARTITION):
            _, found = fold_partition(partition, entries, verify=True)
            partitions.append(
                Partition(
                    day=day,
                    partition=partition,
                    commits=found.commits,
                    verified=found.verified,
                    otherwise=[f"{one.sequence} by {one.author}" for one in found.differences],
                    state_hash=found.state_hash,
                )
            )
    return Told(version=".".join(str(part) for part in sys.version_info[:2]), partitions=partitions)


if __name__ == "__main__":
    found = replayed(msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=list[Log]))
    print(msgspec.json.encode(found).decode())  # noqa: T201 - bytes for the test
