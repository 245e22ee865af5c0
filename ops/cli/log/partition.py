"""`kuelog log partition`: a log is divided, so that several processes can decide about its trees."""

import asyncio

import msgspec
from rich.console import Console

from events.subjects import CONTROL
from ops.cli.failures import known_failures
from ops.cli.log.life import bus_here
from ops.cli.log_options import LogSource
from ops.production.archive.history import read_everything
from ops.production.log.partitioning import Division, carry_out, division_of, rolled_away
from ops.production.process.clock import ScaledClock
from ops.queries.explaining import world_at
from ops.queries.point import point_at
from ops.queries.time_travel import ends_of
from ops.terminal.form import AnswerForm, print_answer
from services.runtime.control_log import Control


def run_partition(
    partitions: int | None, source: LogSource, places: list[str], *, dry_run: bool, output: AnswerForm, console: Console
) -> int:
    """Divide a log into so many partitions, or say what that would come to."""
    with known_failures() as outcome:
        found = asyncio.run(_divided(partitions, source, places, dry_run=dry_run))
        if output is AnswerForm.TEXT:
            for line in _told(found, dry_run=dry_run):
                console.print(line, highlight=False)
        else:
            print_answer(msgspec.to_builtins(found), output)
        outcome.code = 0
    return outcome.code


async def _divided(partitions: int | None, source: LogSource, places: list[str], *, dry_run: bool) -> Division:
    async with bus_here(source) as bus:
        entries = await read_everything(bus, source.archive)
        point, control = point_at(entries), Control(entries[CONTROL])
        rolled = bool(await rolled_away(bus))
        found = division_of(
            world_at(point), control.partitions, partitions, places, control, ends=ends_of(entries), rolled=rolled
        )
        if found.fresh and not dry_run:
            await carry_out(bus, found, ScaledClock().now())
        return found


def _told(found: Division, *, dry_run: bool) -> list[str]:
    stays = [f"{tree} stays in {' and '.join(homes)}" for tree, homes in found.staying.items()]
    if not found.fresh:
        return [f"the log has {_count(found.partitions)} already: nothing is changed", *stays]
    return [
        f"{'would have' if dry_run else 'the log has'} {_count(found.partitions)}, and had {_count(found.before)}",
        *stays,
        *(
            f"{tree} moves from LOG_{order.origin} to LOG_{order.partition} with all that it has: what runs there goes on"
            for order in found.moves
            for tree in order.trees
        ),
        *(
            f"LOG_{order.partition} begins as a fork of LOG_{order.origin}, without trees: the beginning of the log was rolled away"
            for order in found.moves
            if not order.trees
        ),
        *(
            f"{one.tree} is placed in LOG_{one.partition} when it is first asked"
            for one in found.placements
            if one.tree not in found.staying
        ),
        "other trees are placed by their name when they are first asked; services that run take the new partitions up by themselves",
    ]


def _count(partitions: int) -> str:
    return f"{partitions} partition{'' if partitions == 1 else 's'} of trees"
