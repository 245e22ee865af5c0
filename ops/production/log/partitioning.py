"""Dividing a log: how many partitions its trees are placed in, and which tree is where."""

from collections.abc import Sequence

from events.commit import Sighting
from events.control import LogPartitioned
from events.event import Millis
from events.partition_map import PartitionMapObserved, TreePlacement
from events.subjects import CLUSTER, CONTROL, FACTS
from ops.production.log.control import say
from services.runtime.fact_message import fact_message
from services.runtime.log_port import Bus


async def divide(bus: Bus, partitions: int, at: Millis, placements: Sequence[TreePlacement] = ()) -> None:
    """Place trees that are seen from now on among so many partitions. Raises `LogMovedOn`, `LogUnavailable`, `LogFull`.

    The number comes first: whoever folds the map can read all that it speaks of.
    """
    await say(await bus.stream(CONTROL), LogPartitioned(partitions=partitions), at)
    fact = PartitionMapObserved(partitions=partitions, placements=tuple(placements))
    sighting = Sighting(id=f"partition-map:{at}", at=at, author="watcher", about=None, fact=fact)
    message = fact_message(sighting, CLUSTER)
    await (await bus.stream(FACTS)).publish([message])
