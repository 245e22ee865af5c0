"""An operator who divides the log of a history while it is in use, and places by name every tree that can still be placed."""

import asyncio
from contextlib import suppress

from events.event import Millis
from events.partition_map import TreePlacement
from events.subjects import CONTROL
from ops.production.log.partitioning import Division, carry_out, division_of, rolled_away
from ops.production.log.tree_moves import PartitionsRefused
from ops.queries.explaining import world_at
from ops.queries.point import point_at
from ops.queries.time_travel import ends_of
from ops.sandbox.simulate.simulation import Simulation
from services.runtime.control_log import Control
from services.runtime.log_errors import LogMovedOn, LogUnavailable
from services.runtime.partition.errors import MessageHalts

_AGAIN_S = 0.5


async def divide_midway(simulation: Simulation, partitions: int, after: Millis) -> tuple[TreePlacement, ...]:
    """Divide the log so long after it began, as soon as the bus is there; the trees that could be placed by name.

    Where it was rolled by then the new partitions begin as forks without trees. A message that can't be read is skipped first.
    """
    await asyncio.sleep(after / 1000)
    while True:
        # As with faults, nobody else stores anything before the bus has what it had lost.
        wait = simulation.whole_at - simulation.loop.time()
        if wait > 0:
            await asyncio.sleep(wait)
            continue
        with suppress(LogUnavailable, LogMovedOn, MessageHalts, PartitionsRefused):
            found = await _division(simulation, partitions)
            await carry_out(simulation.bus, found, simulation.clock.now())
            return found.placements
        await asyncio.sleep(_AGAIN_S)


async def _division(simulation: Simulation, partitions: int) -> Division:
    """What the division comes to with every tree placed that can be. Raises `PartitionsRefused` where the log changes meanwhile."""
    # What was rolled is here as it is in an archive.
    entries = {name: list(stream.entries) for name, stream in simulation.bus.streams.items()}
    world, control, ends = world_at(point_at(entries)), Control(entries.get(CONTROL, [])), ends_of(entries)
    rolled = bool(await rolled_away(simulation.bus))

    def division(*places: str) -> Division:
        return division_of(world, control.partitions, partitions, places, control, ends=ends, rolled=rolled)

    places: list[str] = []
    for number, tree in enumerate(sorted(world.quota.trees())):
        place = f"{tree}=LOG_{1 + number % (partitions - 1)}"
        with suppress(PartitionsRefused):
            if not any(one.trees for one in division(place).moves):
                places.append(place)
    return division(*places)
