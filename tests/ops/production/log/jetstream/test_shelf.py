"""What is kept on the shelf comes back whole or not at all; of two there is always one whole; it counts by the log's word."""

import asyncio
from pathlib import Path
from typing import Any, Self

import pytest
from nats.aio.client import Client

from events.codec import decode_commit, encode
from events.commit import Commit
from events.subjects import FACTS
from ops.production.log.jetstream import last_messages
from ops.production.log.jetstream.bus import connect
from ops.production.log.jetstream.generations import asked
from ops.production.log.jetstream.shelf import STREAM, MemoryShelf
from ops.production.log.memory import MemoryBus
from ops.production.log.server.server import NatsServer
from ops.production.log.snapshots import Snapshots, image_of
from projections.state_hash import state_hash
from services.runtime.log_errors import LogUnavailable
from services.runtime.log_port import Head, Message, Stream
from services.runtime.partition.fold import PartitionFold
from services.runtime.shelf_port import Shelf
from tests.ops.production.log.test_snapshots import folded


async def labels(shelf: Shelf) -> list[int]:
    return [one.upto["LOG_0"] for one in await shelf.labels("LOG_0")]


async def test_the_two_newest_of_each_key_are_kept_and_one_that_is_torn_is_no_whole(tmp_path: Path) -> None:
    server = NatsServer(tmp_path)
    await server.start()
    bus = await connect(server.url)
    assert await bus.shelf.labels("LOG_0") == [], "no stream of snapshots yet"
    await bus.shelf.prepare()
    worlds = [bytes([n]) + bytes(range(256)) * 4000 for n in range(4)]
    for number, world in enumerate(worlds):
        await bus.shelf.put("LOG_0", [world], upto={"LOG_0": number}, rules="1")
    await bus.shelf.put("LOG_1", [b"other"], upto={"LOG_1": 9}, rules="1")
    assert await labels(bus.shelf) == [3, 2]
    newest, older = await bus.shelf.labels("LOG_0")
    assert [await bus.shelf.take(newest), await bus.shelf.take(older)] == [worlds[3], worlds[2]]
    assert (await bus.client.jetstream().stream_info(STREAM)).state.messages < 20, "what was replaced is gone"
    for place in "ab":
        await bus.client.jetstream().publish(f"kuelog.snapshots.LOG_0.{place}.0", b"something else")
    assert [await bus.shelf.take(newest), await bus.shelf.take(older)] == [None, None]
    await bus.close()
    await server.stop()


async def test_who_was_paused_while_others_have_put_theirs_puts_nothing_in_their_place(tmp_path: Path) -> None:
    server = NatsServer(tmp_path)
    await server.start()
    bus, late = await connect(server.url), await connect(server.url)
    await bus.shelf.prepare()
    looked, gate = asyncio.Event(), asyncio.Event()

    async def paused(client: Client, what: str, body: Any) -> dict[str, Any]:
        found = await asked(client, what, body)
        if client is late.client and body == {"last_by_subj": "kuelog.snapshots.LOG_0.b.label"}:
            looked.set()
            await gate.wait()
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(last_messages, "asked", paused)
        putting = asyncio.create_task(late.shelf.put("LOG_0", [b"old"], upto={"LOG_0": 1}, rules="1"))
        await looked.wait()
        for number, world in enumerate((b"new", b"newer"), start=2):
            await bus.shelf.put("LOG_0", [world], upto={"LOG_0": number}, rules="1")
        gate.set()
        with pytest.raises(LogUnavailable, match="another has put a saved world there"):
            await putting
    found = await bus.shelf.labels("LOG_0")
    assert [await bus.shelf.take(one) for one in found] == [b"newer", b"new"]
    await late.close()
    await bus.close()
    await server.stop()


async def shared(mark: str = "") -> tuple[PartitionFold, Stream, MemoryShelf]:
    """A partition whose only commit names the hash of the world behind it, and that world on the shelf."""
    fold, stream = await folded()
    image = b"".join(image_of(fold))
    shelf = MemoryShelf()
    await shelf.put("LOG_0", [image], upto={**fold.settled, "LOG_0": 1}, rules="1")
    [label] = await shelf.labels("LOG_0")
    commit = decode_commit((await stream.get(1)).data)
    named = type(commit)(
        **{name: getattr(commit, name) for name in commit.__struct_fields__ if name != "state_hash"},
        state_hash=mark or label.sha256,
    )
    stream.truncate(0)
    await stream.append("kuelog.log.0.x", encode(named), message_id="c1", base=0)
    return fold, stream, shelf


async def test_a_shared_world_is_begun_at_when_a_commit_on_the_log_names_it() -> None:
    fold, stream, shelf = await shared()
    again = await Snapshots(None, "1", shelf).load(stream)
    assert (again.base, again.settled, again.at) == (1, fold.settled, fold.at)
    assert again.marked[0] == 1
    assert state_hash(again.world) == state_hash(fold.world)


@pytest.mark.parametrize("harm", ["named by no commit", "changed content", "changed positions", "a shorter log"])
async def test_a_shared_world_that_the_log_does_not_vouch_for_is_passed_over(harm: str) -> None:
    _, stream, shelf = await shared("0" * 64 if harm == "named by no commit" else "")
    [label] = shelf.kept.pop("LOG_0")
    if harm == "named by no commit":
        shelf.kept["LOG_0"] = [label]
    match harm:
        case "changed content":
            await shelf.put("LOG_0", [label.data.replace(b"team/a", b"team/b")], upto=label.upto, rules="1")
        case "changed positions":
            await shelf.put("LOG_0", [label.data.replace(b'{"FACTS":', b'{"FACTS":1')], upto=label.upto, rules="1")
        case "a shorter log":
            stream = MemoryBus().memory("LOG_0")
        case _:
            pass
    again = await Snapshots(None, "1", shelf).load(stream)
    assert (again.base, again.world.workloads) == (0, {})


async def test_a_world_of_other_rules_is_begun_at_only_where_the_log_does_not_go_back_to_its_beginning() -> None:
    _, stream, shelf = await shared()
    facts = MemoryBus().memory(FACTS)
    await facts.publish([Message("kuelog.facts._cluster.X", b"{}", one) for one in ("a", "b")])
    assert (await Snapshots(None, "2", shelf).load(stream, inputs=[facts])).base == 0
    facts.remove(1)
    assert (await Snapshots(None, "2", shelf).load(stream, inputs=[facts])).base == 1, "an input may be rolled before"

    class Rolled:
        name = "LOG_0"

        async def last(self) -> Head:
            return Head(sequence=FIRST)

        async def get(self, sequence: int) -> object:
            # What `folded` has at 1 stands behind what was rolled away here.
            return await stream.get(1 if sequence == FIRST else 99)

    [label] = shelf.kept["LOG_0"]
    await shelf.put("LOG_0", [label.data], upto={FACTS: label.upto[FACTS], "LOG_0": FIRST}, rules="1")
    assert (await Snapshots(None, "2", shelf).load(Rolled())).base == FIRST  # pyright: ignore[reportArgumentType]


class Replica:
    """One that shares the world behind every commit of a partition."""

    def __init__(self, stream: Stream, shelf: Shelf) -> None:
        self.saved, self.fold = Snapshots(None, "1", shelf, every=1), PartitionFold("LOG_0")
        self._stream = stream

    async def start(self) -> Self:
        self.fold = await self.saved.load(self._stream)
        return self

    async def decide(self) -> None:
        """Commit, or fold what somebody else has committed there; the world is saved, and not yet brought to the shelf."""
        base, digest = self.fold.base, self.saved.mark(self.fold)
        commit = Commit(
            id=f"c{base}",
            prev_hash=self.fold.prev_hash,
            partition="LOG_0",
            base=base,
            inputs=(),
            author="admitter",
            epoch=0,
            rules="1",
            at=0,
            events=(),
            state_hash=digest,
        )
        if (await self._stream.last()).sequence == base:
            await self._stream.append("kuelog.log.0.x", encode(commit), message_id=commit.id, base=base)
        self.fold.settled_as_decided(base + 1, encode(commit), commit)
        self.saved.settled(self.fold)


async def test_who_comes_late_with_a_world_that_others_have_gone_beyond_puts_it_in_nobodys_place() -> None:
    shelf, stream = MemoryShelf(), MemoryBus().memory("LOG_0")
    on_time, late = await Replica(stream, shelf).start(), await Replica(stream, shelf).start()
    for _ in range(3):
        await on_time.decide()
    await on_time.saved.share()
    assert await labels(shelf) == [3, 2]
    for _ in range(3):
        await late.decide()
        await late.saved.share()
        assert await labels(shelf) == [3, 2]
    await late.decide()
    await late.saved.share()
    assert await labels(shelf) == [4, 3]


async def test_a_world_that_the_log_does_not_vouch_for_keeps_no_other_from_the_shelf() -> None:
    shelf, stream = MemoryShelf(), MemoryBus().memory("LOG_0")
    replica = await Replica(stream, shelf).start()
    await replica.decide()
    await shelf.put("LOG_0", [b"beyond the end"], upto={"LOG_0": 9}, rules="1")
    await shelf.put("LOG_0", [b"of another log"], upto={"LOG_0": 1}, rules="1")
    await replica.saved.share()
    assert [one.sha256 == replica.fold.marked[1] for one in await shelf.labels("LOG_0")] == [True, False]


async def test_of_two_shared_worlds_the_one_that_goes_further_is_begun_at() -> None:
    shelf, stream = MemoryShelf(), MemoryBus().memory("LOG_0")
    replica = await Replica(stream, shelf).start()
    for _ in range(2):
        await replica.decide()
    await replica.saved.share()
    shelf.kept["LOG_0"].reverse()
    assert (await Snapshots(None, "1", shelf).load(stream)).base == 2


FIRST = 7
