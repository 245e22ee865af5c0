"""The law of fresh replicas: from what is left on the bus they fold the same world as from the whole log."""

from events.rules import RULES
from events.subjects import CONTROL
from ops.production.log.jetstream.shelf import MemoryShelf
from ops.production.log.memory import MemoryBus
from ops.production.log.snapshots import Snapshots
from ops.production.log.streams import streams_in
from ops.queries.replay import fold_partition
from services.runtime.control_log import Control


async def begun_otherwise(bus: MemoryBus, shelf: MemoryShelf) -> list[str]:
    """The partitions of which a fresh replica would fold another world; none is tried where nothing was rolled."""
    if all(stream.first == 1 for stream in bus.streams.values()):
        return []
    whole = {name: list(stream.entries) for name, stream in bus.streams.items()}
    left = {name: stream.entries[stream.first - 1 :] for name, stream in bus.streams.items()}
    found: list[str] = []
    control, streams = Control(whole.get(CONTROL, ())), streams_in(whole)
    for partition in streams.partitions:
        start = await Snapshots(None, RULES, shelf).begin(bus, bus.memory(partition), control)
        began = start.base
        needs = (*control.lineage(partition), *streams.inputs(partition))
        lacks = sorted(name for name in needs if not start.reaches(name, bus.memory(name).first - 1))
        if lacks:
            found.append(
                f"a replica of {partition} that starts now begins at {began}, and what it needs of {lacks} is gone"
            )
        elif (
            fold_partition(partition, left, start=start)[1].state_hash != fold_partition(partition, whole)[1].state_hash
        ):
            found.append(f"a replica of {partition} that starts at {began} comes to another world than all of the log")
    return found
