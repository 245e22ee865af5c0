"""One contract for the log, held by the twin, by one server, and by three servers clustered on loopback."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest
import pytest_asyncio
from nats.js.api import StreamConfig

from events.subjects import routed_subject
from ops.production.log.jetstream.bus import JetStreamBus, connect
from ops.production.log.jetstream.generations import asked
from ops.production.log.jetstream.stream import JetStreamStream
from ops.production.log.memory import AppendFault, MemoryBus
from ops.production.log.server.cluster import NatsCluster
from ops.production.log.server.server import NatsServer
from services.runtime.log_errors import LogFull, LogGap, LogMovedOn, LogUnavailable, TailLost, UnsafeStream
from services.runtime.log_port import Bus, Entry, Message, Stream

pytestmark = pytest.mark.asyncio(loop_scope="module")

BACKENDS = ["twin", "one server", "three servers"]


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=BACKENDS)
async def bus(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Bus]:
    store: Path = tmp_path_factory.mktemp("nats")
    if request.param == "twin":
        yield MemoryBus()
        return
    three = request.param == "three servers"
    servers = NatsCluster(store) if three else NatsServer(store)
    await servers.start()
    found = await connect(servers.url, replicas=3 if three else 1, max_bytes=64 << 20)
    if three:
        await _quorum(found)
    try:
        yield found
    finally:
        await found.close()
        await servers.stop()


async def _quorum(bus: JetStreamBus) -> None:
    """A cluster that has just started takes a moment to agree on a leader."""
    for _ in range(100):
        try:
            await bus.stream("LOG_quorum")
        except LogUnavailable:
            await asyncio.sleep(0.1)
        else:
            return
    raise AssertionError("three servers never agreed on a leader")


@pytest_asyncio.fixture(loop_scope="module")
async def partition(bus: Bus, request: pytest.FixtureRequest) -> Stream:
    name = "".join(c if c.isalnum() else "_" for c in request.node.name)[-60:]
    found = await bus.stream(f"LOG_{name}")
    if isinstance(bus, JetStreamBus):
        await _led(bus, found.name)
    return found


async def _led(bus: JetStreamBus, stream: str) -> None:
    """Three servers take a moment to agree on who leads a stream that is new: until then nobody takes what is appended."""
    while True:
        with suppress(LogUnavailable):
            cluster = (await asked(bus.client, f"STREAM.INFO.{stream}", {})).get("cluster")
            if cluster is None or cluster.get("leader"):
                return
        await asyncio.sleep(0.1)


def subject(partition: Stream) -> str:
    return f"kuelog.log.{partition.name.removeprefix('LOG_')}.test"


async def put(partition: Stream, base: int, name: str) -> int:
    return await partition.append(subject(partition), name.encode(), message_id=f"{partition.name}-{name}", base=base)


async def everything(partition: Stream, after: int = 0) -> list[Entry]:
    return [entry async for batch in partition.read(after) for entry in batch]


async def test_what_is_appended_is_read_back_in_order_from_any_sequence(partition: Stream) -> None:
    for base in range(5):
        assert await put(partition, base, f"m{base}") == base + 1
    assert [entry.data for entry in await everything(partition)] == [b"m0", b"m1", b"m2", b"m3", b"m4"]
    assert [entry.sequence for entry in await everything(partition, 3)] == [4, 5]
    head = await partition.last()
    assert (head.sequence, head.message_id) == (5, f"{partition.name}-m4")
    assert (await partition.get(2)).data == b"m1"


async def test_an_append_on_an_old_base_is_refused_and_stores_nothing(partition: Stream) -> None:
    await put(partition, 0, "first")
    with pytest.raises(LogMovedOn):
        await put(partition, 0, "late")
    assert [entry.data for entry in await everything(partition)] == [b"first"]


async def test_the_same_message_again_is_the_same_message(partition: Stream) -> None:
    assert await put(partition, 0, "once") == 1
    assert await put(partition, 0, "once") == 1
    assert len(await everything(partition)) == 1


async def test_of_two_writers_that_race_each_sequence_has_one_author_and_nothing_is_lost(partition: Stream) -> None:
    async def writer(name: str) -> list[int]:
        won: list[int] = []
        while len(won) < 15:
            base = (await partition.last()).sequence
            try:
                won.append(await put(partition, base, f"{name}{base}"))
            except LogMovedOn:
                continue
        return won

    left, right = await asyncio.gather(writer("a"), writer("b"))
    assert sorted(left + right) == list(range(1, 31))
    stored = await everything(partition)
    assert [entry.sequence for entry in stored if entry.data.startswith(b"a")] == left


async def test_a_deposed_writer_that_wakes_up_with_a_chain_of_guesses_lands_nothing(partition: Stream) -> None:
    await put(partition, 0, "old")
    await put(partition, 1, "takeover")
    with pytest.raises(LogMovedOn):
        await put(partition, 1, "guess1")
    for guess in (2 + 1, 2 + 2):
        with pytest.raises(TailLost):
            await put(partition, guess, f"guess{guess}")
    assert [entry.data for entry in await everything(partition)] == [b"old", b"takeover"]


async def test_a_follower_sees_what_was_there_and_then_what_comes(partition: Stream) -> None:
    await put(partition, 0, "before")
    seen: list[bytes] = []
    complete = asyncio.Event()

    async def follow() -> None:
        async for batch in partition.follow(0):
            seen.extend(entry.data for entry in batch)
            if len(seen) == 3:
                complete.set()

    task = asyncio.create_task(follow())
    await put(partition, 1, "while")
    await put(partition, 2, "after")
    await asyncio.wait_for(complete.wait(), 20)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert seen == [b"before", b"while", b"after"]


async def test_published_facts_keep_their_order_and_repetitions_are_dropped(bus: Bus) -> None:
    facts = await bus.stream("FACTS")
    begin = (await facts.last()).sequence
    messages = [Message("kuelog.facts.t.k", str(i).encode(), f"fact-{i}") for i in range(1000)]
    await facts.publish(messages)
    await facts.publish(messages[:10])
    stored = await everything(facts, begin)
    assert [entry.data for entry in stored] == [message.data for message in messages]


def routed(number: int, *partitions: str) -> list[Message]:
    """Facts for all, where no partition is named, and for one."""
    return [
        Message(routed_subject(one, "K") if one else "kuelog.facts.t.K", one.encode(), f"routed-{number}-{i}")
        for i, one in enumerate(partitions)
    ]


async def test_a_partition_reads_what_is_for_it_and_what_is_for_all_and_learns_how_far_nothing_is(bus: Bus) -> None:
    facts = await bus.stream("FACTS")
    begin = (await facts.last()).sequence
    await facts.publish(routed(begin, "LOG_1", "", "LOG_2", "LOG_1", "LOG_2"))
    seen: list[Entry] = []
    complete = asyncio.Event()

    async def follow() -> None:
        async for batch in facts.follow(begin, "LOG_1"):
            seen.extend(batch)
            if len(seen) == 4:
                complete.set()

    task = asyncio.create_task(follow())
    await facts.publish(routed(begin + 5, "LOG_2", "LOG_1"))
    await asyncio.wait_for(complete.wait(), 20)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert [one.sequence - begin for one in seen] == [1, 2, 4, 7]
    assert [one.data for one in seen] == [b"LOG_1", b"", b"LOG_1", b"LOG_1"]
    free = [await facts.nothing_for(begin + after, "LOG_1") - begin for after in range(8)]
    assert free == [0, 1, 3, 3, 6, 6, 6, 7]
    assert await facts.nothing_for(begin + 2, "LOG_9") == begin + 7, "all that is stored, and no more"


async def test_what_is_left_out_for_a_partition_hides_no_gap(tmp_path: Path) -> None:
    server = NatsServer(tmp_path)
    await server.start()
    bus = await connect(server.url)
    js = bus.client.jetstream()
    await js.add_stream(StreamConfig(name="FACTS", subjects=["kuelog.facts.>"]))
    facts = JetStreamStream(bus.client, "FACTS")
    await facts.publish(routed(0, "LOG_1", "LOG_2", "LOG_2", "LOG_1"))
    assert [one.sequence async for batch in until(facts, 4) for one in batch] == [1, 4]
    await js.delete_msg("FACTS", 2)
    with pytest.raises(LogGap, match="expected sequence 2, found 3"):
        [one async for batch in until(facts, 4) for one in batch]
    assert await facts.nothing_for(1, "LOG_1") == 1, "nobody goes past what may have been for it"
    await bus.close()
    await server.stop()


async def until(facts: Stream, sequence: int) -> AsyncIterator[list[Entry]]:
    """What LOG_1 reads of the facts, up to a sequence."""
    async for batch in facts.follow(0, "LOG_1"):
        yield batch
        if batch[-1].sequence >= sequence:
            return


async def test_a_message_that_is_not_there_is_a_gap(partition: Stream) -> None:
    await put(partition, 0, "only")
    with pytest.raises(LogGap):
        await partition.get(7)


async def test_the_twin_resolves_a_lost_acknowledgement_and_says_when_it_is_full_or_away() -> None:
    twin = MemoryBus().memory("LOG_twin")
    twin.faults.append(AppendFault.ACK_LOST)
    assert await twin.append("s", b"x", message_id="x", base=0) == 1
    twin.faults.extend([AppendFault.FULL, AppendFault.UNAVAILABLE])
    with pytest.raises(LogFull):
        await twin.append("s", b"y", message_id="y", base=1)
    with pytest.raises(LogUnavailable):
        await twin.append("s", b"y", message_id="y", base=1)
    assert (await twin.last()).sequence == 1


async def test_a_lost_acknowledgement_of_a_real_server_is_resolved_by_reading(tmp_path: Path) -> None:
    server = NatsServer(tmp_path)
    await server.start()
    bus = await connect(server.url)
    partition = await bus.stream("LOG_lost")
    server.pause()
    waiting = asyncio.create_task(put(partition, 0, "kept"))
    await asyncio.sleep(0)
    server.resume()
    assert await waiting == 1
    assert await put(partition, 0, "kept") == 1, "asked again, it is found to be stored already"
    await bus.close()
    await server.stop()


async def test_a_follower_outlives_a_killed_server_and_misses_nothing(tmp_path: Path) -> None:
    server = NatsServer(tmp_path)
    await server.start()
    bus = await connect(server.url)
    partition = await bus.stream("LOG_restart")
    seen: list[bytes] = []
    begun, ended = asyncio.Event(), asyncio.Event()

    async def follow() -> None:
        async for batch in partition.follow(0):
            seen.extend(entry.data for entry in batch)
            begun.set()
            if b"after" in seen:
                ended.set()

    task = asyncio.create_task(follow())
    await put(partition, 0, "before")
    await asyncio.wait_for(begun.wait(), 20)
    await server.kill()
    with pytest.raises(LogUnavailable):
        await put(partition, 1, "unknown")
    await server.start()
    while not ended.is_set():
        # What nobody acknowledged may have been stored all the same: the end of the stream says so.
        try:
            await put(partition, (await partition.last()).sequence, "after")
            await asyncio.wait_for(ended.wait(), 20)
        except (LogUnavailable, LogMovedOn):
            await asyncio.sleep(0.1)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert seen == [entry.data for entry in await everything(partition)]
    assert seen in ([b"before", b"after"], [b"before", b"unknown", b"after"])
    await bus.close()
    await server.stop()


async def test_a_full_stream_refuses_and_loses_nothing(tmp_path: Path) -> None:
    server = NatsServer(tmp_path)
    await server.start()
    bus = await connect(server.url, max_bytes=4096)
    partition = await bus.stream("LOG_full")
    base = 0
    with pytest.raises(LogFull):
        while True:
            base = await partition.append(subject(partition), b"x" * 500, message_id=f"m{base}", base=base)
    assert (await partition.last()).sequence == base
    await bus.close()
    await server.stop()


async def test_a_stream_that_could_forget_is_not_used(tmp_path: Path) -> None:
    server = NatsServer(tmp_path)
    await server.start()
    bus = await connect(server.url)
    await bus.client.jetstream().add_stream(name="LOG_unsafe", subjects=["kuelog.log.unsafe.>"])
    with pytest.raises(UnsafeStream, match="discard"):
        await bus.stream("LOG_unsafe")
    await bus.close()
    await server.stop()


async def test_a_message_says_when_it_was_stored_by_the_time_of_the_bus(partition: Stream) -> None:
    before = await partition.now()
    await partition.append(subject(partition), b"x", message_id="m", base=0)
    followed = [entry async for batch in partition.read() for entry in batch]
    assert before <= followed[0].stored <= await partition.now()
    assert (await partition.get(1)).stored == followed[0].stored
    assert (before > 0) == (followed[0].stored > 0)
