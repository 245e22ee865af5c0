"""One history: what a seed makes of a platform, its users and its faults, played to its end and held against the laws."""

import asyncio
import gc
import hashlib
import random
from collections.abc import Sequence

import msgspec

from events.event import Millis
from ops.production.log.partitioning import divide
from ops.sandbox.embedded_cluster.store import ObjectChange
from ops.sandbox.simulate.claimed_devices import has_claims, with_claims
from ops.sandbox.simulate.divided_midway import divide_midway
from ops.sandbox.simulate.drawn_budgets import with_budgets
from ops.sandbox.simulate.drawn_division import moves_after
from ops.sandbox.simulate.fault_application import apply
from ops.sandbox.simulate.fault_plan import Fault, has_leases, has_racks, replicas_of
from ops.sandbox.simulate.fresh_replica import begun_otherwise
from ops.sandbox.simulate.laws import Aftermath, broken_laws, unsettled
from ops.sandbox.simulate.moved_trees import move_trees
from ops.sandbox.simulate.namespaces import spread
from ops.sandbox.simulate.platform import platform_of
from ops.sandbox.simulate.racks import racks_of
from ops.sandbox.simulate.simulation import Simulation
from ops.sandbox.simulate.virtual_loop import NothingHappens, VirtualLoop

_LOOK_S = 5.0
_PATIENCE_S = 3600.0
"""Virtual time in which everything has to come to rest when nothing goes wrong any more."""
_CALM_S = 15.0
"""How long it has to stay at rest."""


class HistoryOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a history ended."""

    seed: int
    broken: tuple[str, ...]
    """The laws that it broke, each with what and where."""
    faults: tuple[Fault, ...]
    digest: str
    """SHA-256 over every byte of the log."""
    commits: int
    jobs: int
    writes: int
    """Requests of all processes that were to change something in the cluster."""
    moved: int
    """How many trees in use moved."""
    takeovers: int
    """How often a lease came to another replica than had it last, the first included."""
    lasted: Millis
    """Virtual time until everything was at rest."""


def play(
    seed: int,
    span: Millis,
    faults: Sequence[Fault],
    *,
    partitions: int = 1,
    divided_after: Millis = 0,
    moved_after: Millis | None = None,
    most_moves: int = 2,
    replicas: int | None = None,
) -> HistoryOutcome:
    """Play a history to its end, with its trees in so many partitions, from the beginning or from so long after it.

    Trees in use move into partitions of their own, up to `most_moves` times, from `moved_after` the beginning on or, where the log is divided, from
    when the seed says; at 0 none does.
    There are so many replicas where it is not the seed that says it.
    """
    loop = VirtualLoop(f"{seed}/order")
    loop.set_exception_handler(lambda _loop, _context: None)
    # A client's patience is drawn from the common source of chance: here that is the seed's as well.
    random.seed(f"{seed}/patience")
    collecting = gc.isenabled()
    gc.disable()
    try:
        return loop.run_until_complete(
            _played(loop, seed, span, faults, partitions, divided_after, moved_after, most_moves, replicas)
        )
    except KeyboardInterrupt:
        _end_all(loop)
        raise
    finally:
        loop.close()
        if collecting:
            gc.enable()


def _end_all(loop: VirtualLoop) -> None:
    """Cancel what is under way: a coroutine that nobody ends complains when it is collected."""
    while tasks := asyncio.all_tasks(loop):
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
    loop.run_until_complete(loop.shutdown_asyncgens())


async def _played(
    loop: VirtualLoop,
    seed: int,
    span: Millis,
    faults: Sequence[Fault],
    partitions: int,
    divided_after: Millis,
    moved_after: Millis | None,
    most_moves: int,
    replicas: int | None,
) -> HistoryOutcome:
    platform = racks_of(seed, span) if has_racks(seed) else platform_of(seed, span)
    platform.partitions = partitions
    if has_leases(seed):
        platform.leases, platform.replicas = True, replicas_of(seed)
    platform.replicas = replicas or platform.replicas
    after = moved_after if moved_after is not None else moves_after(seed, span) if partitions > 1 else 0
    if partitions > 1 or after:
        # A job that is waiting can't change to a queue of another partition yet.
        platform.actions = [one for one in platform.actions if one.verb != "queue"]
        spread(platform, seed)
        with_budgets(platform, seed, span)
    if has_claims(seed) and not has_racks(seed):
        with_claims(platform, seed, span)
    simulation = Simulation(loop, platform, seed)
    midway = asyncio.create_task(divide_midway(simulation, partitions, divided_after)) if divided_after else None
    moving = asyncio.create_task(move_trees(simulation, seed, after, most_moves, behind=midway)) if after else None
    if platform.partitions > 1 and midway is None:
        await divide(simulation.bus, platform.partitions, simulation.clock.now())
    simulation.begin()
    for action in simulation.platform.actions:
        loop.call_at(action.at / 1000, simulation.do, action)
    for fault in faults:
        loop.call_at(fault.at / 1000, apply, simulation, fault)
    try:
        await asyncio.sleep(span / 1000)
        simulation.heal()
        if midway is not None:
            await midway
        moved = await moving if moving is not None else 0
        waiting = await rest(simulation)
        crashes = [f"{crash} ({times} times)" for crash, times in simulation.crashes.items()]
        broken = [*crashes, *waiting, *_judged(simulation), *await begun_otherwise(simulation.bus, simulation.shelf)]
        lasted = round(loop.time() * 1000)
        entries = {name: stream.entries for name, stream in sorted(simulation.bus.streams.items())}
    finally:
        stuck = await simulation.end()
    digest = hashlib.sha256(b"".join(entry.data for found in entries.values() for entry in found)).hexdigest()
    return HistoryOutcome(
        seed=seed,
        broken=(*broken, *stuck),
        faults=tuple(faults),
        digest=digest,
        commits=sum(len(found) for name, found in entries.items() if name != "FACTS"),
        jobs=sum(action.verb == "create" for action in simulation.platform.actions),
        writes=simulation.writes.total(),
        moved=moved,
        takeovers=simulation.leases.takeovers,
        lasted=lasted,
    )


def _judged(simulation: Simulation) -> list[str]:
    try:
        return broken_laws(_aftermath(simulation))
    except Exception as problem:  # noqa: BLE001 - a log that can't be judged is a finding, whatever the reason
        return [f"the log can't be judged: {type(problem).__name__}: {problem}"]


def _aftermath(simulation: Simulation) -> Aftermath:
    return Aftermath(
        entries={name: list(stream.entries) for name, stream in simulation.bus.streams.items()},
        store=simulation.cluster.store,
        changes=_all_in(simulation.changes),
        claims=_all_in(simulation.claims),
        settings=simulation.platform.settings,
        now=simulation.clock.now(),
        stray=frozenset(simulation.stray),
    )


def _all_in(queue: asyncio.Queue[ObjectChange | None]) -> list[ObjectChange]:
    found: list[ObjectChange] = []
    while not queue.empty():
        change = queue.get_nowait()
        found += [change] if change is not None else []
    return found


async def rest(simulation: Simulation) -> list[str]:
    """Wait until all is settled and stays so, with nothing on its way any more; what is not, if it never is."""
    end = simulation.loop.time() + _PATIENCE_S
    since, seen = simulation.loop.time(), -1
    waiting: list[str] = []
    while simulation.loop.time() < end:
        await asyncio.sleep(_LOOK_S)
        waiting = unsettled(simulation.cluster.store)
        length = sum(len(stream.entries) for stream in simulation.bus.streams.values())
        if waiting or length != seen or simulation.loop.time() < simulation.faults.over_at:
            since, seen = simulation.loop.time(), length
        elif simulation.loop.time() - since >= _CALM_S:
            return []
    return waiting or ["the log never comes to rest"]


__all__ = ["HistoryOutcome", "NothingHappens", "play", "rest"]
