"""How the deciders of a partition take turns, on what they decide, and what becomes of it when the bus does not take it as it was made."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from events.catalogue import Decision
from events.codec import decode_commit, encode
from events.commit import Commit, InputRun
from events.device import Card, DevicesRegistered, NodeObserved
from events.event import Millis
from events.rules import RULES
from events.setting_aside import SetAside
from events.subjects import FACTS, commit_subject
from ops.production.archive.history import read_everything
from ops.production.log.memory import AppendFault, MemoryBus
from ops.production.log.streams import DEVICE_PARTITION, PARTITION
from ops.production.process.clock import ScaledClock
from ops.queries.replay import fold_partition
from projections.evolve import evolve
from projections.log_position import LogPosition
from projections.state_hash import state_hash
from projections.world import World
from services.runtime.log_errors import LogGap, LogRegressed, LogRolled
from services.runtime.log_port import Entry, Stream
from services.runtime.partition.admission_window import AdmissionWindow
from services.runtime.partition.fold import PartitionFold
from services.runtime.partition.halts import BEHIND, BUS, MESSAGE, REGRESSED, STOPPED
from services.runtime.partition.host import MOST_AHEAD, MOST_INPUTS, PACE, PartitionHost
from services.runtime.partition.late_view import TOO_OLD
from services.runtime.tracing import NoTracer
from tests.services.runtime.partition.test_host import stop, tell

Say = Callable[[World, LogPosition], Sequence[str]]
"""What somebody sets aside at a place, by name."""
SOON = 30
NOON: Millis = 1_800_000_000_000
CARD = Card(uuid="gpu-1", index=0, slots=10, memory=1000, cores=100, model="V100", vendor="NVIDIA")


class Speaker:
    """A decider that says what a test has it say, and keeps where it was asked."""

    def __init__(self, name: str, say: Say) -> None:
        self.name, self._say = name, say
        self.asked: list[tuple[int, int]] = []
        """At which place, and how many nodes were known then."""
        self.looked: dict[int, Millis] = {}
        """By the number of nodes that were known, when it was asked first."""

    def decide(self, world: World, position: LogPosition) -> list[Decision]:
        self.asked.append((position.sequence, len(world.nodes)))
        self.looked.setdefault(len(world.nodes), position.at)
        said: list[Decision] = []
        for node in self._say(world, position):
            said.append(SetAside(service=self.name, node=node, reason="r", rules=RULES))
            evolve(world, said[-1], position)
        return said


def knows(world: World) -> list[str]:
    return sorted(world.aside)


def up_to(count: int, name: str) -> Say:
    """One thing a turn, until there are so many of one's own."""

    def say(world: World, _: LogPosition) -> list[str]:
        own = [one for one in world.aside if one.startswith(f"{name}/")]
        return [f"{name}{len(own)}"] if len(own) < count else []

    return say


def nothing(*_: object) -> list[str]:
    return []


async def host(bus: MemoryBus, *deciders: Speaker, **more: Any) -> PartitionHost:
    return PartitionHost(
        own=more.pop("own", None) or await bus.stream(PARTITION),
        inputs=more.pop("inputs", None) or [await bus.stream(DEVICE_PARTITION), await bus.stream(FACTS)],
        deciders=deciders,
        clock=more.pop("clock", None) or ScaledClock(scale=100),
        tracer=NoTracer(),
        rules=RULES,
        replica=more.pop("replica", "a"),
        **more,
    )


@asynccontextmanager
async def serving(*hosts: PartitionHost) -> AsyncGenerator[None]:
    tasks = [asyncio.create_task(one.run()) for one in hosts]
    try:
        yield
    finally:
        await stop(*tasks)


async def quiet(one: PartitionHost) -> None:
    await asyncio.wait_for(one.quiet.wait(), SOON)


def authors(bus: MemoryBus) -> list[str]:
    return [decode_commit(entry.data).author for entry in bus.memory(PARTITION).entries]


def nodes(count: int, begin: int = 0) -> list[Any]:
    return [NodeObserved(name=f"n{number}") for number in range(begin, begin + count)]


async def no_differences(bus: MemoryBus, one: PartitionHost) -> None:
    """A replay of what is stored comes to the state of the host."""
    fold, replayed = fold_partition(PARTITION, await read_everything(bus))
    assert not replayed.is_wrong
    one.fold.rewind()
    fold.rewind()
    assert state_hash(fold.world) == state_hash(one.fold.world)
    assert (fold.base, fold.prev_hash, fold.settled) == (one.fold.base, one.fold.prev_hash, one.fold.settled)


async def test_the_order_of_many_facts_is_fixed_when_all_were_asked_about_them_and_nobody_has_anything_to_say() -> None:
    bus, idle = MemoryBus(), [Speaker(name, nothing) for name in ("admitter", "preemptor", "queue-manager")]
    await tell(bus, nodes(MOST_AHEAD))
    one = await host(bus, *idle)
    async with serving(one):
        await quiet(one)
        assert authors(bus) == ["queue-manager"], "the last who was asked"
        assert all((1, MOST_AHEAD) in each.asked for each in idle)
        await no_differences(bus, one)


async def test_deciders_take_turns_until_nobody_has_anything_to_say() -> None:
    bus = MemoryBus()
    first, second, third = Speaker("admitter", up_to(3, "admitter")), Speaker("preemptor", nothing), None
    third = Speaker("queue-manager", up_to(2, "queue-manager"))
    one = await host(bus, first, second, third)
    async with serving(one):
        await quiet(one)
        assert authors(bus) == ["admitter", "queue-manager", "admitter", "queue-manager", "admitter"]
        assert [place for place, _ in second.asked][-1] == 6, "each was asked once more behind the last commit"
        asked = [len(first.asked), len(second.asked), len(third.asked)]
        await tell(bus, nodes(1))
        await asyncio.wait_for(_until(lambda: second.asked[-1][1] == 1), SOON)
        await quiet(one)
        again = [len(first.asked), len(second.asked), len(third.asked)]
        assert all(after > before for before, after in zip(asked, again, strict=True)), "news are shown to everybody"
    await no_differences(bus, one)


async def test_what_comes_to_a_partition_at_rest_is_shown_to_its_first_decider_first() -> None:
    bus, order = MemoryBus(), list[str]()

    def told(name: str) -> Say:
        def say(world: World, _: LogPosition) -> list[str]:
            order.append(f"{name} {len(world.nodes)}")
            return [name] if name == "admitter" and not knows(world) else []

        return say

    one = await host(bus, *(Speaker(name, told(name)) for name in ("queue-manager", "admitter", "preemptor")))
    async with serving(one):
        for count in (1, 2):
            await quiet(one)
            await tell(bus, nodes(1, count - 1), count)
            await asyncio.wait_for(_until(lambda known=count: f"preemptor {known}" in order), SOON)
    for count in (1, 2):
        asked = [one for one in order if one.endswith(f" {count}")]
        assert asked[0] == f"queue-manager {count}", "though it was the admitter that has spoken last"


async def test_who_writes_what_was_decided_begins_before_anything_else_is_decided() -> None:
    bus, told, order = MemoryBus(lambda: NOON), asyncio.Event(), list[str]()

    def second(world: World, _: LogPosition) -> list[str]:
        order.append("asked" if knows(world) else "nothing yet")
        return []

    async def write() -> None:
        await told.wait()
        order.append("written")

    def observe(world: World, _: Sequence[str]) -> None:
        if knows(world):
            told.set()

    deciders = Speaker("queue-manager", up_to(1, "queue-manager")), Speaker("admitter", second)
    one = await host(bus, *deciders, observers=[observe], clock=at_noon())
    writing = asyncio.create_task(write())
    async with serving(one):
        await quiet(one)
        await asyncio.wait_for(writing, SOON)
    assert order[:2] == ["written", "asked"]


async def _until(holds: Callable[[], bool]) -> None:
    while not holds():  # noqa: ASYNC110 - of many things, and nothing tells of most
        await asyncio.sleep(0.005)


async def test_what_is_decided_here_is_folded_once_as_it_was_decided() -> None:
    bus = MemoryBus()
    followed: list[str] = []

    def follow(fold: PartitionFold, entry: Entry, commit: Commit) -> None:
        followed.append(commit.author)
        fold.fold_commit(entry, commit)

    one = await host(bus, Speaker("admitter", up_to(4, "admitter")), verifier=follow)
    other = await host(bus, Speaker("preemptor", nothing), replica="b", verifier=follow)
    async with serving(one):
        await quiet(one)
    assert authors(bus) == 4 * ["admitter"] and followed == []
    async with serving(other):
        await quiet(other)
    assert followed == authors(bus)


async def test_cards_that_nobody_here_looks_at_do_not_pile_up_but_wait_for_a_verifier() -> None:
    bus = MemoryBus()
    await tell(bus, [NodeObserved(name="a"), DevicesRegistered(node="a", cards=(CARD,))])
    one = await host(bus, Speaker("admitter", nothing))
    verifies = await host(bus, Speaker("admitter", nothing), verifier=PartitionFold.fold_commit)
    async with serving(one, verifies):
        await quiet(one)
        await quiet(verifies)
        assert not one.fold.world.cards.dirty_cards
        assert set(verifies.fold.world.cards.dirty_cards) == {CARD.uuid}


async def test_nobody_is_asked_before_everything_is_folded_that_was_on_the_log_then() -> None:
    bus = MemoryBus()
    await tell(bus, nodes(2 * MOST_INPUTS))
    before = await host(bus, Speaker("admitter", up_to(2, "admitter")))
    async with serving(before):
        await quiet(before)
    watcher = Speaker("admitter", nothing)
    after = await host(bus, watcher, replica="b")
    async with serving(after):
        await quiet(after)
    assert watcher.asked[0] == (3, 2 * MOST_INPUTS)


class Dripping:
    """A stream from which one message comes at a time, each when a test lets it."""

    def __init__(self, stream: Stream, late: asyncio.Semaphore) -> None:
        self._stream, self._late = stream, late

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def follow(self, after: int, reader: str = "") -> AsyncIterator[list[Entry]]:
        async for batch in self._stream.follow(after, reader):
            for entry in batch:
                await self._late.acquire()
                yield [entry]


@pytest.mark.parametrize("stream", [PARTITION, FACTS])
async def test_nobody_is_asked_on_less_though_the_log_comes_message_by_message(stream: str) -> None:
    bus = MemoryBus()
    await tell(bus, nodes(4))
    before = await host(bus, Speaker("admitter", up_to(4, "admitter")))
    async with serving(before):
        await quiet(before)
    watcher, late = Speaker("admitter", nothing), asyncio.Semaphore(0)
    after = await host(bus, watcher, replica="b")
    after.own = cast(Any, Dripping(after.own, late)) if stream == PARTITION else after.own
    after.inputs = tuple(cast(Any, Dripping(one, late)) if one.name == stream else one for one in after.inputs)
    async with serving(after):
        for _ in range(4):
            assert watcher.asked == []
            late.release()
            await asyncio.wait_for(_until(late.locked), SOON)
        await quiet(after)
    assert watcher.asked[0] == (5, 4)


async def test_facts_that_pile_up_keep_nobody_waiting_for_all_of_them() -> None:
    bus = MemoryBus()
    watcher = Speaker("admitter", nothing)
    one = await host(bus, watcher)
    async with serving(one):
        await quiet(one)
        await tell(bus, nodes(2 * MOST_INPUTS + 7))
        await asyncio.wait_for(_until(lambda: watcher.asked[-1][1] == 2 * MOST_INPUTS + 7), SOON)
    known = [count for _, count in watcher.asked]
    assert max(after - before for before, after in zip(known, known[1:], strict=False)) == MOST_INPUTS


async def test_an_admitter_that_is_behind_lets_nobody_in_until_it_has_folded_all_that_has_come() -> None:
    bus = MemoryBus()
    admitter, other = Speaker("admitter", nothing), Speaker("queue-manager", nothing)
    one = await host(bus, admitter, other, window=AdmissionWindow())
    async with serving(one):
        await quiet(one)
        await tell(bus, nodes(3 * MOST_INPUTS + 7))
        await asyncio.wait_for(_until(lambda: bool(admitter.asked) and admitter.asked[-1][1] > 0), SOON)
    between = {count for _, count in other.asked} - {0, 3 * MOST_INPUTS + 7}
    assert between, "the others look at what is folded so far"
    assert {count for _, count in admitter.asked} == {0, 3 * MOST_INPUTS + 7}


def at_noon() -> ScaledClock:
    return ScaledClock(start=NOON, ticks=lambda: 0.0)


async def test_a_replica_that_is_far_behind_decides_nothing_says_so_and_goes_on_when_it_has_caught_up() -> None:
    time = [NOON]
    bus = MemoryBus(lambda: time[0])
    speaker = Speaker("queue-manager", nothing)
    seen: list[tuple[int, list[str]]] = []
    one = await host(
        bus, speaker, clock=at_noon(), observers=[lambda world, _: seen.append((len(world.nodes), one.halts.kinds))]
    )
    count = 3 * MOST_INPUTS + 7
    async with serving(one):
        await quiet(one)
        await tell(bus, nodes(count))
        time[0] += TOO_OLD + 1
        await asyncio.wait_for(_until(lambda: speaker.asked[-1][1] == count), SOON)
        await quiet(one)
    assert {known for _, known in speaker.asked} == {0, count}, "nobody is asked on an old view"
    assert [kinds for known, kinds in seen if 0 < known < count] and all(
        kinds == [BEHIND] for known, kinds in seen if 0 < known < count
    )
    assert one.halted == "", "it is told for as long as it holds"
    assert authors(bus) == []


async def test_cards_that_something_happens_to_while_a_replica_is_behind_are_looked_at_when_it_has_caught_up() -> None:
    time = [NOON]
    bus = MemoryBus(lambda: time[0])
    seen: list[tuple[int, list[str]]] = []

    def look(world: World, _: LogPosition) -> list[str]:
        seen.append((len(world.nodes), [*world.cards.dirty_cards]))
        return []

    one = await host(
        bus,
        Speaker("accountant", look),
        own=await bus.stream(DEVICE_PARTITION),
        inputs=[await bus.stream(FACTS)],
        clock=at_noon(),
    )
    count = 3 * MOST_INPUTS
    async with serving(one):
        await quiet(one)
        await tell(bus, [NodeObserved(name="a"), DevicesRegistered(node="a", cards=(CARD,)), *nodes(count)])
        time[0] += TOO_OLD + 1
        await asyncio.wait_for(_until(lambda: bool(seen) and seen[-1][0] == count + 1), SOON)
    assert {known for known, _ in seen} == {0, count + 1}, "nobody is asked on an old view"
    assert seen[-1][1] == [CARD.uuid]


async def test_a_backlog_that_is_not_old_keeps_nobody_from_deciding() -> None:
    time = [NOON]
    bus = MemoryBus(lambda: time[0])
    one = await host(bus, speaker := Speaker("queue-manager", nothing), clock=at_noon())
    async with serving(one):
        await quiet(one)
        await tell(bus, nodes(3 * MOST_INPUTS))
        time[0] += TOO_OLD
        await asyncio.wait_for(_until(lambda: speaker.asked[-1][1] == 3 * MOST_INPUTS), SOON)
    assert {known for _, known in speaker.asked} > {0, 3 * MOST_INPUTS}


async def test_facts_that_a_replica_folds_while_it_is_behind_get_their_place_on_the_log_all_the_same() -> None:
    time = [NOON]
    bus = MemoryBus(lambda: time[0])
    one = await host(bus, speaker := Speaker("queue-manager", nothing), clock=at_noon())
    async with serving(one):
        await quiet(one)
        await tell(bus, nodes(MOST_AHEAD + 2 * MOST_INPUTS))
        time[0] += TOO_OLD + 1
        await asyncio.wait_for(_until(lambda: speaker.asked[-1][1] == MOST_AHEAD + 2 * MOST_INPUTS), SOON)
    [commit] = [decode_commit(entry.data) for entry in bus.memory(PARTITION).entries]
    assert not commit.events and commit.inputs[0].upto == MOST_AHEAD
    await no_differences(bus, one)


async def test_a_decider_that_fails_leaves_nothing_behind_and_the_others_go_on() -> None:
    bus = MemoryBus()
    broken = True

    def fails(world: World, position: LogPosition) -> Sequence[str]:
        if broken and not any(one.startswith("preemptor/") for one in world.aside):
            evolve(world, SetAside(service="preemptor", node="half", reason="r", rules=RULES), position)
            raise ValueError("half way")
        return up_to(1, "preemptor")(world, position)

    one = await host(bus, Speaker("preemptor", fails), Speaker("admitter", up_to(1, "admitter")))
    async with serving(one):
        await quiet(one)
        assert authors(bus) == ["admitter"] and knows(one.fold.world) == ["admitter/node/admitter0"]
        assert one.halts.failing == {"preemptor": "ValueError: half way"} and not one.halted
        broken = False
        await tell(bus, nodes(1))
        await asyncio.wait_for(_until(lambda: authors(bus) == ["admitter", "preemptor"]), SOON)
        await quiet(one)
        assert one.halts.failing == {}
    await no_differences(bus, one)


async def test_while_the_bus_takes_nothing_that_is_told_and_what_was_decided_is_decided_again() -> None:
    bus = MemoryBus()
    away = asyncio.Event()

    class Clock(ScaledClock):
        async def sleep(self, duration: Millis) -> None:
            if one.halts.kinds:
                told.append((one.halted, knows(one.fold.world)))
                away.set()
            await super().sleep(duration)

    told: list[tuple[str, list[str]]] = []
    bus.memory(PARTITION).faults.extend([AppendFault.UNAVAILABLE, AppendFault.UNAVAILABLE])
    one = await host(bus, Speaker("admitter", up_to(1, "admitter")), clock=Clock(scale=100))
    async with serving(one):
        await asyncio.wait_for(away.wait(), SOON)
        await asyncio.wait_for(_until(lambda: authors(bus) == ["admitter"]), SOON)
        await quiet(one)
        assert not one.halted and BUS not in one.halts.kinds
    assert len(told) == 2 and all("the bus is down" in why and known == [] for why, known in told)
    await no_differences(bus, one)


async def test_what_the_bus_did_not_take_is_decided_again_though_the_next_decider_has_nothing_to_say() -> None:
    bus = MemoryBus()
    bus.memory(PARTITION).faults.append(AppendFault.UNAVAILABLE)
    one = await host(bus, Speaker("admitter", up_to(1, "admitter")), Speaker("preemptor", nothing))
    async with serving(one):
        await quiet(one)
        assert authors(bus) == ["admitter"]
    await no_differences(bus, one)


class Crowded:
    """A partition on which somebody else's message comes to stand just before the first that is appended here."""

    def __init__(self, stream: Stream, foreign: bytes, *, moved: bool) -> None:
        self._stream, self._foreign, self._moved = stream, foreign, moved
        self.tried = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def append(self, subject: str, data: bytes, *, base: int, **named: Any) -> int:
        self.tried += 1
        if self.tried == 1:
            await self._stream.append(
                commit_subject(PARTITION, "admitter"), self._foreign, message_id="foreign", base=base
            )
            return await self._stream.append(subject, data, base=base + (not self._moved), **named)
        return await self._stream.append(subject, data, base=base, **named)


def foreign_commit(**changes: object) -> Commit:
    event = SetAside(service="admitter", node="theirs", reason="r", rules=RULES)
    return Commit(
        **{
            "id": "foreign",
            "prev_hash": "0" * 64,
            "partition": PARTITION,
            "base": 0,
            "inputs": (InputRun(stream=FACTS, upto=2),),
            "author": "admitter",
            "epoch": 0,
            "rules": RULES,
            "at": 1000,
            "events": (event,),
            **changes,
        }  # pyright: ignore[reportArgumentType]
    )


async def test_whoever_writes_second_folds_what_stands_there_and_decides_again() -> None:
    bus = MemoryBus()
    await tell(bus, nodes(3))
    own = Crowded(await bus.stream(PARTITION), encode(foreign_commit()), moved=True)
    speaker = Speaker("preemptor", up_to(1, "preemptor"))
    one = await host(bus, speaker, own=cast(Any, own))
    async with serving(one):
        await asyncio.wait_for(_until(lambda: authors(bus) == ["admitter", "preemptor"]), SOON)
        await quiet(one)
    assert knows(one.fold.world) == ["admitter/node/theirs", "preemptor/node/preemptor0"]
    assert own.tried == 2, "the second time on what the other wrote"
    assert [place for place, _ in speaker.asked][:2] == [1, 2]
    await no_differences(bus, one)


async def test_what_is_stored_behind_something_foreign_is_folded_in_its_place_and_halts_where_it_does_not_hang_there() -> (
    None
):
    bus = MemoryBus()
    own = Crowded(await bus.stream(PARTITION), encode(foreign_commit(inputs=())), moved=False)
    one = await host(bus, Speaker("preemptor", up_to(1, "preemptor")), own=cast(Any, own))
    async with serving(one):
        await asyncio.wait_for(one.stuck.wait(), SOON)
        assert one.halts.kinds == [MESSAGE] and f"{PARTITION} is broken at sequence 2" in one.halted
        assert knows(one.fold.world) == ["admitter/node/theirs"]
        one.fold.control.skipped[PARTITION, 2] = "it hangs on another"
        one.nudge()
        await asyncio.wait_for(_until(lambda: len(bus.memory(PARTITION).entries) == 3), SOON)
        await quiet(one)
        assert not one.halted and knows(one.fold.world) == ["admitter/node/theirs", "preemptor/node/preemptor0"]


@pytest.mark.parametrize(
    ("inputs", "told"),
    [
        (InputRun(stream=FACTS, upto=4), "rests on FACTS up to 4, which ends at 3"),
        (InputRun(stream="DEVICES_other", upto=1), "rests on DEVICES_other up to 1, which it can't rest on"),
    ],
)
async def test_a_commit_that_rests_on_what_is_not_there_halts_the_partition_until_it_is(
    inputs: InputRun, told: str
) -> None:
    bus = MemoryBus()
    await tell(bus, nodes(3))
    data = encode(foreign_commit(inputs=(inputs,)))
    await bus.memory(PARTITION).append(commit_subject(PARTITION, "admitter"), data, message_id="foreign", base=0)
    speaker = Speaker("preemptor", up_to(1, "preemptor"))
    one = await host(bus, speaker)
    async with serving(one):
        await asyncio.wait_for(one.stuck.wait(), SOON)
        assert one.halts.kinds == [MESSAGE] and told in one.halted and speaker.asked == []
        if inputs.stream == FACTS:
            await tell(bus, nodes(1, begin=3), begin=900)
            await asyncio.wait_for(_until(lambda: authors(bus) == ["admitter", "preemptor"]), SOON)
            assert not one.halted


class Late:
    """An input that has stored all that it was handed, and hands it over later."""

    def __init__(self, stream: Stream) -> None:
        self._stream, self.asked, self.arrives = stream, 0, asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def last(self) -> Any:
        self.asked += 1
        return await self._stream.last()

    async def follow(self, after: int, reader: str = "") -> AsyncGenerator[Sequence[Entry]]:
        await self.arrives.wait()
        async for batch in self._stream.follow(after, reader):
            yield batch


async def test_a_commit_that_rests_on_what_is_stored_and_has_not_arrived_yet_halts_nobody() -> None:
    bus = MemoryBus()
    await tell(bus, nodes(3))
    data = encode(foreign_commit(inputs=(InputRun(stream=FACTS, upto=3),)))
    await bus.memory(PARTITION).append(commit_subject(PARTITION, "admitter"), data, message_id="foreign", base=0)
    late = Late(await bus.stream(FACTS))
    one = await host(bus, Speaker("preemptor", nothing), inputs=[cast(Any, late)])
    async with serving(one):
        await asyncio.wait_for(_until(lambda: late.asked > 1), SOON)
        assert not one.halts.kinds and one.fold.base == 0
        late.arrives.set()
        await quiet(one)
        assert not one.halts.kinds and one.fold.base == 1


async def test_what_others_wrote_is_folded_though_it_arrives_together_with_what_was_decided_here() -> None:
    bus = MemoryBus()
    await tell(bus, nodes(1))
    late = Late(await bus.stream(PARTITION))
    one = await host(bus, Speaker("preemptor", up_to(1, "preemptor")), own=cast(Any, late))
    async with serving(one):
        await asyncio.wait_for(_until(lambda: one.fold.base == 1), SOON)
        foreign = foreign_commit(prev_hash=one.fold.prev_hash, base=1, inputs=())
        subject = commit_subject(PARTITION, "admitter")
        await bus.memory(PARTITION).append(subject, encode(foreign), message_id="foreign", base=1)
        late.arrives.set()
        await asyncio.wait_for(_until(lambda: one.fold.base == 2), SOON)
        await no_differences(bus, one)


async def test_who_is_told_to_stop_deciding_follows_and_says_so() -> None:
    bus = MemoryBus()
    silent = Speaker("preemptor", up_to(9, "preemptor"))
    one, other = await host(bus, silent), await host(bus, Speaker("admitter", up_to(2, "admitter")), replica="b")
    one.stop_deciding("another decides")
    async with serving(one, other):
        await asyncio.wait_for(_until(lambda: one.fold.base == 2), SOON)
        await quiet(one)
        assert (one.halted, one.halts.kinds, one.stuck.is_set()) == ("another decides", [STOPPED], True)
    assert authors(bus) == ["admitter", "admitter"] and silent.asked == []


async def test_who_only_looks_on_is_told_of_every_commit_and_turn_and_stops_nobody_by_failing() -> None:
    bus = MemoryBus()
    kept: list[tuple[int, int]] = []
    seen: list[int] = []

    def keep(fold: PartitionFold) -> None:
        kept.append((fold.base, fold.ahead))
        raise ValueError("no room")

    def look(world: World, touched: Sequence[str]) -> None:
        del touched
        seen.append(len(world.aside))

    await tell(bus, nodes(1))
    one = await host(bus, Speaker("admitter", up_to(2, "admitter")), keepers=[keep], observers=[look])
    other = await host(bus, Speaker("preemptor", nothing), replica="b", keepers=[keep])
    async with serving(one, other):
        await asyncio.wait_for(_until(lambda: other.fold.base == 2), SOON)
        await quiet(one)
    assert sorted(kept) == [(1, 0), (1, 0), (2, 0), (2, 0)], "those who wrote it and those who followed"
    assert [count for count in seen if count] == sorted(count for count in seen if count) and set(seen) >= {1, 2}
    assert list(one.halts.failing.values()) == ["ValueError: no room"]
    assert authors(bus) == ["admitter", "admitter"]


async def test_who_looks_on_looks_once_while_everybody_has_nothing_to_say() -> None:
    bus, looks = MemoryBus(), list[int]()
    deciders = [Speaker(name, nothing) for name in ("queue-manager", "admitter", "preemptor")]
    one = await host(bus, *deciders, observers=[lambda world, _: looks.append(len(world.nodes))])
    async with serving(one):
        await quiet(one)
        await tell(bus, nodes(1))
        await asyncio.wait_for(_until(lambda: deciders[-1].asked[-1][1] == 1), SOON)
        await quiet(one)
        looks.clear()
        one.nudge()
        await asyncio.wait_for(_until(lambda: bool(looks)), SOON)
        await quiet(one)
    assert looks == [1]
    assert {speaker.asked[-1] for speaker in deciders} == {(1, 1)}


async def test_a_turn_bears_the_headers_of_its_span_and_the_name_of_its_author() -> None:
    bus = MemoryBus()
    borne: list[Mapping[str, str] | None] = []

    class Listening:
        def __init__(self, stream: Stream) -> None:
            self._stream = stream

        def __getattr__(self, name: str) -> Any:
            return getattr(self._stream, name)

        async def append(self, subject: str, data: bytes, *, headers: Mapping[str, str] | None, **named: Any) -> int:
            borne.append(headers)
            assert subject == commit_subject(PARTITION, "admitter")
            return await self._stream.append(subject, data, **named)

    one = await host(
        bus, Speaker("admitter", up_to(1, "admitter")), own=cast(Any, Listening(await bus.stream(PARTITION)))
    )
    async with serving(one):
        await quiet(one)
    assert borne == [{}]


class StepClock:
    """Time passes only while somebody sleeps, and when a test says so."""

    def __init__(self) -> None:
        self.at: Millis = 1_700_000_000_000

    def now(self) -> Millis:
        return self.at

    async def sleep(self, duration: Millis) -> None:
        self.at += max(duration, 0)
        await asyncio.sleep(0)

    async def wait(self, event: asyncio.Event, until: Millis | None) -> None:
        if until is None or until > self.at:
            await event.wait()


@pytest.mark.parametrize(("says", "pace"), [(1, PACE), (0, 10 * PACE)])
async def test_at_rest_nobody_waits_and_under_load_a_pace_lies_between_two_looks(says: int, pace: Millis) -> None:
    bus, clock = MemoryBus(), StepClock()
    speaker = Speaker("admitter", up_to(says, "admitter"))
    one = await host(bus, speaker, clock=clock)
    async with serving(one):
        await quiet(one)
        clock.at += 60_000
        rested = clock.at
        for known in (1, 2, 3):
            await tell(bus, nodes(1, begin=known), begin=known)
            await asyncio.wait_for(_until(lambda known=known: known in speaker.looked), SOON)
            await quiet(one)
    assert [speaker.looked[known] - rested for known in (1, 2, 3)] == [0, pace, 2 * pace], "ten where nobody has spoken"


async def test_a_turn_that_takes_time_is_part_of_the_pace() -> None:
    bus, clock = MemoryBus(), StepClock()

    def say(*_: object) -> list[str]:
        clock.at += PACE // 2
        return []

    speaker = Speaker("admitter", say)
    one = await host(bus, speaker, clock=clock)
    async with serving(one):
        await quiet(one)
        clock.at += 60_000
        rested = clock.at
        for known in (1, 2):
            await tell(bus, nodes(1, begin=known), begin=known)
            await asyncio.wait_for(_until(lambda known=known: known in speaker.looked), SOON)
            await quiet(one)
    assert [speaker.looked[known] - rested for known in (1, 2)] == [0, 10 * PACE]


async def test_a_clock_that_is_set_back_while_somebody_decides_keeps_nobody_waiting_for_as_long() -> None:
    bus, clock = MemoryBus(), StepClock()
    clock.at += 86_400_000
    set_back: list[Millis] = []

    def say(world: World, _: LogPosition) -> list[str]:
        if len(world.nodes) == 1 and not set_back:
            clock.at -= 86_400_000
            set_back.append(clock.at)
        return []

    speaker = Speaker("admitter", say)
    one = await host(bus, speaker, clock=clock)
    async with serving(one):
        await quiet(one)
        for known in (1, 2):
            await tell(bus, nodes(1, begin=known), begin=known)
            await asyncio.wait_for(_until(lambda known=known: known in speaker.looked), SOON)
            await quiet(one)
    assert clock.at - set_back[0] <= 20 * PACE


@pytest.mark.parametrize("stream", [PARTITION, FACTS])
@pytest.mark.parametrize(
    ("problem", "kind", "others_may_help"),
    [
        (LogGap(stream="S", expected=2, found=4), STOPPED, False),
        (LogRolled(stream="S", expected=2, first=4), STOPPED, True),
        (LogRegressed(stream="S", witnessed=4, found=2, problem="has lost its tail"), REGRESSED, False),
    ],
    ids=lambda one: type(one).__name__,
)
async def test_who_can_not_read_on_decides_nothing_more_and_says_why(
    problem: Exception, kind: str, stream: str, *, others_may_help: bool
) -> None:
    bus = MemoryBus()

    class Broken:
        """A stream that can't be followed."""

        def __init__(self, inner: Stream) -> None:
            self._inner = inner

        def __getattr__(self, name: str) -> Any:
            return getattr(self._inner, name)

        async def follow(self, after: int, reader: str = "") -> AsyncIterator[list[Entry]]:
            raise problem
            yield []

    speaker = Speaker("admitter", up_to(9, "admitter"))
    one = await host(bus, speaker)
    if stream == PARTITION:
        one.own = cast(Any, Broken(one.own))
    else:
        one.inputs = tuple(cast(Any, Broken(each) if each.name == FACTS else each) for each in one.inputs)
    async with serving(one):
        await asyncio.wait_for(one.stuck.wait(), SOON)
        await asyncio.wait_for(_until(lambda: one.quiet.is_set() or bool(one.halts.kinds)), SOON)
        assert (one.halts.kinds, one.halted, one.decides) == ([kind], str(problem), False)
        assert one.missed.empty() is not others_may_help
    assert speaker.asked == [] and authors(bus) == []
