"""What guards a partition: clocks that run ahead are kept off it, or bounded on record, and no failing tree stops the others."""

import asyncio
from collections.abc import Generator, Sequence
from contextlib import contextmanager

import msgspec
import pytest

from events.codec import decode_commit, encode
from events.commit import Commit, Sighting
from events.event import Millis
from events.hash_chain import GENESIS, bytes_hash
from events.quota import LocalQueueObserved, NamespaceObserved
from events.rules import RULES
from events.setting_aside import SetAside
from events.subjects import FACTS, commit_subject, fact_subject
from ops.production.archive.history import read_everything
from ops.production.log.memory import MemoryBus
from ops.production.log.snapshots import image_hash
from ops.production.log.streams import DEVICE_PARTITION, PARTITION
from ops.production.process.clock import ScaledClock
from ops.queries.replay import fold_partition
from projections.amiss import AUTHOR, TIME
from projections.world import World
from services.admitter import decide as admitter
from services.admitter.decide import Admitter
from services.admitter.entry import QueueHead
from services.queue_manager.decide import QueueManager
from services.runtime.control_log import AHEAD
from services.runtime.log_port import Entry
from services.runtime.partition.halts import CLOCK
from services.runtime.partition.host import Decider, PartitionHost
from services.runtime.tracing import NoTracer
from tests.services.runtime.partition.test_host import admitted, stop, tell, without_cards
from tests.stories.small_world import job, queue

NOON: Millis = 1_800_000_000_000


class BusClock:
    """The time of the bus, which passes when a test says so."""

    def __init__(self) -> None:
        self.now = NOON
        self.asked = 0

    def __call__(self) -> Millis:
        self.asked += 1
        return self.now


async def host(bus: MemoryBus, *deciders: Decider, ahead: Millis = 0) -> PartitionHost:
    """A host whose clock stands so far ahead of noon, and whose commits all name the state behind them."""
    return PartitionHost(
        own=await bus.stream(PARTITION),
        inputs=[await bus.stream(DEVICE_PARTITION), await bus.stream(FACTS)],
        deciders=deciders,
        clock=ScaledClock(start=NOON + ahead, ticks=lambda: 0.0),
        tracer=NoTracer(),
        rules=RULES,
        replica="a",
        mark=image_hash,
    )


@contextmanager
def serving(host: PartitionHost) -> Generator["asyncio.Task[None]"]:
    task = asyncio.create_task(host.run())
    try:
        yield task
    finally:
        task.cancel()


async def test_who_is_more_than_five_seconds_ahead_of_the_bus_appends_nothing_until_the_bus_is_there() -> None:
    time = BusClock()
    bus = MemoryBus(time)
    await tell(bus, [*without_cards(5), job("a")])
    one = await host(bus, QueueManager(), Admitter(), ahead=AHEAD // 2 + 1)
    with serving(one) as task:
        await asyncio.wait_for(one.stuck.wait(), 30)
        assert one.halts.kinds == [CLOCK] and "5 s ahead of the bus's" in one.halted
        assert not bus.memory(PARTITION).entries
        time.now += 1
        assert await asyncio.wait_for(admitted(bus, 1), 30) == ["team/a"]
        assert CLOCK not in one.halts.kinds
        await stop(task)


async def test_a_clock_that_is_ahead_is_looked_at_again_though_nothing_arrives() -> None:
    time = BusClock()
    bus = MemoryBus(time)
    one = await host(bus, QueueManager(), ahead=AHEAD)
    with serving(one) as task:
        await asyncio.wait_for(one.stuck.wait(), 30)
        asked = time.asked
        async with asyncio.timeout(120):
            while time.asked < asked + 5:  # noqa: ASYNC110 - nothing tells of a look at the time
                await asyncio.sleep(0)
        await stop(task)


async def test_who_is_five_seconds_ahead_still_decides() -> None:
    bus = MemoryBus(BusClock())
    await tell(bus, [*without_cards(5), job("a")])
    one = await host(bus, QueueManager(), Admitter(), ahead=AHEAD // 2)
    with serving(one) as task:
        assert await asyncio.wait_for(admitted(bus, 1), 30) == ["team/a"]
        await stop(task)
    assert decode_commit(bus.memory(PARTITION).entries[-1].data).at == NOON + AHEAD // 2


def commit_at(at: Millis, *, base: int = 0, prev_hash: str = GENESIS) -> Entry:
    """A commit that is chained as it must be, and was stored at noon."""
    made = Commit(
        id=f"c{base}",
        prev_hash=prev_hash,
        partition=PARTITION,
        base=base,
        inputs=(),
        author="queue-manager",
        epoch=0,
        rules="1",
        at=at,
        events=(),
    )
    subject = commit_subject(PARTITION, made.author)
    return Entry(
        stream=PARTITION, sequence=base + 1, subject=subject, message_id=made.id, data=encode(made), stored=NOON
    )


def fact_at(at: Millis, subject: str = "", author: str = "watcher") -> Entry:
    sighting = Sighting(id="f", at=at, author=author, fact=NamespaceObserved(name="team"))
    subject = subject or fact_subject("", "NamespaceObserved")
    return Entry(stream=FACTS, sequence=1, subject=subject, message_id="f", data=encode(sighting), stored=NOON)


@pytest.mark.parametrize("beyond", [0, 1, 86_400_000])
def test_a_commit_from_beyond_ten_seconds_counts_as_ten_seconds_ahead_and_that_is_on_record(beyond: Millis) -> None:
    first = commit_at(NOON + AHEAD + beyond)
    second = commit_at(NOON + 1000, base=1, prev_hash=bytes_hash(first.data))
    fold, replayed = fold_partition(PARTITION, {PARTITION: [first, second], FACTS: [fact_at(NOON + AHEAD + beyond)]})
    assert fold.at == NOON + AHEAD, "time goes on from there, and what follows bears no earlier one"
    late = [(one.stream, one.what, one.author, one.sequence, one.count) for one in replayed.amiss]
    assert late == ([(FACTS, TIME, "watcher", 1, 1), (PARTITION, TIME, "queue-manager", 1, 1)] if beyond else [])
    assert all(f"its time is {beyond} ms later" in one.detail for one in replayed.amiss)
    assert replayed.is_wrong == bool(beyond)


def test_what_is_not_its_authors_to_say_is_told_by_a_replay() -> None:
    foreign = [fact_at(NOON, subject="kuelog.facts.a.b.NamespaceObserved"), fact_at(NOON, author="somebody")]
    for entry, author in zip(foreign, ("watcher", "somebody unknown"), strict=True):
        [found] = fold_partition(PARTITION, {PARTITION: [], FACTS: [entry]}, verify=True)[1].amiss
        assert (found.what, found.author, found.sequence) == (AUTHOR, author, 1)


async def test_a_tree_on_which_a_decider_fails_is_set_aside_on_the_log_and_the_others_are_served(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heads = admitter.heads

    def fails(world: World, trees: Sequence[str], at: Millis) -> list[QueueHead]:
        if "queue/cq" in trees:
            raise ValueError("no order")
        return heads(world, trees, at)

    bus = MemoryBus(BusClock())
    other = [queue("else", nominal=2), LocalQueueObserved(namespace="team", name="lq2", cluster_queue="else")]
    await tell(bus, [*without_cards(5), *other, job("a"), job("there", queue="lq2")])
    one = await host(bus, QueueManager(), Admitter())
    with monkeypatch.context() as patched, serving(one) as task:
        patched.setattr(admitter, "heads", fails)
        assert await asyncio.wait_for(admitted(bus, 1), 30) == ["team/there"]
        await one.quiet.wait()
        await stop(task)
    said = [event for entry in bus.memory(PARTITION).entries for event in decode_commit(entry.data).events]
    assert [(event.service, event.tree) for event in said if isinstance(event, SetAside)] == [("admitter", "queue/cq")]
    assert list(one.fold.world.aside) == ["admitter/tree/queue/cq"] and not one.halted
    again = await host(bus, QueueManager(), Admitter())
    await tell(bus, [queue("cq", nominal=6)], begin=900)
    with serving(again) as task:
        assert sorted(await asyncio.wait_for(admitted(bus, 2), 30)) == ["team/a", "team/there"]
        assert not again.fold.world.aside, "its queue has changed, so it is tried again"
        await stop(task)


async def test_a_commit_that_names_a_state_to_which_the_log_does_not_lead_is_told() -> None:
    bus = MemoryBus(BusClock())
    await tell(bus, [*without_cards(5), job("a")])
    one = await host(bus, QueueManager(), Admitter())
    with serving(one) as task:
        await asyncio.wait_for(admitted(bus, 1), 30)
        await stop(task)
    entries = await read_everything(bus)
    sound = fold_partition(PARTITION, entries, verify=True)[1]
    assert sound.states == len(entries[PARTITION]) > 1 and not sound.is_wrong
    last = entries[PARTITION][-1]
    false = msgspec.structs.replace(decode_commit(last.data), state_hash="0" * 64)
    entries[PARTITION][-1] = msgspec.structs.replace(last, data=encode(false))
    [other] = fold_partition(PARTITION, entries, verify=True)[1].other_states
    assert (other.sequence, other.recorded) == (last.sequence, "0" * 64)
