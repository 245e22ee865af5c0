"""A bus that comes back without the last messages of a stream is given them again, or it is said by name that it regressed."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ops.production.archive.proof.witness import HeadWitness
from ops.production.log import retrying_bus
from ops.production.log.jetstream.bus import connect
from ops.production.log.memory import MemoryBus, MemoryStream
from ops.production.log.retrying_bus import RetryingBus
from ops.production.log.server.server import NatsServer
from ops.production.process.clock import ScaledClock
from services.runtime.log_errors import TailLost
from services.runtime.log_port import Entry, Head, Message, Stream
from tests.stage.ports import reserved_port

PARTITION = "LOG_0"


async def stored(stream: Stream, *words: str) -> None:
    base = (await stream.last()).sequence
    for number, word in enumerate(words):
        await stream.append("kuelog.log.0.x", word.encode(), message_id=word, base=base + number)


class Reader:
    """Somebody who follows a stream."""

    def __init__(self, stream: Stream) -> None:
        self.read: list[Entry] = []
        self.problem: Exception | None = None
        self._stream, self._news = stream, asyncio.Event()
        self.task = asyncio.create_task(self._follow())

    async def _follow(self) -> None:
        try:
            async for batch in self._stream.follow(0):
                self.read += batch
                self._news.set()
        except TailLost as problem:
            self.problem = problem

    async def has(self, count: int) -> None:
        async with asyncio.timeout(60):
            while len(self.read) < count:
                self._news.clear()
                await self._news.wait()

    async def stopped(self) -> None:
        self.task.cancel()
        await asyncio.wait({self.task})


def words(entries: list[Entry]) -> list[str]:
    return [one.data.decode() for one in entries]


async def test_who_has_read_what_the_bus_lost_stores_it_again_at_its_place_and_it_is_read_once() -> None:
    memory = MemoryBus()
    partition = memory.memory(PARTITION)
    reader = Reader(await RetryingBus(memory, ScaledClock(1000)).stream(PARTITION))
    await stored(partition, "a", "b", "c", "d")
    await reader.has(4)
    whole = list(partition.entries)
    await partition.lose(1)
    while len(partition.entries) < 4:  # noqa: ASYNC110 - the twin tells of messages, and not of their number
        await asyncio.sleep(0)
    assert [(one.sequence, one.subject, one.message_id, one.data) for one in partition.entries] == [
        (one.sequence, one.subject, one.message_id, one.data) for one in whole
    ]
    await stored(partition, "e")
    await reader.has(5)
    assert words(reader.read) == ["a", "b", "c", "d", "e"]
    await reader.stopped()


async def test_several_readers_give_it_back_once() -> None:
    memory = MemoryBus()
    partition = memory.memory(PARTITION)
    readers = [Reader(await RetryingBus(memory, ScaledClock(1000)).stream(PARTITION)) for _ in range(3)]
    await stored(partition, "a", "b", "c")
    for one in readers:
        await one.has(3)
    await partition.lose(0)
    await stored(await RetryingBus(memory, ScaledClock(1000)).stream("LOG_1"), "x")
    while len(partition.entries) < 3:  # noqa: ASYNC110 - as above
        await asyncio.sleep(0)
    await stored(partition, "d")
    for one in readers:
        await one.has(4)
        assert words(one.read) == ["a", "b", "c", "d"]
        await one.stopped()


async def test_what_stands_there_instead_is_told_by_name_and_not_folded() -> None:
    memory = MemoryBus()
    partition = memory.memory(PARTITION)
    reader = Reader(await RetryingBus(memory, ScaledClock(1000)).stream(PARTITION))
    await stored(partition, "a", "b")
    await reader.has(2)
    partition.truncate(1)
    await stored(partition, "other", "more")
    await asyncio.wait({reader.task}, timeout=60)
    told = str(reader.problem)
    assert told.startswith("LogRegressed: LOG_0 holds another message at sequence 2 than was read here")
    assert "kuelog restore" in told
    assert words(reader.read) == ["a", "b"]


async def test_who_began_at_a_saved_world_ahead_of_the_log_says_so_when_nobody_brings_it_back() -> None:
    memory = MemoryBus()
    await stored(memory.memory(PARTITION), "a", "b")
    stream = await RetryingBus(memory, ScaledClock(1_000_000)).stream(PARTITION)
    with pytest.raises(TailLost, match="read here up to sequence 5, and it ends at 2"):
        await anext(stream.follow(5))


async def test_who_has_just_connected_stores_nothing_before_those_who_have_read_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The pause is waited for, not measured: it ends when the test has it end."""
    go_on = asyncio.Event()

    async def pause(_: float) -> None:
        await go_on.wait()

    memory = MemoryBus()
    partition = memory.memory(PARTITION)
    late = await RetryingBus(memory, ScaledClock(1000), lambda: 1).stream(PARTITION)
    reader = Reader(await RetryingBus(memory, ScaledClock(1000)).stream(PARTITION))
    await stored(partition, "a", "b")
    await reader.has(2)
    monkeypatch.setattr(retrying_bus, "paused_for", pause)
    storing = asyncio.create_task(late.publish([Message("kuelog.log.0.y", b"new", "new")]))
    await partition.lose(1)
    while len(partition.entries) < 2:  # noqa: ASYNC110 - as above
        await asyncio.sleep(0)
    go_on.set()
    await storing
    assert words(partition.entries) == ["a", "b", "new"]
    await reader.stopped()


async def test_a_fact_that_was_taken_in_and_read_by_nobody_yet_is_told_again(monkeypatch: pytest.MonkeyPatch) -> None:
    connections = 0
    monkeypatch.setattr(retrying_bus, "paused_for", asyncio.sleep)
    monkeypatch.setattr(retrying_bus, "PAUSE_S", 0)
    memory = MemoryBus()
    facts = await RetryingBus(memory, ScaledClock(1000), lambda: connections).stream("FACTS")
    await facts.publish([Message("kuelog.facts.t.x", b"a", "a")])
    memory.memory("FACTS").truncate(0)
    connections += 1
    await facts.publish([Message("kuelog.facts.t.x", b"b", "b")])
    assert words(memory.memory("FACTS").entries) == ["a", "b"]


async def test_what_was_stored_and_not_read_yet_is_told_again_after_those_who_have_read_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Who lags behind does not see that more is missing than he has read, and what he has said himself is among it."""
    paused, go_on = asyncio.Event(), asyncio.Event()

    async def pause(_: float) -> None:
        paused.set()
        await go_on.wait()

    monkeypatch.setattr(retrying_bus, "paused_for", pause)
    memory = MemoryBus()
    facts = memory.memory("FACTS")
    await stored(facts, "a")
    late = await RetryingBus(memory, ScaledClock(1000)).stream("FACTS")
    following = aiter(late.follow(0))
    assert words(await anext(following)) == ["a"]
    await stored(facts, "b")
    await late.publish([Message("kuelog.facts.t.x", b"own", "own")])
    whole = list(facts.entries)
    facts.truncate(1)
    lagging = asyncio.ensure_future(anext(following))
    await asyncio.wait({lagging, asyncio.create_task(paused.wait())}, return_when=asyncio.FIRST_COMPLETED)
    assert words(facts.entries) == ["a"], "others have not had their time yet"
    for entry in whole[1:]:
        await facts.append(entry.subject, entry.data, message_id=entry.message_id, base=entry.sequence - 1)
    go_on.set()
    assert words(await lagging) == ["b", "own"]
    assert words(facts.entries) == ["a", "b", "own"]


@pytest.mark.parametrize("when", ["a reader waits", "a writer looks"])
async def test_a_bus_that_loses_more_meanwhile_is_given_a_pause_of_its_own(
    monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """What was stored and not read yet may not go first then either."""
    memory = MemoryBus()
    facts = memory.memory("FACTS")
    await stored(facts, "a")
    connections, pauses = 1, 0

    async def pause(_: float) -> None:
        nonlocal pauses
        pauses += 1
        if pauses == 2 and when == "a reader waits":  # The first was when it connected.
            await lose_again()
        elif pauses > 2:
            for entry in whole[len(facts.entries) : -1]:
                await facts.append(entry.subject, entry.data, message_id=entry.message_id, base=entry.sequence - 1)

    async def lose_again() -> None:
        nonlocal connections
        connections += 1
        await facts.lose(1)

    async def last() -> Head:
        nonlocal looks
        looks += 1
        if looks == 1:
            await lose_again()
        return await MemoryStream.last(facts)

    monkeypatch.setattr(retrying_bus, "paused_for", pause)
    late = await RetryingBus(memory, ScaledClock(1000), lambda: connections).stream("FACTS")
    following = aiter(late.follow(0))
    assert words(await anext(following)) == ["a"]
    await stored(facts, "b")
    await late.publish([Message("kuelog.facts.t.x", b"own", "own")])
    whole = list(facts.entries)
    await facts.lose(1)
    if when == "a writer looks":
        connections, looks = connections + 1, 0
        monkeypatch.setattr(facts, "last", last)
        await late.publish([Message("kuelog.facts.t.x", b"next", "next")])
        assert words(facts.entries) == ["a", "b", "own", "next"]
    else:
        assert words(await anext(following)) == ["b", "own"]
    assert pauses == 3


async def test_what_is_read_while_the_bus_is_asked_for_its_end_is_not_taken_for_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Who has just connected asks for the end; what others store before the answer comes stands behind it, and is not missing."""
    memory = MemoryBus()
    facts = memory.memory("FACTS")
    bus = RetryingBus(memory, ScaledClock(1000), lambda: 1)
    stream = await bus.stream("FACTS")
    reader = Reader(stream)

    async def last() -> Head:
        end = await MemoryStream.last(facts)
        if len(facts.entries) < 3:
            await facts.publish([Message("kuelog.facts.t.x", b"more", f"more {len(facts.entries)}")])
            await reader.has(len(facts.entries))
        return end

    await facts.publish([Message("kuelog.facts.t.x", b"read", "read")])
    await reader.has(1)
    monkeypatch.setattr(retrying_bus, "PAUSE_S", 0)
    monkeypatch.setattr(facts, "last", last)
    await stream.publish([Message("kuelog.facts.t.x", b"own", "own")])
    assert bus.given_back == {}
    assert words(facts.entries)[-1] == "own"
    await reader.stopped()


async def test_what_was_stored_and_read_by_nobody_is_told_again_also_by_who_says_nothing_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(retrying_bus, "PAUSE_S", 0)
    memory = MemoryBus()
    await stored(memory.memory("FACTS"), "a")
    facts = await RetryingBus(memory, ScaledClock(1000)).stream("FACTS")
    following = aiter(facts.follow(0))
    assert words(await anext(following)) == ["a"]
    await facts.publish([Message("kuelog.facts.t.x", b"own", "own")])
    memory.memory("FACTS").truncate(1)
    assert words(await anext(following)) == ["own"]


async def ends_at(stream: Stream, sequence: int) -> None:
    async with asyncio.timeout(60):
        while (await stream.last()).sequence != sequence:  # noqa: ASYNC110 - the bus tells nobody
            await asyncio.sleep(0.05)


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[NatsServer]:
    one = NatsServer(tmp_path / "nats", port=reserved_port())
    await one.start()
    yield one
    await one.stop()


async def test_a_real_server_that_comes_back_with_an_older_disk_gets_what_was_read_and_the_witness_is_content(
    server: NatsServer, tmp_path: Path
) -> None:
    bus = await connect(server.url)
    partition = await bus.stream(PARTITION)
    reader = Reader(await RetryingBus(bus, ScaledClock(), bus.connections).stream(PARTITION))
    await stored(partition, "a", "b")
    await reader.has(2)
    await server.stop()
    shutil.copytree(tmp_path / "nats", tmp_path / "older")
    await server.start()
    patient = await RetryingBus(bus, ScaledClock()).stream(PARTITION)
    await ends_at(patient, 2)
    await stored(partition, "c", "d")
    await reader.has(4)
    witness = HeadWitness(tmp_path / "witness")
    await witness.witness(partition)
    await server.kill()
    shutil.rmtree(tmp_path / "nats")
    shutil.copytree(tmp_path / "older", tmp_path / "nats")
    await server.start()
    await ends_at(patient, 4)
    await witness.check(partition)
    await stored(partition, "e")
    await reader.has(5)
    assert words(reader.read) == ["a", "b", "c", "d", "e"]
    await reader.stopped()
    await bus.close()
