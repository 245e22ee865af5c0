"""Dividing a log: how many partitions its trees are placed in, and which tree is where."""

from collections.abc import Mapping, Sequence

import msgspec

from events.commit import Sighting
from events.control import MOST_PARTITIONS, LogPartitioned
from events.event import Millis
from events.partition_map import PartitionForked, PartitionMapObserved, TreePlacement
from events.subjects import CLUSTER, CONTROL, FACTS, decisions_stream
from ops.production.log.control import say
from ops.production.log.streams import streams_of, streams_on
from ops.production.log.tree_moves import PartitionsRefused, empty_fork, fork_of, moves_of
from projections.folds.partitions import observe_map
from projections.partitions.homes import FIRST
from projections.world import World
from services.runtime.control_log import Control, read_control
from services.runtime.fact_message import fact_message
from services.runtime.log_errors import LogRolled, LogUnavailable
from services.runtime.log_port import Bus


class Division(msgspec.Struct, frozen=True, kw_only=True):
    """A log and the partitions that it is to have."""

    before: int
    partitions: int
    """How many there are then, forks included."""
    placements: tuple[TreePlacement, ...] = ()
    """All trees that are placed by name, those of an earlier map included."""
    staying: dict[str, tuple[str, ...]] = {}
    """Trees that may have been asked for something, with the partition where each is and stays: with several where it is split."""
    moves: tuple[PartitionForked, ...] = ()
    """The partitions that begin as forks: for trees in use that move, or without any, where the log was rolled."""
    mapped: int = 0
    """Among how many partitions the map places trees by their hash."""
    until_begun: PartitionMapObserved | None = None
    """The map that stands before forks without trees; None where there are none, and what is above stands first."""
    fresh: bool = True
    """Whether this changes anything."""


def division_of(
    world: World,
    before: int,
    partitions: int | None,
    places: Sequence[str],
    control: Control | None = None,
    *,
    ends: Mapping[str, int] | None = None,
    rolled: bool = False,
) -> Division:
    """What a division comes to; places are written `TREE=PARTITION`, and without a number there are as many as there are and are named.

    `ends`: the last sequence of each stream, where partitions may begin as forks. `rolled`: what new partitions would fold from
    its beginning is not there any more, so they begin as forks without trees. Raises `PartitionsRefused`.
    """
    control = control or Control()
    if partitions is None:
        partitions = max([before, *(_number(place) + 1 for place in places)])
    if not 1 <= partitions <= MOST_PARTITIONS:
        raise PartitionsRefused(f"a log has 1 to {MOST_PARTITIONS} partitions, not {partitions}")
    if partitions < before:
        raise PartitionsRefused(
            f"the log has {before} partitions, and their number only grows: write {before} or more. "
            "A partition without trees costs next to nothing"
        )
    known = world.partition_map.get("")
    asked = [_placement(place, partitions) for place in places]
    kept = {one.tree: one for one in known.placements} if known is not None else {}
    placements = kept | {one.tree: one for one in asked}
    homes = _homes_under(world, _map_of(max(partitions, 1), placements))
    homes |= {one.tree: found for one in asked if (found := _decided_in(world, one.tree, homes))}
    moving = [one for one in asked if homes.get(one.tree, set()) - {decisions_stream(str(one.partition))}]
    # Of a tree in use its home says where it is.
    fresh = [one for one in asked if one not in moving and not homes.get(one.tree)]
    opened = _opened(world, control, before, partitions) if rolled and not moving else ()
    _check_placed(fresh, moving, world, control, opened)
    placements = kept | {one.tree: one for one in fresh}
    mapped = partitions
    if moving:
        mapped = _plain(world, control, before)
        _check_one_step(moving, before, partitions, world, control)
    elif partitions == before:
        mapped = _plain(world, control, before, opened)
    mapped = max(mapped, known.partitions if known is not None else 1)
    if not moving:
        _check_begun(world, control, mapped, opened)
    after = _map_of(mapped, placements)
    # The first map names what it leaves free, and none may name a partition that has not begun.
    named = tuple(TreePlacement(tree=tree, partition=0) for tree in sorted(placements))
    until_begun = (known or PartitionMapObserved(partitions=1, placements=named)) if opened else None
    orders = [empty_fork(number, control, ends or {}) for number in opened]
    moves = moves_of(world, until_begun or after, moving, homes, control, ends or {}, orders)
    same = known is not None and (known.partitions, set(known.placements)) == (mapped, set(after.placements))
    nothing_placed = partitions == before == 1 and not after.placements
    return Division(
        before=before,
        partitions=partitions,
        placements=after.placements,
        staying={
            tree: tuple(sorted(found))
            for tree, found in sorted(homes.items())
            if tree not in {one.tree for one in moving}
        },
        moves=moves,
        mapped=mapped,
        until_begun=until_begun,
        fresh=bool(moves) or not (same or nothing_placed),
    )


def _map_of(partitions: int, placements: Mapping[str, TreePlacement]) -> PartitionMapObserved:
    return PartitionMapObserved(
        partitions=partitions, placements=tuple(placements[tree] for tree in sorted(placements))
    )


def _opened(world: World, control: Control, before: int, partitions: int) -> tuple[int, ...]:
    """The partitions that begin as forks without trees: those that are new, and those of which that was said and no more."""
    said = (control.forks[name].partition for name in control.forks.keys() - world.forks.keys())
    return tuple(sorted({*said, *range(before, partitions)}))


def _plain(world: World, control: Control, partitions: int, opened: Sequence[int] = ()) -> int:
    """How many partitions there are, without the forks that came last for the trees that moved: no tree goes there by its hash."""
    while (name := decisions_stream(str(partitions - 1))) in control.forks:
        order = world.forks.get(name)
        if partitions - 1 in opened or (order is not None and not order.trees):
            break
        partitions -= 1
    return partitions


def _check_one_step(
    moving: Sequence[TreePlacement], before: int, partitions: int, world: World, control: Control
) -> None:
    """Raises `PartitionsRefused` where trees move and the log is divided further at once."""
    targets = {one.partition for one in moving}
    plain = [number for number in range(before, partitions) if number not in targets]
    if plain:
        raise PartitionsRefused(
            f"{moving[0].tree} is in use and moves, and LOG_{plain[0]} is to be new besides: write kuelog log partition "
            f"{partitions - len(targets - set(range(before)))} first, and move the tree then"
        )
    for one in moving:
        name = decisions_stream(str(one.partition))
        plain_now = name not in control.forks or (name in world.forks and not world.forks[name].trees)
        if one.partition < before and plain_now:
            raise PartitionsRefused(
                f"{one.tree} is in use, and a tree in use moves into a partition that the log has not yet: write {one.tree}=LOG_{before}"
            )


def _check_placed(
    fresh: Sequence[TreePlacement],
    moving: Sequence[TreePlacement],
    world: World,
    control: Control,
    opened: Sequence[int],
) -> None:
    """Raises `PartitionsRefused` where a tree would be placed in a fork that has not begun: once it is asked there, that can't begin."""
    for one in fresh:
        name = decisions_stream(str(one.partition))
        there = [other.tree for other in moving if other.partition == one.partition]
        if there:
            raise PartitionsRefused(
                f"{one.tree} was asked for nothing yet, and {name} has not begun: move {' and '.join(there)} there first, "
                f"and place {one.tree} in {name} then"
            )
        if name in control.forks and name not in world.forks and one.partition not in opened:
            raise PartitionsRefused(_not_begun(control, name))


def _not_begun(control: Control, name: str) -> str:
    return (
        f"{name} is to begin as a fork of LOG_{control.forks[name].origin} and has not: "
        f"move a tree of that there first, with --place TREE={name}"
    )


def _check_begun(world: World, control: Control, mapped: int, opened: Sequence[int]) -> None:
    """Raises `PartitionsRefused` where trees would be placed in a fork that has not begun: nobody decides there."""
    for name in sorted(control.forks.keys() - world.forks.keys()):
        if control.forks[name].partition < mapped and control.forks[name].partition not in opened:
            raise PartitionsRefused(_not_begun(control, name))


def _homes_under(world: World, after: PartitionMapObserved) -> dict[str, set[str]]:
    """By tree the partitions of its queues once a map is folded; trees that nobody can have asked for anything have none."""
    with world.trial():
        observe_map(world, after, 0)
        homes: dict[str, set[str]] = {}
        for name in sorted(world.cluster_queues):
            if name in world.homes:
                homes.setdefault(world.quota.root_of(name), set()).add(world.homes[name])
        return homes


def _decided_in(world: World, tree: str, homes: Mapping[str, set[str]]) -> set[str]:
    """The partitions in which a tree is decided; empty where nobody can have asked it for anything."""
    members = world.quota.members(tree)
    held = any(world.holders(name) or not world.lines.of(name).empty for name in members)
    asking = {key.partition("/")[0] for name in members for key in world.local_queues_of.get(name, ())}
    # Facts of before there were versions don't show the map that a namespace is in use; its workloads do.
    in_use = held or any(one.namespace in asking for one in world.workloads.values())
    return homes.get(tree, set()) or ({FIRST} if in_use else set())


def _number(place: str) -> int:
    """The number of the partition in a place; 0 where it names none, which is told when it is read."""
    number = place.rpartition("=LOG_")[2]
    return int(number) if number.isdecimal() and len(number) <= _DIGITS else 0


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


async def divide(
    bus: Bus,
    partitions: int,
    at: Millis,
    placements: Sequence[TreePlacement] = (),
    *,
    mapped: int = 0,
    moves: Sequence[PartitionForked] = (),
    until_begun: PartitionMapObserved | None = None,
) -> None:
    """Place trees that are asked from now on among so many partitions, `mapped` of them by their hash; and move trees.

    Raises `PartitionsRefused`, `LogMovedOn`, `LogUnavailable`, `LogFull`.

    A new partition folds its inputs from their beginning, so a log of which that was rolled away gets none but forks, which
    begin with what their origin has folded. Trees are placed in forks that have none by a map behind the orders.

    The streams come first, so that nothing is said by who may not create them, and then the number: whoever folds the map can
    read all that it speaks of. Orders come behind the map; what was broken off before one is done by the same command again.
    """
    known = len((await streams_on(bus)).trees)
    gone = await rolled_away(bus) if known + len(moves) < partitions else ""
    if gone:
        raise PartitionsRefused(f"{gone} meanwhile. Nothing was changed: give the command again")
    for name in streams_of(partitions).trees:
        try:
            await bus.stream(name)
        except LogUnavailable as problem:
            raise PartitionsRefused(
                f"{name} can't be made: {problem.problem}. Nothing was changed. Where the bus has users, their rights have to name every "
                f"partition first: write partitions: {partitions} in the values of the chart"
            ) from problem
    stream, control = await bus.stream(CONTROL), Control()
    await read_control(stream, control)
    forks = tuple(fork for order in moves if (fork := fork_of(order)).partition not in _forked(control))
    if control.partitions != partitions or forks:
        await say(stream, LogPartitioned(partitions=partitions, forks=forks), at)
        await read_control(stream, control)
    for order in moves:
        if control.forks.get(decisions_stream(str(order.partition))) != fork_of(order):
            raise PartitionsRefused(f"LOG_{order.partition} was given to other trees meanwhile: name another partition")
    after = PartitionMapObserved(partitions=mapped or partitions, placements=tuple(placements))
    facts = (after, *moves) if until_begun is None else (until_begun, *moves, after)
    sightings = [
        Sighting(id=f"division-{number}:{at}", at=at, author="watcher", about=None, fact=fact)
        for number, fact in enumerate(facts)
    ]
    await (await bus.stream(FACTS)).publish([fact_message(one, CLUSTER) for one in sightings])


async def carry_out(bus: Bus, division: Division, at: Millis) -> None:
    """Do what a division comes to. Raises what `divide` raises."""
    await divide(
        bus,
        division.partitions,
        at,
        division.placements,
        mapped=division.mapped,
        moves=division.moves,
        until_begun=division.until_begun,
    )


def _forked(control: Control) -> set[int]:
    return {fork.partition for fork in control.forks.values()}


async def rolled_away(bus: Bus) -> str:
    """What a new partition would have to fold and is not on the bus any more, in words; empty where all of it is."""
    for name in (await streams_on(bus)).inputs(FIRST):
        try:
            async for _ in (await bus.stream(name)).read():
                break
        except LogRolled as rolled:
            return f"{name} begins at {rolled.found}: what was before was rolled away"
    return ""


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


_DIGITS = 4
