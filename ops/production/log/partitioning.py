"""Dividing a log: how many partitions its trees are placed in, and which tree is where."""

from collections.abc import Sequence

import msgspec

from events.commit import Sighting
from events.control import MOST_PARTITIONS, LogPartitioned
from events.event import Millis
from events.partition_map import PartitionMapObserved, TreePlacement
from events.subjects import CLUSTER, CONTROL, FACTS, decisions_stream
from ops.production.log.control import say
from ops.production.log.streams import streams_of, streams_on
from projections.folds.partitions import observe_map
from projections.partitions.homes import FIRST
from projections.world import World
from services.runtime.fact_message import fact_message
from services.runtime.log_errors import LogUnavailable
from services.runtime.log_port import Bus


class PartitionsRefused(ValueError):
    """A log can't be divided so, and what can be done instead."""


class Division(msgspec.Struct, frozen=True, kw_only=True):
    """A log and the partitions that it is to have."""

    before: int
    partitions: int
    placements: tuple[TreePlacement, ...] = ()
    """All trees that are placed by name, those of an earlier map included."""
    staying: dict[str, tuple[str, ...]] = {}
    """Trees that may have been asked for something, with the partition where each is and stays: with several where it is split."""
    fresh: bool = True
    """Whether this changes anything."""


def division_of(world: World, before: int, partitions: int, places: Sequence[str]) -> Division:
    """What a division comes to; places are written `TREE=PARTITION`. Raises `PartitionsRefused`."""
    if not 1 <= partitions <= MOST_PARTITIONS:
        raise PartitionsRefused(f"a log has 1 to {MOST_PARTITIONS} partitions, not {partitions}")
    if partitions < before:
        raise PartitionsRefused(
            f"the log has {before} partitions, and their number only grows: write {before} or more. "
            "A partition without trees costs next to nothing"
        )
    known = world.partition_map.get("")
    placements = {one.tree: one for one in known.placements} if known is not None else {}
    placements |= {one.tree: one for one in (_placement(place, partitions) for place in places)}
    after = PartitionMapObserved(
        partitions=partitions, placements=tuple(placements[tree] for tree in sorted(placements))
    )
    homes = _homes_under(world, after)
    for place in places:
        one = _placement(place, partitions)
        _check_free(world, one, homes.get(one.tree, set()))
    same = known is not None and (known.partitions, set(known.placements)) == (partitions, set(after.placements))
    return Division(
        before=before,
        partitions=partitions,
        placements=after.placements,
        staying={tree: tuple(sorted(found)) for tree, found in sorted(homes.items())},
        fresh=not same and not (partitions == before == 1 and not after.placements),
    )


def _homes_under(world: World, after: PartitionMapObserved) -> dict[str, set[str]]:
    """By tree the partitions of its queues once a map is folded; trees that nobody can have asked for anything have none."""
    with world.trial():
        observe_map(world, after)
        homes: dict[str, set[str]] = {}
        for name in sorted(world.cluster_queues):
            if name in world.homes:
                homes.setdefault(world.quota.root_of(name), set()).add(world.homes[name])
        return homes


def _check_free(world: World, placed: TreePlacement, homes: set[str]) -> None:
    """Raises `PartitionsRefused` where a tree is decided in another partition than the one in which it is to be placed."""
    members = world.quota.members(placed.tree)
    held = any(world.holders(name) or not world.lines.of(name).empty for name in members)
    asking = {key.partition("/")[0] for name in members for key in world.local_queues_of.get(name, ())}
    # Facts of before there were versions don't show the map that a namespace is in use; its workloads do.
    if held or any(one.namespace in asking for one in world.workloads.values()):
        homes = homes or {FIRST}
    if homes - {decisions_stream(str(placed.partition))}:
        raise PartitionsRefused(
            f"{placed.tree} is decided in {' and '.join(sorted(homes))} already, and trees can't be moved yet: "
            "name trees that no namespace with workloads leads to"
        )


def _placement(text: str, partitions: int) -> TreePlacement:
    tree, sign, name = text.rpartition("=")
    names = streams_of(partitions).trees
    kind, _, root = tree.partition("/")
    if not sign or kind not in ("cohort", "queue") or not root or name not in names:
        raise PartitionsRefused(
            f"{text} places no tree: write cohort/NAME=PARTITION, or queue/NAME=PARTITION for a cluster queue without "
            f"cohort, with a partition from {names[0]} to {names[-1]}"
        )
    return TreePlacement(tree=tree, partition=names.index(name))


async def divide(bus: Bus, partitions: int, at: Millis, placements: Sequence[TreePlacement] = ()) -> None:
    """Place trees that are asked from now on among so many partitions.

    Raises `PartitionsRefused`, `LogMovedOn`, `LogUnavailable`, `LogFull`.

    The streams come first, so that nothing is said by who may not create them, and then the number: whoever folds the map can
    read all that it speaks of.
    """
    for name in streams_of(partitions).trees:
        try:
            await bus.stream(name)
        except LogUnavailable as problem:
            raise PartitionsRefused(
                f"{name} can't be made: {problem.problem}. Nothing was changed. Where the bus has users, their rights have to name every "
                f"partition first: write partitions: {partitions} in the values of the chart"
            ) from problem
    if len((await streams_on(bus)).trees) != partitions:
        await say(await bus.stream(CONTROL), LogPartitioned(partitions=partitions), at)
    fact = PartitionMapObserved(partitions=partitions, placements=tuple(placements))
    sighting = Sighting(id=f"partition-map:{at}", at=at, author="watcher", about=None, fact=fact)
    message = fact_message(sighting, CLUSTER)
    await (await bus.stream(FACTS)).publish([message])


async def divide_at_start(bus: Bus, partitions: int, at: Millis) -> None:
    """Divide a log before its services begin, unless it is so already; 0 leaves it as it is.

    Raises `PartitionsRefused`, `LogMovedOn`, `LogUnavailable`, `LogFull`.
    """
    before = len((await streams_on(bus)).trees)
    if not partitions or partitions == before:
        return
    if await _in_use(bus):
        raise PartitionsRefused(
            f"{_has(before)} and is in use: start without --partitions, and write "
            f"kuelog log partition {partitions} --nats ADDRESS while it runs"
        )
    division = division_of(World(), before, partitions, ())
    await divide(bus, division.partitions, at)


async def divide_new(bus: Bus, partitions: int, at: Millis) -> str:
    """Divide a log that is still empty; what is left to do for somebody where it is in use, empty when nothing is.

    Raises `PartitionsRefused`, `LogMovedOn`, `LogUnavailable`, `LogFull`.
    """
    before = len((await streams_on(bus)).trees)
    if not await _in_use(bus):
        # What was broken off between the number and the map is done again.
        if division_of(World(), before, partitions, ()).fresh:
            await divide(bus, partitions, at)
        return ""
    if partitions < before:
        division_of(World(), before, partitions, ())
    if partitions == before:
        return ""
    return (
        f"{_has(before)} and is in use. The streams of {partitions} are there: "
        f"kuelog log partition {partitions} --nats ADDRESS, as operator, divides it while it runs"
    )


async def _in_use(bus: Bus) -> bool:
    return bool((await (await bus.stream(FACTS)).last()).sequence)


def _has(partitions: int) -> str:
    return f"the log has {partitions} {'partition' if partitions == 1 else 'partitions'}"
