"""An operator who divides the log of a history while it is in use, and places by name every tree that can still be placed."""

import asyncio
from contextlib import suppress

from events.event import Millis
from events.partition_map import TreePlacement
from ops.production.log.partitioning import divide, division_of
from ops.production.log.tree_moves import PartitionsRefused
from ops.queries.explaining import world_at
from ops.queries.point import point_at
from ops.sandbox.simulate.simulation import Simulation
from services.runtime.log_errors import LogMovedOn, LogUnavailable
from services.runtime.partition.errors import MessageHalts

_AGAIN_S = 0.5


async def divide_midway(simulation: Simulation, partitions: int, after: Millis) -> tuple[TreePlacement, ...]:
    """Divide the log so long after it began, as soon as the bus is there; the trees that could be placed by name.

    What was rolled by then stays whole, and a message that can't be read is skipped first.
    """
    await asyncio.sleep(after / 1000)
    while True:
        # As with faults, nobody else stores anything before the bus has what it had lost.
        wait = simulation.whole_at - simulation.loop.time()
        if wait > 0:
            await asyncio.sleep(wait)
            continue
        with suppress(LogUnavailable, LogMovedOn, MessageHalts):
            placed = _free_trees(simulation, partitions)
            try:
                await divide(simulation.bus, partitions, simulation.clock.now(), placed)
            except PartitionsRefused:
                return ()
            return placed
        await asyncio.sleep(_AGAIN_S)


def _free_trees(simulation: Simulation, partitions: int) -> tuple[TreePlacement, ...]:
    # What was rolled is here as it is in an archive.
    world = world_at(point_at({name: list(stream.entries) for name, stream in simulation.bus.streams.items()}))
    found: tuple[TreePlacement, ...] = ()
    for number, tree in enumerate(sorted(world.quota.trees())):
        with suppress(PartitionsRefused):
            place = f"{tree}=LOG_{1 + number % (partitions - 1)}"
            found += division_of(world, 1, partitions, [place]).placements
    return found
