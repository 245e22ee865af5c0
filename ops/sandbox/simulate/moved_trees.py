"""An operator who moves trees of a history that are in use into partitions of their own, and whose command may be broken off amid that."""

import asyncio
import itertools
import random
from collections.abc import Sequence
from contextlib import suppress

from events.event import Millis
from ops.production.archive.history import Paged, cut_to_common_end
from ops.production.log.partitioning import Division, carry_out, division_of
from ops.production.log.tree_moves import PartitionsRefused
from ops.sandbox.simulate.bus_connection import SimulatedConnection
from ops.sandbox.simulate.fault_plan import FaultKind
from ops.sandbox.simulate.growing_log import GrowingLog, LogAsRead
from ops.sandbox.simulate.operators import skip_what_is_named
from ops.sandbox.simulate.simulation import Simulation
from services.runtime.log_errors import LogMovedOn, LogUnavailable
from services.runtime.partition.errors import MessageHalts

_AGAIN_S = 0.5
_LOOKS = 20
_KILLED = 0.5
_WITHIN_S = 0.3
_BROKEN_OFF = (FaultKind.MESSAGE_LOST, FaultKind.MESSAGE_LATE, FaultKind.ACK_LOST, FaultKind.ACK_UNRESOLVED)
_OPERATOR = "operator"
Places = tuple[str, ...]


async def move_trees(
    simulation: Simulation, seed: int, after: Millis, most: int, *, behind: asyncio.Task[object] | None = None
) -> int:
    """Try every so often, and until trees have moved so many times; how many times they did when no fault is left.

    `behind`: the operator who divides the log has to be done before.
    """
    chance, moved = random.Random(f"{seed}/moves"), 0  # noqa: S311 - a world, not a secret
    log = GrowingLog()
    if behind is not None:
        await asyncio.wait({behind})
    while moved < most:
        await asyncio.sleep(after / 1000)
        if simulation.faults.calm:
            for _ in range(_LOOKS):
                if await _known(simulation, log) is not None:
                    break
                await asyncio.sleep(_AGAIN_S)
            break
        # Who has read what a bus has lost stores it again before anything new.
        await asyncio.sleep(max(simulation.whole_at - simulation.loop.time(), 0))
        places = await _movable(simulation, log, chance)
        if not places or not await _move(simulation, log, places, chance):
            continue
        moved += 1
        for process in simulation.processes:
            # Who reads the order, and who goes on behind it, may be killed before the one or the other has said anything.
            if chance.random() < _KILLED:
                simulation.loop.call_later(
                    chance.uniform(0, _WITHIN_S), simulation.kill, process, chance.randrange(2000)
                )
    return moved


async def _move(simulation: Simulation, log: GrowingLog, places: Places, chance: random.Random) -> bool:
    """Give the command until it is through; whether it still could be."""
    bus = SimulatedConnection(simulation.bus, _OPERATOR, simulation.faults)
    if chance.random() < _KILLED and not simulation.faults.calm:
        kind, times = chance.choice(_BROKEN_OFF), chance.randrange(1, 4)
        simulation.faults.arm(_OPERATOR, kind, times, chance.choice((0.05, 1.0, 8.0)))
    division = _division(await _known(simulation, log), places)
    while division is not None and division.moves:
        with suppress(LogUnavailable, LogMovedOn):
            await carry_out(bus, division, simulation.clock.now())
            return True
        await asyncio.sleep(_AGAIN_S)
        await asyncio.sleep(max(simulation.whole_at - simulation.loop.time(), 0))
        division = _division(await _known(simulation, log), places)
    # An order whose answer was lost is folded by now.
    return division is not None


async def _movable(simulation: Simulation, log: GrowingLog, chance: random.Random) -> Places:
    """Some of the trees that can move, and where to; none where none can."""
    known = await _known(simulation, log)
    return () if known is None else _places_of_move(known, chance)


def some_move(known: LogAsRead, chance: random.Random) -> Division | None:
    """The move of some of the trees that can move; None where none can."""
    return _division(known, _places_of_move(known, chance))


def _places_of_move(known: LogAsRead, chance: random.Random) -> Places:
    waiting = sorted(known.control.forks.keys() - known.world.forks.keys())
    for trees in _groups(sorted(known.world.quota.trees()), chance):
        where = chance.choice((*waiting, f"LOG_{known.control.partitions}"))
        places = tuple(f"{tree}={where}" for tree in trees)
        division = _division(known, places)
        if division is not None and division.moves:
            return places
    return ()


def _groups(trees: Sequence[str], chance: random.Random) -> list[Places]:
    """Each tree alone, each two, and all, in some order."""
    groups: list[Places] = [*((one,) for one in trees), *itertools.combinations(trees, 2), tuple(trees)]
    chance.shuffle(groups)
    return groups


def _division(known: LogAsRead | None, places: Places) -> Division | None:
    """What these places come to; None where they are refused."""
    if known is None or not places:
        return None
    world, control, ends = known
    with suppress(PartitionsRefused):
        return division_of(world, control.partitions, None, places, control, ends=ends)
    return None


async def _known(simulation: Simulation, log: GrowingLog) -> LogAsRead | None:
    """What is known of the log, what was rolled as from an archive; None where a message had to be skipped first."""
    entries: Paged = {name: list(stream.entries) for name, stream in simulation.bus.streams.items()}
    cut_to_common_end(entries, warn=False)
    try:
        return log.read(entries)
    except MessageHalts as problem:
        # Nobody reads what lies in a fork that has not begun, but commands do.
        await skip_what_is_named(simulation, str(problem))
        return None
