"""A tree in use moves: the fork goes on from the history of its origin, and each of the two keeps what is its own.

Rule: docs/rules/log.md#moved
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace

from events.catalogue import Fact
from events.codec import decode_commit, encode
from events.commit import InputRun, Sighting
from events.control import ForkedFrom, LogPartitioned, ObjectRemoved
from events.multikueue import RemoteWorkloadObserved
from events.partition_map import PartitionForked, PartitionMapObserved
from events.quota import LocalQueueObserved
from events.rules import RULES
from events.subjects import CONTROL, FACTS, is_for
from events.workload import WorkloadFinished
from ops.production import wiring
from ops.production.kubernetes.absent import AbsentCluster
from ops.production.log.beginnings import check_beginnings
from ops.production.log.control import said, say
from ops.production.log.jetstream.rolling import StillNeeded
from ops.production.log.jetstream.shelf import MemoryShelf
from ops.production.log.memory import MemoryBus
from ops.production.log.snapshots import Snapshots
from ops.production.log.streams import streams_known
from ops.production.process.clock import ScaledClock
from ops.production.wiring import Ports, Running
from ops.queries.replay import fold_partition, fold_up
from projections.composed import composed
from projections.state_hash import state_hash
from services.runtime.control_log import Control
from services.runtime.fact_message import fact_message
from services.runtime.log_port import Entry
from services.runtime.partition.host import PartitionHost
from tests.stories.small_world import job, platform, queue

DECIDERS = ("queue-manager", "admitter", "preemptor", "accountant")
ABOVE = 1_000_000_000
MAP = PartitionMapObserved(partitions=1)
BESIDE = (queue("b", nominal=2), LocalQueueObserved(namespace="other", name="lq-b", cluster_queue="b"))
ORDER = PartitionForked(partition=1, origin=0, above=ABOVE, trees=("queue/cq",))
OTHERS = replace(job("j", queue="lq-b"), workload="other/j")
FORK = LogPartitioned(partitions=2, forks=(ForkedFrom(partition=1, origin=0, above=ABOVE),))


class Day:
    """A log in memory, with the services that decide on it."""

    def __init__(self) -> None:
        self.bus, self.shelf, self.told = MemoryBus(lambda: 0), MemoryShelf(), 0
        self.clock = ScaledClock()

    async def tell(self, *facts: Fact, to: str = "", author: str = "watcher") -> None:
        for fact in facts:
            self.told += 1
            sighting = Sighting(id=f"f{self.told}", at=1000 + self.told, author=author, fact=fact)
            await self.bus.memory(FACTS).publish([fact_message(sighting, to=to)])

    async def fork(self) -> None:
        await say(await self.bus.stream(CONTROL), FORK, 1)

    @asynccontextmanager
    async def served(self, *partitions: str) -> AsyncIterator[Running]:
        """Served until all has been decided about what was told."""
        ports = Ports(bus=self.bus, reader=AbsentCluster(), writer=AbsentCluster(), clock=self.clock, shelf=self.shelf)
        running = Running(ports, DECIDERS, replica="a", partitions=partitions, snapshots_every=0)
        task = asyncio.create_task(running.run())
        try:
            yield running
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def decided(self, running: Running, *served: str, begun: bool = True) -> None:
        """Return when all that are served have folded everything and say no more; forks among them as soon as they have begun."""
        while not all(one in running.hosts for one in served) or not all(  # noqa: ASYNC110 - what is looked at is no event
            self._rests(host) and not (begun and host.fold.heirs) for host in running.hosts.values()
        ):
            await asyncio.sleep(0.01)

    async def saved(self, *partitions: str) -> None:
        """Return when each has saved its world."""
        while not all(one in self.shelf.kept for one in partitions):  # noqa: ASYNC110 - what is looked at is no event
            await asyncio.sleep(0.01)

    def _rests(self, host: PartitionHost) -> bool:
        ends = {
            one.name: max(
                (x.sequence for x in self.bus.memory(one.name).entries if is_for(x.subject, host.fold.reader)),
                default=0,
            )
            for one in host.inputs
        }
        return host.quiet.is_set() and (
            bool(host.fold.heirs)
            or (
                host.fold.base == len(self.bus.memory(host.own.name).entries)
                and all(host.fold.position(name) >= end for name, end in ends.items())
            )
        )

    @property
    def entries(self) -> dict[str, list[Entry]]:
        return {name: list(stream.entries) for name, stream in self.bus.streams.items()}


async def lets_go(day: Day, stream: str, upto: int, *, whose: str = "", without: str = "") -> bool:
    """Whether nobody, or one partition not, needs what a stream holds up to a sequence; with a shelf that lacks what one has saved."""
    control = Control(day.entries[CONTROL])
    shelf = MemoryShelf()
    shelf.kept = {key: labels for key, labels in day.shelf.kept.items() if key != without}
    try:
        keys = (whose,) if whose else streams_known(control).partitions
        await check_beginnings(day.bus, shelf, keys, stream, upto, control)
    except StillNeeded:
        return False
    return True


async def begun() -> Day:
    """A day on which one tree runs and waits beside another one."""
    day = Day()
    await day.tell(MAP, *platform(nominal=2), *BESIDE, job("a"), OTHERS, job("b"), job("c"))
    async with day.served() as running:
        await day.decided(running, "LOG_0")
    return day


async def moved() -> Day:
    """That day, on which the tree moves away from the other and goes on: one ends, and one comes."""
    day = await begun()
    await day.fork()
    await day.tell(ORDER)
    async with day.served() as running:
        await day.decided(running, "LOG_0", "LOG_1")
        await day.tell(WorkloadFinished(workload="team/a", reason="Succeeded"), to="LOG_0")
        await day.tell(job("d"), to="LOG_1")
        await day.decided(running, "LOG_0", "LOG_1")
    return day


async def test_a_fork_goes_on_from_the_history_of_its_origin_and_each_keeps_what_is_its_own() -> None:
    day = await begun()
    before = fold_up("LOG_0", day.entries).world
    assert [key for key, one in sorted(before.workloads.items()) if one.admission is not None] == [
        "other/j",
        "team/a",
        "team/b",
    ]
    await day.fork()
    await day.tell(ORDER)
    async with day.served() as running:
        await day.decided(running, "LOG_0", "LOG_1")
        live = {name: state_hash(running.hosts[name].fold.world) for name in ("LOG_0", "LOG_1")}
    entries = day.entries
    origin, fork = fold_up("LOG_0", entries), fold_up("LOG_1", entries)
    assert {name: state_hash(one.world) for name, one in (("LOG_0", origin), ("LOG_1", fork))} == live
    assert list(origin.world.workloads) == ["other/j"]
    assert {key: one for key, one in before.workloads.items() if key != "other/j"} == fork.world.workloads
    assert fork.world.lines.of("cq").parked == before.lines.of("cq").parked and fork.world.lines.of("cq").parked
    assert fork.world.cards.holdings == before.cards.holdings == origin.world.cards.holdings
    assert not any(origin.world.quota.usage_by_name(origin.world.quota.queues["cq"]).values())
    assert not any(fork.world.quota.usage_by_name(fork.world.quota.queues["b"]).values())
    first = decode_commit(entries["LOG_1"][0].data)
    assert first.inputs[0] == InputRun(stream="LOG_0", upto=len(entries["LOG_0"])), "who gives cards folds that before"


async def test_a_partition_that_has_not_folded_which_it_is_decides_about_nobody() -> None:
    day = Day()
    await say(await day.bus.stream(CONTROL), LogPartitioned(partitions=2), 1)
    await day.tell(*platform(nominal=2), job("a"))
    async with day.served() as running:
        await day.decided(running, "LOG_0", "LOG_1")
        assert not any(decode_commit(entry.data).events for entry in day.entries.get("LOG_1", ()))
        await day.tell(PartitionMapObserved(partitions=2))
        await day.decided(running, "LOG_0", "LOG_1")
    assert fold_up("LOG_0", day.entries).world.workloads["team/a"].admission is not None
    assert not fold_up("LOG_1", day.entries).world.workloads


async def test_what_was_seen_in_other_clusters_goes_with_the_namespace_of_its_workload() -> None:
    day = await begun()
    copies = [
        RemoteWorkloadObserved(cluster="w1", workload=key, uid=key, version=1) for key in ("team/gone", "other/gone")
    ]
    await day.tell(*copies, author="remote-clusters")
    await day.fork()
    await day.tell(ORDER)
    async with day.served() as running:
        await day.decided(running, "LOG_0", "LOG_1")
    kept = {name: list(fold_up(name, day.entries).world.remotes) for name in ("LOG_0", "LOG_1")}
    assert kept == {"LOG_0": ["other/gone"], "LOG_1": ["team/gone"]}


async def test_who_has_not_heard_of_the_order_goes_on_sending_to_the_origin_and_the_fork_folds_that() -> None:
    day = await moved()
    found = {name: fold_partition(name, day.entries, verify=True) for name in ("LOG_0", "LOG_1", "DEVICES_default")}
    for name, (_, replayed) in found.items():
        assert not replayed.is_wrong and (replayed.verified or name == "LOG_0"), name
    world = found["LOG_1"][0].world
    assert world.workloads["team/a"].finished and list(found["LOG_0"][0].world.workloads) == ["other/j"]
    admitted = {key: one for key in sorted(world.holders("cq")) if (one := world.workloads[key].admission) is not None}
    assert list(admitted) == ["team/b", "team/c"], "what waited first is let in where the tree is by now"
    assert admitted["team/b"].reservation < ABOVE < admitted["team/c"].reservation, "numbers go on above"
    given = {one.workload: one.reservation for one in found["DEVICES_default"][0].world.cards.holdings.values()}
    assert given["team/c"] == admitted["team/c"].reservation


async def test_a_replica_that_begins_at_a_saved_world_folds_the_same_as_one_from_zero() -> None:
    day = await moved()
    whole = fold_up("LOG_1", day.entries)
    saved = await Snapshots(None, RULES, day.shelf).load(day.bus.memory("LOG_1"))
    assert saved.base > 0
    without = {**day.entries, "LOG_0": []}
    assert state_hash(fold_up("LOG_1", without, start=saved).world) == state_hash(whole.world)


@pytest.mark.parametrize("before", ["26", RULES])
async def test_a_fork_begins_at_a_saved_world_of_its_origin_where_the_history_of_that_was_rolled_away(
    before: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wiring, "RULES", before)
    day = await begun()
    async with day.served() as running:
        await day.tell(WorkloadFinished(workload="other/j", reason="Succeeded"))
        await day.saved("LOG_0", "DEVICES_default")
        await day.decided(running, "LOG_0", "DEVICES_default")
    monkeypatch.setattr(wiring, "RULES", RULES)
    # The commit that names a saved world stays.
    day.bus.memory("LOG_0").remove(day.shelf.kept["LOG_0"][0].upto["LOG_0"] - 1)
    assert day.bus.memory("LOG_0").first > 1
    await day.fork()
    assert await lets_go(day, "LOG_0", 1, whose="LOG_1"), "a fork that was only said to be one holds nothing back"
    await day.tell(ORDER)
    (order,) = [entry.sequence for entry in day.entries[FACTS] if b"PartitionForked" in entry.data]
    async with day.served("LOG_0", "DEVICES_default") as running:
        await day.decided(running, "LOG_0", "DEVICES_default")
        await day.tell(replace(OTHERS, workload="other/k"), to="LOG_0")
        await day.decided(running, "LOG_0", "DEVICES_default")
    assert fold_up("LOG_0", day.entries).world.forks and len(day.entries["LOG_0"]) > 6
    assert all(label.upto[FACTS] < order for label in day.shelf.kept["LOG_0"]), "the fork has to begin there"
    assert not await lets_go(day, "LOG_0", len(day.entries["LOG_0"]), whose="LOG_1")
    async with day.served() as running:
        await day.saved("LOG_1")
        await day.tell(WorkloadFinished(workload="team/a", reason="Succeeded"), to="LOG_0")
        await day.decided(running, "LOG_0", "LOG_1", "DEVICES_default")
        live = state_hash(running.hosts["LOG_1"].fold.world)
    found, replayed = fold_partition("LOG_1", day.entries, verify=True)
    assert not replayed.is_wrong and state_hash(found.world) == live
    assert [key for key, one in found.world.workloads.items() if one.admission] == ["team/a", "team/b", "team/c"]


async def test_the_worlds_of_both_make_that_of_the_whole_log() -> None:
    day = await moved()
    folds = [fold_up(name, day.entries) for name in ("LOG_0", "LOG_1")]
    world = composed([one.world for one in folds])
    assert sorted(world.workloads) == ["other/j", "team/a", "team/b", "team/c", "team/d"]
    given = fold_up("DEVICES_default", day.entries).world
    assert world.homes == given.homes == {"cq": "LOG_1", "b": "LOG_0"}
    assert {key: one.admission for key, one in world.workloads.items()} == {
        key: one.admission for key, one in given.workloads.items()
    }


async def test_a_fork_whose_replicas_were_dead_when_the_order_came_begins_when_one_is_there() -> None:
    day = await begun()
    await day.fork()
    await day.tell(ORDER)
    async with day.served("LOG_0", "DEVICES_default") as running:
        await day.decided(running, "LOG_0")
    await day.tell(WorkloadFinished(workload="team/b", reason="Succeeded"), to="LOG_0")
    assert not day.bus.memory("LOG_1").entries
    async with day.served() as running:
        await day.decided(running, "LOG_0", "LOG_1", "DEVICES_default")
    found, replayed = fold_partition("LOG_1", day.entries, verify=True)
    assert not replayed.is_wrong and found.world.workloads["team/c"].admission is not None


async def test_until_the_origin_has_fixed_the_order_nobody_decides_about_the_tree_and_who_asks_sees_it() -> None:
    day = await begun()
    await day.fork()
    async with day.served("LOG_1", "DEVICES_default") as running:
        await day.decided(running, "LOG_1", begun=False)
        assert running.hosts["LOG_1"].caught_up.is_set()
        assert running.hosts["LOG_1"].fold.heirs == ("LOG_1",) and running.world_of_queues() is None
        asked = fold_up("LOG_1", day.entries).world
        assert not asked.workloads and asked.partition == "LOG_1", "nobody has moved there yet"
        await day.tell(ORDER)
        assert list(fold_up("LOG_1", day.entries).world.workloads) == ["team/a", "team/b", "team/c"]
        assert list(fold_up("LOG_0", day.entries).world.workloads) == ["other/j"]
        assert not day.bus.memory("LOG_1").entries
    async with day.served() as running:
        await day.decided(running, "LOG_0", "LOG_1")
    assert day.bus.memory("LOG_1").entries


async def test_an_order_that_would_tear_a_namespace_apart_changes_nothing_and_a_later_one_is_followed() -> None:
    day = await begun()
    await day.fork()
    await day.tell(LocalQueueObserved(namespace="team", name="both", cluster_queue="b"), ORDER)
    await day.tell(ObjectRemoved(kind="LocalQueue", namespace="team", name="both"))
    before = fold_up("LOG_0", day.entries).world
    assert not before.forks and set(before.homes.values()) == {"LOG_0"}
    await day.tell(ORDER)
    async with day.served() as running:
        await day.decided(running, "LOG_0", "LOG_1")
    assert list(fold_up("LOG_1", day.entries).world.workloads) == ["team/a", "team/b", "team/c"]


async def test_a_fork_of_a_fork_has_the_history_of_both() -> None:
    day = await moved()
    again = ForkedFrom(partition=2, origin=1, above=2 * ABOVE)
    await say(await day.bus.stream(CONTROL), LogPartitioned(partitions=3, forks=(again,)), 2)
    await day.tell(PartitionForked(partition=2, origin=1, above=2 * ABOVE, trees=("queue/cq",)))
    async with day.served() as running:
        await day.decided(running, "LOG_0", "LOG_1", "LOG_2")
        await day.tell(WorkloadFinished(workload="team/b", reason="Succeeded"), to="LOG_0")
        await day.decided(running, "LOG_0", "LOG_1", "LOG_2")
    worlds = {name: fold_partition(name, day.entries, verify=True) for name in ("LOG_0", "LOG_1", "LOG_2")}
    assert not any(replayed.is_wrong for _, replayed in worlds.values())
    assert not worlds["LOG_1"][0].world.workloads
    later = worlds["LOG_2"][0].world.workloads["team/d"].admission
    assert later is not None and later.reservation > 2 * ABOVE


def test_numbers_are_sequences_but_in_a_fork_and_lead_back_to_them() -> None:
    control = Control([entry_of(FORK)])
    assert control.lineage("LOG_1") == ("LOG_0", "LOG_1") and control.lineage("LOG_0") == ("LOG_0",)
    assert control.number("LOG_0", 7) == 7 and control.number("LOG_1", 7) == ABOVE + 7
    assert control.sequence_of("LOG_1", ABOVE + 7) == 7 and control.sequence_of("LOG_1", 7) < 0


def entry_of(event: LogPartitioned) -> Entry:
    commit = said(event, 1)
    return Entry(stream=CONTROL, sequence=1, subject="", message_id=commit.id, data=encode(commit))
