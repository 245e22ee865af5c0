"""An operator who moves trees of a history that are in use into partitions of their own, and who may be stopped amid that."""

import asyncio
import random
from contextlib import suppress

from events.event import Millis
from events.subjects import CONTROL
from ops.production.archive.history import Paged, cut_to_common_end
from ops.production.log.partitioning import Division, divide, division_of
from ops.production.log.tree_moves import PartitionsRefused
from ops.queries.explaining import world_at
from ops.queries.point import point_at
from ops.queries.time_travel import ends_of
from ops.sandbox.simulate.simulation import Simulation
from services.runtime.control_log import Control
from services.runtime.log_errors import LogMovedOn, LogUnavailable
from services.runtime.partition.errors import MessageHalts

_AGAIN_S = 0.5


def moves_after(seed: int, span: Millis) -> Millis:
    """After how long trees of a history begin to move; 0 in every third, where none does."""
    chance = random.Random(f"{seed}/moves-after")  # noqa: S311 - a world, not a secret
    return 0 if chance.randrange(3) == 0 else chance.randrange(500, span // 4)


async def move_trees(
    simulation: Simulation, seed: int, after: Millis, most: int = 2, *, behind: asyncio.Task[object] | None = None
) -> int:
    """Try every so often, and until so many trees have moved one after the other; how many did when no fault is left.

    `behind`: the operator who divides the log has to be done before.
    """
    chance, moved = random.Random(f"{seed}/moves"), 0  # noqa: S311 - a world, not a secret
    if behind is not None:
        await asyncio.wait({behind})
    while moved < most:
        await asyncio.sleep(after / 1000)
        if simulation.faults.calm:
            break
        # Who has read what a bus has lost stores it again before anything new.
        await asyncio.sleep(max(simulation.whole_at - simulation.loop.time(), 0))
        division = _division(simulation, chance)
        if division is None:
            continue
        while True:
            with suppress(LogUnavailable, LogMovedOn):
                await divide(
                    simulation.bus,
                    division.partitions,
                    simulation.clock.now(),
                    division.placements,
                    mapped=division.mapped,
                    moves=division.moves,
                )
                break
            await asyncio.sleep(_AGAIN_S)
        moved += 1
        for process in simulation.processes:
            # Who reads the order, and who goes on behind it, may be killed before the one or the other has said anything.
            if chance.random() < _KILLED:
                simulation.loop.call_later(
                    chance.uniform(0, _WITHIN_S), simulation.kill, process, chance.randrange(2000)
                )
    return moved


def _division(simulation: Simulation, chance: random.Random) -> Division | None:
    """What moves one of the trees that can move; None where none can. What was rolled is read as from an archive."""
    entries: Paged = {name: list(stream.entries) for name, stream in simulation.bus.streams.items()}
    cut_to_common_end(entries, warn=False)
    try:
        world, control = world_at(point_at(entries)), Control(entries.get(CONTROL, ()))
    except MessageHalts:
        return None  # Somebody has to have that message skipped first.
    trees = sorted(world.quota.trees())
    chance.shuffle(trees)
    for tree in trees:
        with suppress(PartitionsRefused):
            place = f"{tree}=LOG_{control.partitions}"
            found = division_of(world, control.partitions, None, [place], control, ends=ends_of(entries))
            if found.moves:
                return found
    return None


_KILLED = 0.5
_WITHIN_S = 0.3
