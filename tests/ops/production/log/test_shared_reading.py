"""Whoever follows a stream in one process follows it with the others: it is fetched once, and nobody waits for anybody."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

import pytest

from ops.production.log import shared_reading
from ops.production.log.jetstream.bus import connect
from ops.production.log.memory import MemoryBus, MemoryStream
from ops.production.log.retrying_bus import RetryingBus
from ops.production.log.server.server import NatsServer
from ops.production.log.shared_reading import SharedReading
from ops.production.process.clock import ScaledClock
from services.runtime.log_errors import TailLost
from services.runtime.log_port import Entry
from tests.ops.production.log.test_lost_tails import Reader, stored, words
from tests.stage.ports import reserved_port

PARTITION = "LOG_0"


class Counted:
    """A reading of a stream in memory that tells how many messages were fetched."""

    def __init__(self, *said: str) -> None:
        self.stream: MemoryStream = MemoryBus().memory(PARTITION)
        self.said, self.fetched = said, 0
        self.shared = SharedReading(self._read)

    async def _read(self, after: int) -> AsyncGenerator[list[Entry]]:
        async for batch in self.stream.follow(after):
            self.fetched += len(batch)
            yield batch


async def taken(follower: AsyncGenerator[list[Entry]], count: int) -> list[Entry]:
    found: list[Entry] = []
    async with asyncio.timeout(60):
        while len(found) < count:
            found += await anext(follower)
    return found


async def test_what_three_follow_is_fetched_once_and_all_get_the_same_entries() -> None:
    one = Counted()
    followers = [one.shared.follow(0) for _ in range(3)]
    reading = [asyncio.create_task(taken(follower, 3)) for follower in followers]
    await stored(one.stream, "a", "b", "c")
    first, *others = await asyncio.gather(*reading)
    assert words(first) == ["a", "b", "c"]
    assert all(a is b for other in others for a, b in zip(first, other, strict=True))
    assert one.fetched == 3


async def test_who_comes_later_reads_alone_what_the_others_have_and_then_with_them() -> None:
    one = Counted()
    async with aclosing(one.shared.follow(0)) as early, aclosing(one.shared.follow(0)) as late:
        await stored(one.stream, "a", "b")
        await taken(early, 2)
        assert words(await taken(late, 2)) == ["a", "b"]
        await stored(one.stream, "c")
        assert words(await taken(late, 1)) == ["c"]
        assert words(await taken(early, 1)) == ["c"]
    assert one.fetched == 2 + 2 + 1


async def test_who_is_ahead_of_the_others_is_given_nothing_twice() -> None:
    one = Counted()
    async with aclosing(one.shared.follow(0)) as early, aclosing(one.shared.follow(1)) as late:
        await stored(one.stream, "a")
        await taken(early, 1)
        await stored(one.stream, "b", "c")
        assert words(await taken(late, 2)) == ["b", "c"]
        await stored(one.stream, "d")
        assert words(await taken(early, 3)) == ["b", "c", "d"]
        assert words(await taken(late, 1)) == ["d"]


async def test_who_stands_still_keeps_nobody_from_reading_and_misses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_reading, "MOST_WAITING", 2)
    one = Counted()
    async with aclosing(one.shared.follow(0)) as quick, aclosing(one.shared.follow(0)) as slow:
        both = asyncio.gather(taken(quick, 1), taken(slow, 1))
        await asyncio.sleep(0)
        await stored(one.stream, "a")
        await both
        for word in "bcdef":
            await stored(one.stream, word)
            assert words(await taken(quick, 1)) == [word]
        assert words(await taken(slow, 5)) == ["b", "c", "d", "e", "f"]
        await stored(one.stream, "g")
        assert words(await taken(quick, 1)) == words(await taken(slow, 1)) == ["g"]


async def test_the_others_read_on_when_the_one_that_reads_for_them_ends() -> None:
    one = Counted()
    first, second = (asyncio.create_task(taken(one.shared.follow(0), 1)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait({first})
    await stored(one.stream, "a")
    assert words(await second) == ["a"]


async def test_each_finds_by_itself_that_the_stream_has_lost_what_it_has_read() -> None:
    one = Counted()
    followers = [one.shared.follow(0) for _ in range(2)]
    await asyncio.gather(*(stored(one.stream, "a"), *(taken(follower, 1) for follower in followers)))
    one.stream.truncate(0)
    for follower in followers:
        with pytest.raises(TailLost):
            await taken(follower, 1)
    with pytest.raises(TailLost):
        await taken(one.shared.follow(5), 1)


async def test_a_bus_serves_one_reader_of_a_stream_whoever_follows_it_in_a_process(tmp_path: Path) -> None:
    server = NatsServer(tmp_path / "nats", port=reserved_port())
    await server.start()
    bus = await connect(server.url)
    patient = RetryingBus(bus, ScaledClock())
    readers = [Reader(await patient.stream(PARTITION)) for _ in range(3)]
    try:
        await stored(await bus.stream(PARTITION), "a", "b")
        for one in readers:
            await one.has(2)
        assert (await bus.client.jetstream().stream_info(PARTITION)).state.consumer_count == 1
    finally:
        for one in readers:
            await one.stopped()
        await bus.close()
        await server.stop()
