"""Several hosts on one partition: whoever writes second folds on and decides again; nothing is decided twice."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from events.admission import QuotaReserved, WorkloadAdmitted
from events.catalogue import Fact
from events.codec import decode_commit, encode
from events.commit import Sighting
from events.device import DevicesRegistered
from events.quota import NamespaceObserved
from events.subjects import FACTS, fact_subject
from ops.production.archive.history import read_everything
from ops.production.archive.proof.witness import HeadWitness, WitnessKeyMissing
from ops.production.log.jetstream.bus import connect
from ops.production.log.memory import AppendFault, MemoryBus, MemoryStream
from ops.production.log.server.server import NatsServer
from ops.production.log.streams import DEVICE_PARTITION, PARTITION
from ops.production.process.clock import ScaledClock
from ops.production.wiring import Ports, Running
from ops.queries.replay import fold_partition
from projections.state_hash import state_hash
from services.accountant.decide import Accountant
from services.admitter.decide import Admitter
from services.preemptor.decide import Preemptor
from services.queue_manager.decide import QueueManager
from services.runtime.log_errors import LogRegressed
from services.runtime.log_port import Bus, Entry, Message
from services.runtime.partition.host import MOST_AHEAD, Decider, PartitionHost
from services.runtime.tracing import NoTracer
from tests.stories.small_world import job, platform


class NoCluster:
    """The services under test here never look at the cluster."""

    def __getattr__(self, name: str) -> object:
        raise AssertionError(f"{name} of the cluster was asked for")


@pytest_asyncio.fixture(params=["twin", "real server"])
async def bus(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Bus]:
    if request.param == "twin":
        yield MemoryBus()
        return
    server = NatsServer(tmp_path)
    await server.start()
    found = await connect(server.url)
    yield found
    await found.close()
    await server.stop()


async def tell(bus: Bus, facts: list[Fact], begin: int = 0) -> None:
    stream = await bus.stream(FACTS)
    await stream.publish(
        [
            Message(
                fact_subject("t", type(fact).__name__),
                encode(Sighting(id=f"f{begin + i}", at=begin + i, author="watcher", fact=fact)),
                f"f{begin + i}",
            )
            for i, fact in enumerate(facts)
        ]
    )


async def host(bus: Bus, *deciders: Decider, replica: str = "a", listed: asyncio.Event | None = None) -> PartitionHost:
    return PartitionHost(
        own=await bus.stream(PARTITION),
        inputs=[await bus.stream(DEVICE_PARTITION), await bus.stream(FACTS)],
        deciders=deciders,
        clock=ScaledClock(),
        tracer=NoTracer(),
        rules="1",
        replica=replica,
        listed=listed,
    )


async def test_nothing_is_decided_before_the_watcher_beside_it_has_listed_everything() -> None:
    bus, listed = MemoryBus(), asyncio.Event()
    found = await host(bus, QueueManager(), listed=listed)
    await tell(bus, [*platform(), job("early")])
    task = asyncio.create_task(found.run())
    await found.caught_up.wait()
    await tell(bus, [job("late")], begin=100)
    async with asyncio.timeout(60):
        while len(found.fold.world.workloads) < 2:  # noqa: ASYNC110 - a fold tells nobody
            await asyncio.sleep(0)
    for _ in range(100):
        await asyncio.sleep(0)
    assert (await (await bus.stream(PARTITION)).last()).sequence == 0, "though it had time to decide"
    listed.set()
    await found.quiet.wait()
    first = decode_commit((await (await bus.stream(PARTITION)).get(1)).data)
    assert first.inputs[-1].upto == (await (await bus.stream(FACTS)).last()).sequence, (
        "what came meanwhile is known first"
    )
    task.cancel()


class SlowFacts(MemoryStream):
    """A stream that has stored what its readers do not get yet, until that is `given`."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.given = asyncio.Event()

    async def follow(self, after: int, reader: str = "") -> AsyncIterator[list[Entry]]:
        async for batch in super().follow(after, reader):
            await self.given.wait()
            yield batch


async def test_what_the_watcher_had_stored_before_it_had_listed_everything_is_known_before_anything_is_decided() -> (
    None
):
    bus, listed, facts = MemoryBus(), asyncio.Event(), SlowFacts(FACTS)
    bus.streams[FACTS] = facts
    found = await host(bus, QueueManager(), listed=listed)
    task = asyncio.create_task(found.run())
    await found.caught_up.wait()
    facts.given.set()
    await tell(bus, [*platform(), job("early")])
    async with asyncio.timeout(60):
        while not found.fold.world.workloads:  # noqa: ASYNC110 - a fold tells nobody
            await asyncio.sleep(0)
    facts.given.clear()
    await tell(bus, [job("late")], begin=100)
    listed.set()
    for _ in range(100):
        await asyncio.sleep(0)
    assert (await (await bus.stream(PARTITION)).last()).sequence == 0, "though it had time to decide"
    facts.given.set()
    await found.quiet.wait()
    first = decode_commit((await (await bus.stream(PARTITION)).get(1)).data)
    assert first.inputs[-1].upto == (await facts.last()).sequence
    task.cancel()


async def accountant(bus: Bus) -> PartitionHost:
    return PartitionHost(
        own=await bus.stream(DEVICE_PARTITION),
        inputs=[await bus.stream(FACTS), await bus.stream(PARTITION)],
        deciders=[Accountant()],
        clock=ScaledClock(),
        tracer=NoTracer(),
        rules="1",
        replica="accountant",
    )


async def admitted(bus: Bus, count: int) -> list[str]:
    """Follow the partition until so many admissions stand on it."""
    found: list[str] = []
    async for batch in (await bus.stream(PARTITION)).follow(0):
        for entry in batch:
            found.extend(e.workload for e in decode_commit(entry.data).events if isinstance(e, WorkloadAdmitted))
        if len(found) >= count:
            return found
    return found


async def stop(*tasks: "asyncio.Task[None]") -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def without_cards(nominal: int, cohort: str = "") -> list[Fact]:
    return [fact for fact in platform(nominal=nominal, cohort=cohort) if not isinstance(fact, DevicesRegistered)]


async def test_two_admitters_under_load_decide_nothing_twice(bus: Bus) -> None:
    jobs = 60
    await tell(bus, without_cards(nominal=jobs))
    hosts = [
        await host(bus, QueueManager(), replica="queue-manager"),
        await host(bus, Admitter(), replica="left"),
        await host(bus, Admitter(), replica="right"),
        await host(bus, Preemptor(), replica="preemptor"),
    ]
    tasks = [asyncio.create_task(one.run()) for one in hosts]
    for number in range(jobs):
        await tell(bus, [job(f"j{number}")], begin=1000 + number)
    found = await asyncio.wait_for(admitted(bus, jobs), 60)
    await stop(*tasks)
    assert sorted(found) == sorted(f"team/j{number}" for number in range(jobs))
    entries = await read_everything(bus)
    reserved = [
        e.workload
        for entry in entries[PARTITION]
        for e in decode_commit(entry.data).events
        if isinstance(e, QuotaReserved)
    ]
    assert len(reserved) == len(set(reserved)) == jobs
    _, replayed = fold_partition(PARTITION, entries, verify=True)
    assert not replayed.differences


async def test_who_never_has_anything_to_say_says_so_now_and_then_and_keeps_nothing(bus: Bus) -> None:
    idle = await accountant(bus)
    task = asyncio.create_task(idle.run())
    await tell(bus, [NamespaceObserved(name=f"n{number}") for number in range(MOST_AHEAD + 5)])
    async for batch in (await bus.stream(DEVICE_PARTITION)).follow(0):
        commit = decode_commit(batch[0].data)
        break
    await idle.quiet.wait()
    await stop(task)
    assert commit.events == () and commit.inputs[0].upto >= MOST_AHEAD
    assert idle.fold.ahead == MOST_AHEAD + 5 - commit.inputs[0].upto
    _, replayed = fold_partition(DEVICE_PARTITION, await read_everything(bus), verify=True)
    assert (replayed.commits, list(replayed.differences)) == (1, [])


async def test_apart_or_together_the_services_come_to_the_same_end(bus: Bus) -> None:
    await tell(bus, [*platform(nominal=4, cards=2), job("a"), job("b", count=2), job("giant", memory=60000)])
    tasks = [
        asyncio.create_task(one.run())
        for one in (
            await host(bus, QueueManager(), Admitter(), Preemptor()),
            await host(bus, Admitter(), replica="second"),
            await accountant(bus),
        )
    ]
    assert sorted(await asyncio.wait_for(admitted(bus, 2), 60)) == ["team/a", "team/b"]
    await stop(*tasks)
    _, first = fold_partition(PARTITION, await read_everything(bus), verify=True)
    _, second = fold_partition(DEVICE_PARTITION, await read_everything(bus), verify=True)
    assert not first.differences and not second.differences


async def test_a_host_that_starts_anew_goes_on_where_the_log_stands(bus: Bus) -> None:
    await tell(bus, [*without_cards(8), job("a")])
    first = await host(bus, QueueManager(), Admitter(), Preemptor())
    task = asyncio.create_task(first.run())
    await asyncio.wait_for(admitted(bus, 1), 30)
    await stop(task)
    await tell(bus, [job("b")], begin=500)
    again = await host(bus, QueueManager(), Admitter(), Preemptor(), replica="again")
    task = asyncio.create_task(again.run())
    assert await asyncio.wait_for(admitted(bus, 2), 30) == ["team/a", "team/b"]
    await stop(task)


async def test_a_message_that_is_not_ours_halts_the_partition_until_it_is_quarantined(bus: Bus) -> None:
    await tell(bus, without_cards(8))
    facts = await bus.stream(FACTS)
    await facts.publish([Message("kuelog.facts.t.k", b"not json", "stray")])
    stray = (await facts.last()).sequence
    await tell(bus, [job("a")], begin=900)
    partition = await host(bus, QueueManager(), Admitter(), Preemptor())
    task = asyncio.create_task(partition.run())
    await asyncio.wait_for(partition.stuck.wait(), 30)
    assert f"FACTS sequence {stray}" in partition.halted and "quarantine" in partition.halted
    assert (await (await bus.stream(PARTITION)).last()).sequence == 0, "nothing was decided on it"
    partition.fold.control.skipped[FACTS, stray] = "stray"
    partition.nudge()
    assert await asyncio.wait_for(admitted(bus, 1), 30) == ["team/a"]
    await stop(task)


async def test_the_bus_goes_away_and_comes_back_and_deciding_goes_on() -> None:
    bus = MemoryBus()
    await tell(bus, without_cards(8))
    bus.memory(PARTITION).faults.extend([AppendFault.UNAVAILABLE, AppendFault.ACK_LOST])
    partition = await host(bus, QueueManager(), Admitter(), Preemptor())
    task = asyncio.create_task(partition.run())
    await tell(bus, [job("a")], begin=900)
    assert await asyncio.wait_for(admitted(bus, 1), 30) == ["team/a"]
    await stop(task)


async def test_a_log_that_lost_its_tail_is_noticed_and_nothing_is_admitted(tmp_path: Path) -> None:
    bus = MemoryBus()
    await tell(bus, [*without_cards(8), job("a")])
    partition = await host(bus, QueueManager(), Admitter(), Preemptor())
    task = asyncio.create_task(partition.run())
    await asyncio.wait_for(admitted(bus, 1), 30)
    await stop(task)
    witness = HeadWitness(tmp_path)
    await witness.witness(bus.memory(PARTITION))
    bus.memory(PARTITION).truncate(1)
    with pytest.raises(LogRegressed, match="has lost its tail"):
        await HeadWitness(tmp_path).check(bus.memory(PARTITION))
    await bus.memory(PARTITION).append("kuelog.log.0.x", b"{}", message_id="other", base=1)
    with pytest.raises(LogRegressed, match="holds another message"):
        await HeadWitness(tmp_path).check(bus.memory(PARTITION))
    assert HeadWitness(tmp_path).forget(PARTITION), "an operator may accept the loss on record"
    await HeadWitness(tmp_path).check(bus.memory(PARTITION))


async def test_a_witness_signed_by_another_key_is_not_trusted(tmp_path: Path) -> None:
    bus = MemoryBus()
    await bus.memory(PARTITION).append("kuelog.log.0.x", b"{}", message_id="m", base=0)
    await HeadWitness(tmp_path).witness(bus.memory(PARTITION))
    (tmp_path / "witness.key").write_bytes(b"k" * 32)
    with pytest.raises(WitnessKeyMissing, match="restore the key"):
        HeadWitness(tmp_path)


async def test_replaying_twice_gives_the_same_state(bus: Bus) -> None:
    await tell(bus, [*platform(nominal=4, cards=2), job("a"), job("b")])
    hosts = [await host(bus, QueueManager(), Admitter(), Preemptor()), await accountant(bus)]
    tasks = [asyncio.create_task(one.run()) for one in hosts]
    await asyncio.wait_for(admitted(bus, 2), 30)
    await stop(*tasks)
    entries = await read_everything(bus)
    left, right = fold_partition(PARTITION, entries)[0], fold_partition(PARTITION, entries)[0]
    assert state_hash(left.world) == state_hash(right.world)


async def test_services_that_start_on_a_log_without_its_tail_decide_nothing_and_say_why(tmp_path: Path) -> None:
    bus = MemoryBus()
    await tell(bus, [*without_cards(8), job("a")])
    partition = await host(bus, QueueManager(), Admitter(), Preemptor())
    task = asyncio.create_task(partition.run())
    await asyncio.wait_for(admitted(bus, 1), 30)
    await stop(task)
    await HeadWitness(tmp_path).witness(bus.memory(PARTITION))
    bus.memory(PARTITION).truncate(1)
    await tell(bus, [job("b")], begin=700)
    ports = Ports(bus=bus, reader=NoCluster(), writer=NoCluster(), clock=ScaledClock())
    services = Running(ports, ("queue-manager", "admitter", "preemptor"), witness=tmp_path)
    with pytest.raises(LogRegressed, match="Nothing is admitted"):
        await asyncio.wait_for(services.run(), 30)
    assert (await bus.memory(PARTITION).last()).sequence == 1


async def test_a_tail_that_is_lost_while_services_run_stops_them_from_deciding(tmp_path: Path) -> None:
    bus = MemoryBus()
    await tell(bus, [*without_cards(8), job("a")])
    ports = Ports(bus=bus, reader=NoCluster(), writer=NoCluster(), clock=ScaledClock(1000))
    services = Running(ports, ("queue-manager", "admitter", "preemptor"), witness=tmp_path)
    task = asyncio.create_task(services.run())
    await asyncio.wait_for(admitted(bus, 1), 30)
    while not await fully_witnessed(bus, tmp_path):  # noqa: ASYNC110 - the witness is a file, nothing tells of it
        await asyncio.sleep(0.01)
    bus.memory(PARTITION).truncate(1)
    await asyncio.wait_for(services.hosts[PARTITION].stuck.wait(), 30)
    assert "has lost its tail" in services.hosts[PARTITION].halted
    await tell(bus, [job("b")], begin=700)
    assert not services.hosts[PARTITION].decides
    await stop(task)
    assert (await bus.memory(PARTITION).last()).sequence == 1


async def fully_witnessed(bus: MemoryBus, folder: Path) -> bool:
    """Whether the witness, as it stands on disk, knows the end of the partition."""
    seen = HeadWitness(folder).seen(PARTITION)
    return seen is not None and seen.sequence == (await bus.memory(PARTITION).last()).sequence
