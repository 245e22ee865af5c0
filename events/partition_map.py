"""Where trees are decided: the map of a log that has several partitions."""

from typing import Annotated

import msgspec

from events.control import MOST_PARTITIONS
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
