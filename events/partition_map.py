"""Where trees are decided: the map of a log that has several partitions."""

from typing import Annotated

import msgspec

from events.control import HIGHEST, MOST_PARTITIONS
from events.event import Event, Value

PartitionNumber = Annotated[int, msgspec.Meta(ge=0, lt=MOST_PARTITIONS)]


class TreePlacement(Value, frozen=True, kw_only=True):
    """A tree that is decided in a partition of the operator's choice."""

    tree: str
    """`cohort/NAME` of its root, or `queue/NAME` of a cluster queue without cohort."""
    partition: PartitionNumber


class PartitionMapObserved(Event, frozen=True, kw_only=True, tag="PartitionMapObserved.v1"):
    """Trees that are first asked from now on are placed among so many partitions, by a hash of their root where none is named.

    Rule: docs/decisions/0080-trees-are-placed-in-partitions.md
    """

    partitions: Annotated[int, msgspec.Meta(ge=1, le=MOST_PARTITIONS)]
    placements: tuple[TreePlacement, ...] = ()


class PartitionForked(Event, frozen=True, kw_only=True, tag="PartitionForked.v1"):
    """From here on these trees are decided in another partition, which begins as a fork of the one that they leave.

    The history of the fork up to here is that of its origin. An order that can't be followed (`why_not_forked`) changes nothing.

    Rule: docs/decisions/0093-a-tree-moves-as-a-fork-of-its-partition.md
    """

    partition: PartitionNumber
    """The fork: a partition in which nothing was decided."""
    origin: PartitionNumber
    above: Annotated[int, msgspec.Meta(ge=0, le=HIGHEST)]
    """The number above which those of its decisions are, as on CONTROL (`ForkedFrom`)."""
    trees: tuple[str, ...]
    """The trees that move, each by its root as in `TreePlacement`."""
