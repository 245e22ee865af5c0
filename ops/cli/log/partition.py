"""`kuelog log partition`: a log is divided, so that several processes can decide about its trees."""

import asyncio

import msgspec
from rich.console import Console

from ops.cli.failures import known_failures
from ops.cli.log.life import bus_here
from ops.cli.log_options import LogSource
from ops.production.archive.history import read_everything
from ops.production.log.partitioning import Division, check_whole, divide, division_of
from ops.production.log.streams import streams_on
from ops.production.process.clock import ScaledClock
from ops.queries.explaining import world_at
from ops.queries.point import point_at
from ops.terminal.form import AnswerForm, print_answer


def run_partition(
    partitions: int, source: LogSource, places: list[str], *, dry_run: bool, output: AnswerForm, console: Console
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


async def _divided(partitions: int, source: LogSource, places: list[str], *, dry_run: bool) -> Division:
    async with bus_here(source) as bus:
        entries = await read_everything(bus, source.archive)
        world = world_at(point_at(entries))
        found = division_of(world, len((await streams_on(bus)).trees), partitions, places)
        if found.fresh and dry_run:
            await check_whole(bus, partitions)
        elif found.fresh:
            await divide(bus, partitions, ScaledClock().now(), found.placements)
        return found


def _told(found: Division, *, dry_run: bool) -> list[str]:
    stays = [f"{tree} stays in {' and '.join(homes)}" for tree, homes in found.staying.items()]
    if not found.fresh:
        return [f"the log has {_count(found.partitions)} already: nothing is changed", *stays]
    return [
        f"{'would have' if dry_run else 'the log has'} {_count(found.partitions)}, and had {_count(found.before)}",
        *stays,
        *(
            f"{one.tree} is placed in LOG_{one.partition} when it is first asked"
            for one in found.placements
            if one.tree not in found.staying
        ),
        "other trees are placed by their name when they are first asked; services that run take the new partitions up by themselves",
    ]


def _count(partitions: int) -> str:
    return f"{partitions} partition{'' if partitions == 1 else 's'} of trees"
