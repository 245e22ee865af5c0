"""Streams that roll, on one server and on three: sequences go on, nothing lands twice, nothing gets lost, whoever is killed."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
import pytest_asyncio
from nats.aio.client import Client
from nats.errors import NoRespondersError

from events.subjects import FACTS, routed_subject
from ops.production.log.jetstream import rolling
from ops.production.log.jetstream.bus import JetStreamBus, connect
from ops.production.log.jetstream.generations import Generation
from ops.production.log.jetstream.generations import asked as asked_once
from ops.production.log.jetstream.generations import generations as generations_once
from ops.production.log.jetstream.rolling import StillNeeded
from ops.production.log.jetstream.stream import JetStreamStream
from ops.production.log.server.cluster import NatsCluster
from ops.production.log.server.server import NatsServer
from services.runtime.log_errors import LogGap, LogMovedOn, LogUnavailable, TailLost, UnsafeStream
from services.runtime.log_port import Entry, Message, Stream

pytestmark = pytest.mark.asyncio(loop_scope="module")
T = TypeVar("T")
SUBJECT = "kuelog.log.{}.test"
STEPS = ("turned away", "marked", "begun")


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["one server", "three servers"])
async def bus(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[JetStreamBus]:
    store: Path = tmp_path_factory.mktemp("nats")
    three = request.param == "three servers"
    servers = NatsCluster(store) if three else NatsServer(store)
    await servers.start()
    found = await connect(servers.url, replicas=3 if three else 1, max_bytes=64 << 20)
    await patiently(found, "LOG_quorum")
    try:
        yield found
    finally:
        await found.close()
        await servers.stop()


async def patiently(bus: JetStreamBus, name: str) -> Stream:
    """A stream of a server that has just started: three take a moment to agree on a leader."""
    for _ in range(200):
        try:
            return await bus.stream(name)
        except LogUnavailable:
            await asyncio.sleep(0.1)
    raise AssertionError("the servers never agreed on a leader")


async def patient(ask: Callable[[], Awaitable[T]]) -> T:
    """Three servers that have just made a stream may not answer yet: ask again, as an archivist does."""
    while True:
        try:
            return await ask()
        except LogUnavailable:
            await asyncio.sleep(0.1)


async def roll(bus: JetStreamBus, name: str) -> int:
    return await patient(lambda: rolling.roll(bus, name))


async def finish(bus: JetStreamBus, name: str) -> int:
    return await patient(lambda: rolling.finish(bus, name))


async def remove(bus: JetStreamBus, name: str) -> None:
    await patient(lambda: rolling.remove(bus, name))


async def generations(client: Client, name: str) -> list[Generation]:
    return await patient(lambda: generations_once(client, name))


async def asked(client: Client, what: str, body: Any) -> Any:
    return await patient(lambda: asked_once(client, what, body))


async def stored(client: Client, subject: str, data: bytes, headers: dict[str, str]) -> None:
    """A message as a stream takes it in; of three servers none may listen right after its subjects were changed."""
    while True:
        try:
            await client.request(subject, data, headers=headers, timeout=5)
        except NoRespondersError:
            await asyncio.sleep(0.02)
        else:
            return


async def everything(partition: Stream, after: int = 0) -> list[Entry]:
    async def read() -> list[Entry]:
        return [entry async for batch in partition.read(after) for entry in batch]

    return await patient(read)


async def put(partition: Stream, name: str) -> int:
    """Append behind the end as it is, as a host does: whatever else happens, it tries again."""
    while True:
        try:
            base = (await partition.last()).sequence
            subject = SUBJECT.format(partition.name.removeprefix("LOG_"))
            return await partition.append(subject, name.encode(), message_id=f"{partition.name}-{name}", base=base)
        except (LogUnavailable, LogMovedOn):
            await asyncio.sleep(0.02)


async def begin_to_roll(bus: JetStreamBus, name: str, step: str) -> None:
    """What a roller that is killed behind a step has done."""
    [one] = await generations(bus.client, name)
    await patient(lambda: rolling._turn_away(bus, name, one))
    if step == "turned away":
        return
    await patient(lambda: rolling._mark(bus, name, one))
    if step == "begun":
        await finish(bus, name)


async def test_sequences_go_on_behind_a_roll_and_readers_go_over_the_seam(bus: JetStreamBus) -> None:
    partition = await patiently(bus, "LOG_seam")
    for i in range(5):
        assert await put(partition, f"a{i}") == i + 1
    assert await roll(bus, "LOG_seam") == 5
    head = await partition.last()
    assert (head.sequence, head.message_id) == (5, "LOG_seam-a4")
    assert [await put(partition, f"b{i}") for i in range(3)] == [6, 7, 8]
    again = JetStreamStream(bus.client, "LOG_seam")
    for reader in (partition, again):
        assert [entry.sequence for entry in await everything(reader)] == list(range(1, 9))
        assert [entry.sequence for entry in await everything(reader, 5)] == [6, 7, 8]
        assert [(await reader.get(i)).data for i in (5, 6)] == [b"a4", b"b0"]
        with pytest.raises(LogGap):
            await reader.get(9)
    assert await roll(bus, "LOG_seam") == 5, "what was rolled before has to go first"
    await remove(bus, "LOG_seam")
    assert [entry.sequence for entry in await everything(partition, 5)] == [6, 7, 8]
    with pytest.raises(LogGap) as gap:
        await everything(partition)
    assert (gap.value.expected, gap.value.found) == (1, 6)
    assert await roll(bus, "LOG_seam") == 8
    assert await put(partition, "c") == 9
    assert [entry.sequence for entry in await everything(again, 5)] == [6, 7, 8, 9]


async def test_the_message_behind_a_seam_is_found_by_who_has_read_nothing_yet(bus: JetStreamBus) -> None:
    """Its sequence is that of the mark in the stream of the server that is asked first."""
    partition = await patiently(bus, "LOG_first")
    await put(partition, "a")
    assert await roll(bus, "LOG_first") == 1
    with pytest.raises(LogGap):
        await patient(lambda: JetStreamStream(bus.client, "LOG_first").get(2))
    assert await put(partition, "b") == 2
    assert (await patient(lambda: JetStreamStream(bus.client, "LOG_first").get(2))).data == b"b"


async def test_of_a_writer_behind_the_times_nothing_lands_on_either_side_of_a_seam(bus: JetStreamBus) -> None:
    partition = await patiently(bus, "LOG_fence")
    for i in range(3):
        await put(partition, f"m{i}")
    await roll(bus, "LOG_fence")
    for base, told in ((0, LogMovedOn), (2, LogMovedOn), (4, TailLost)):
        with pytest.raises(told):
            await partition.append("kuelog.log.fence.test", b"late", message_id=f"late{base}", base=base)
    repeated = await partition.append("kuelog.log.fence.test", b"m2", message_id="LOG_fence-m2", base=2)
    assert repeated == 3, "what was stored before the roll is found to be stored"
    assert [entry.data for entry in await everything(partition)] == [b"m0", b"m1", b"m2"]


class Traffic:
    """Writers of a partition, one who tells facts, and a follower."""

    def __init__(self, partition: Stream, facts: Stream) -> None:
        self.partition, self.facts = partition, facts
        self.over = asyncio.Event()
        self.seen: list[Entry] = []
        self.told = 0

    async def follow(self) -> None:
        async for batch in self.partition.follow(0):
            self.seen.extend(batch)

    async def write(self, name: str) -> list[int]:
        landed: list[int] = []
        while not self.over.is_set():
            landed.append(await put(self.partition, f"{name}{len(landed)}"))
        return landed

    async def tell(self) -> None:
        while not self.over.is_set():
            messages = [
                Message("kuelog.facts.t.k", str(self.told + i).encode(), f"f{self.told + i}") for i in range(50)
            ]
            while True:
                try:
                    await self.facts.publish(messages)
                    break
                except LogUnavailable:
                    await asyncio.sleep(0.02)
            self.told += 50

    async def reaches(self, partition: int, told: int) -> None:
        """Return when the follower has seen so much of the partition and so many facts are told."""
        while True:
            if len(self.seen) >= partition and self.told >= told:
                return
            await asyncio.sleep(0.01)


async def test_while_streams_roll_again_and_again_each_append_lands_once_and_each_fact_is_kept(
    bus: JetStreamBus,
) -> None:
    on = Traffic(await patiently(bus, "LOG_busy"), await patiently(bus, FACTS))
    begin = (await on.facts.last()).sequence
    following = asyncio.create_task(on.follow())
    tasks = [asyncio.create_task(on.write(name)) for name in "xy"]
    telling = asyncio.create_task(on.tell())
    for _ in range(3):
        await on.reaches(len(on.seen) + 10, on.told + 50)
        rollers = [roll(bus, name) for name in ("LOG_busy", "LOG_busy", FACTS, FACTS)]
        upto, _, _, _ = await asyncio.gather(*rollers)
        await on.reaches(upto + 1, 0)
        await remove(bus, "LOG_busy")
    on.over.set()
    landed = sorted(sum(await asyncio.gather(*tasks), []))
    await telling
    assert landed == list(range(1, len(landed) + 1))
    await on.reaches(len(landed), 0)
    assert [entry.sequence for entry in on.seen] == landed
    assert len({entry.message_id for entry in on.seen}) == len(landed)
    assert [entry.data for entry in await everything(on.facts, begin)] == [str(i).encode() for i in range(on.told)]
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)


async def test_facts_of_which_only_some_were_stored_before_a_roll_are_stored_once_when_all_are_told_again(
    bus: JetStreamBus,
) -> None:
    facts = await patiently(bus, FACTS)
    begin = (await patient(facts.last)).sequence
    some, rest = [Message("kuelog.facts.t.k", name.encode(), f"partly-{name}") for name in "ab"], "kuelog.facts.t.k"
    with pytest.raises(LogUnavailable):
        await facts.publish([*some, Message("nobody.listens", b"c", "partly-c")])
    await roll(bus, FACTS)
    await patient(lambda: facts.publish([*some, Message(rest, b"c", "partly-c")]))
    assert [entry.data for entry in await everything(facts, begin)] == [b"a", b"b", b"c"]


async def test_what_was_stored_unacknowledged_is_stored_once_when_it_is_told_again_after_the_server_has_forgotten_its_id(
    bus: JetStreamBus,
) -> None:
    partition = await patiently(bus, "LOG_forgetful")
    js, subject = bus.client.jetstream(), SUBJECT.format("forgetful")
    await js.update_stream((await js.stream_info("LOG_forgetful")).config, duplicate_window=0.1)
    some = [Message(subject, name.encode(), f"once-{name}") for name in "ab"]
    with pytest.raises(LogUnavailable):
        await partition.publish([*some, Message("nobody.listens", b"c", "once-c")])
    await asyncio.sleep(0.5)
    await patient(lambda: partition.publish([*some, Message(subject, b"c", "once-c")]))
    assert [entry.data for entry in await everything(partition)] == [b"a", b"b", b"c"]


@pytest.mark.parametrize("step", STEPS)
async def test_a_roll_that_was_broken_off_anywhere_is_finished_by_the_next_roller(bus: JetStreamBus, step: str) -> None:
    name = f"LOG_{step.replace(' ', '_')}"
    partition = await patiently(bus, name)
    await put(partition, "before")
    await begin_to_roll(bus, name, step)
    starting = JetStreamStream(bus.client, (await bus.stream(name)).name)
    assert (await starting.last()).sequence == 1, "who starts meanwhile creates nothing and reads on"
    writing = asyncio.create_task(put(partition, "after"))
    assert {await roll(bus, name) for _ in range(2)} == {1}
    assert await writing == 2
    assert [entry.data for entry in await everything(starting)] == [b"before", b"after"]


@pytest.mark.parametrize("partition", [True, False], ids=["partition", "facts"])
async def test_a_roller_that_was_paused_through_two_rolls_creates_no_stream_at_an_old_sequence(
    bus: JetStreamBus, partition: bool
) -> None:
    name = "LOG_paused" if partition else FACTS
    stream = await patiently(bus, name)

    async def grow(word: str) -> None:
        if partition:
            await put(stream, word)
        else:
            message = Message("kuelog.facts.t.k", word.encode(), f"paused-{word}")
            await patient(lambda: stream.publish([message]))

    await begin_anew(bus, name, grow)
    begin = (await stream.last()).sequence
    await begin_to_roll(bus, name, "marked")
    [paused_at] = await generations(bus.client, name)
    for word in ("a", "b"):
        await finish(bus, name)
        await grow(word)
        await remove(bus, name)
        if word == "a":
            await roll(bus, name)
    await begin_to_roll(bus, name, "marked")
    # It wakes up just where no stream takes in, and goes on with the step that it had decided on two rolls ago.
    with pytest.raises(LogUnavailable, match="overlap"):
        await rolling._begin(bus, name, paused_at)
    told = asyncio.create_task(grow("c"))
    await finish(bus, name)
    await told
    found = await generations(bus.client, name)
    assert [one.first for one in found][-1] == begin + 3
    assert [entry.data for entry in await everything(stream, begin + 1)] == [b"b", b"c"]


async def begin_anew(bus: JetStreamBus, name: str, grow: Callable[[str], Awaitable[None]]) -> None:
    """One message, and no roll of another test under way."""
    await grow("first")
    await finish(bus, name)
    await remove(bus, name)


async def test_a_partition_that_leaves_out_what_is_for_others_reads_on_over_a_seam(bus: JetStreamBus) -> None:
    facts = await patiently(bus, FACTS)
    begin = (await facts.last()).sequence
    seen: list[str] = []
    heard = asyncio.Event()

    async def follow() -> None:
        async for batch in facts.follow(begin, "LOG_1"):
            seen.extend(entry.message_id for entry in batch)
            heard.set()

    def told(name: str, to: str) -> Message:
        return Message(routed_subject(to, "k"), name.encode(), f"seam-{begin}-{name}")

    async def hear(name: str) -> None:
        async with asyncio.timeout(120):
            while f"seam-{begin}-{name}" not in seen:
                heard.clear()
                await heard.wait()

    task = asyncio.create_task(follow())
    await facts.publish([told("before", "LOG_1"), told("other", "LOG_2")])
    await hear("before")
    await roll(bus, FACTS)
    await facts.publish([told("elsewhere", "LOG_2"), told("behind", "LOG_1")])
    await hear("behind")
    assert seen == [f"seam-{begin}-{name}" for name in ("before", "behind")]
    assert await facts.nothing_for(begin + 1, "LOG_1") == begin + 3, "the mark of the seam is not counted"
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await remove(bus, FACTS)


async def test_nothing_is_removed_while_the_stream_that_goes_on_is_empty(bus: JetStreamBus) -> None:
    partition = await patiently(bus, "LOG_kept")
    await put(partition, "only")
    await roll(bus, "LOG_kept")
    with pytest.raises(StillNeeded, match="nothing was stored behind it"):
        await remove(bus, "LOG_kept")
    assert (await partition.last()).message_id == "LOG_kept-only"


async def test_a_fact_that_strayed_behind_the_mark_is_told_again_before_the_old_stream_goes(bus: JetStreamBus) -> None:
    facts = await patiently(bus, FACTS)
    await roll(bus, FACTS)
    await facts.publish([Message("kuelog.facts.t.k", b"x", "before")])
    await remove(bus, FACTS)
    begin = (await facts.last()).sequence
    await begin_to_roll(bus, FACTS, "marked")
    [old] = await generations(bus.client, FACTS)
    info = await asked(bus.client, f"STREAM.INFO.{old.name}", {})
    # An old leader that has not heard of the roll yet goes on taking in.
    await asked(bus.client, f"STREAM.UPDATE.{old.name}", {**info["config"], "subjects": ["kuelog.facts.>"]})
    await stored(bus.client, "kuelog.facts.t.k", b"stray", {"Nats-Msg-Id": "stray"})
    await asked(bus.client, f"STREAM.UPDATE.{old.name}", info["config"])
    assert await finish(bus, FACTS) == begin
    await facts.publish([Message("kuelog.facts.t.k", b"y", "behind")])
    await remove(bus, FACTS)
    assert [entry.message_id for entry in await everything(facts, begin)] == ["behind", "stray"]


async def test_a_stream_that_goes_on_at_another_sequence_is_not_used(bus: JetStreamBus) -> None:
    partition = await patiently(bus, "LOG_odd")
    await put(partition, "before")
    await begin_to_roll(bus, "LOG_odd", "marked")
    [old] = await generations(bus.client, "LOG_odd")
    info = await asked(bus.client, f"STREAM.INFO.{old.name}", {})
    wrong = {**info["config"], "name": "LOG_odd-2", "subjects": ["kuelog.log.odd.>"], "first_seq": 7}
    assert "error" not in await asked(bus.client, "STREAM.CREATE.LOG_odd-2", wrong)
    with pytest.raises(UnsafeStream, match="first_seq is 7, must be 2"):
        await JetStreamStream(bus.client, "LOG_odd").last()


@pytest.mark.parametrize("step", STEPS)
async def test_a_server_that_is_killed_between_two_steps_has_lost_nothing_of_either(tmp_path: Path, step: str) -> None:
    server = NatsServer(tmp_path)
    await server.start()
    bus = await connect(server.url)
    partition = await bus.stream("LOG_0")
    await put(partition, "before")
    await begin_to_roll(bus, "LOG_0", step)
    await server.kill()
    await server.start()
    assert await roll(bus, "LOG_0") == 1
    assert (await partition.last()).sequence == 1
    await server.kill()
    await server.start()
    assert await put(partition, "after") == 2, "an empty stream that goes on remembers where"
    assert [entry.data for entry in await everything(partition)] == [b"before", b"after"]
    await bus.close()
    await server.stop()


class Small(NatsServer):
    """A server with little storage."""

    def _config(self) -> str:
        return super()._config().replace("jetstream {", "jetstream {\n  max_file_store: 100MB", 1)


async def test_where_the_server_has_no_room_for_one_more_nothing_is_turned_away(tmp_path: Path) -> None:
    server = Small(tmp_path)
    await server.start()
    bus = await connect(server.url, max_bytes=64 << 20)
    partition = await bus.stream("LOG_0")
    await put(partition, "before")
    with pytest.raises(LogUnavailable, match="can't go on in a fresh stream: insufficient storage"):
        await rolling.roll(bus, "LOG_0")
    assert await put(partition, "after") == 2
    assert [one.name for one in await generations(bus.client, "LOG_0")] == ["LOG_0"]
    await bus.close()
    await server.stop()
