"""A host that is killed between any two steps leaves a log on which its successor goes on, byte by byte as if nobody had died."""

import asyncio
import contextvars

import pytest

from events.catalogue import Fact
from events.codec import decode_commit, encode
from events.commit import Sighting
from events.event import Millis
from events.subjects import FACTS, commit_subject, fact_subject
from events.workload import WorkloadFinished
from ops.production.log.memory import MemoryBus
from ops.production.log.streams import DEVICE_PARTITION, PARTITION
from ops.sandbox.simulate.virtual_loop import PROCESS, VirtualLoop
from services.accountant.decide import Accountant
from services.admitter.decide import Admitter
from services.preemptor.decide import Preemptor
from services.queue_manager.decide import QueueManager
from services.runtime.log_port import Entry
from services.runtime.partition.host import PartitionHost
from services.runtime.partition.roles import Decider
from services.runtime.tracing import NoTracer
from tests.services.runtime.partition.test_host import without_cards
from tests.stories.small_world import job, platform

Steps = list[list[Entry]]
"""What comes at a time, all of it at once; the next only when all is decided."""


class StillClock:
    """Stands still but for who moves it: so that a commit bears the same time whenever it is made."""

    def __init__(self) -> None:
        self.at: Millis = 1000

    def now(self) -> Millis:
        return self.at

    async def sleep(self, duration: Millis) -> None:
        await asyncio.sleep(max(duration, 0) / 1000)

    async def wait(self, event: asyncio.Event, until: Millis | None) -> None:
        if until is None or until > self.at:
            await event.wait()


class Partition:
    """One partition, whose inputs come step by step, and the host that serves it now."""

    def __init__(self, loop: VirtualLoop, partition: str, deciders: tuple[type[Decider], ...]) -> None:
        self.loop, self.name, self.deciders = loop, partition, deciders
        self.bus, self.clock, self.lives, self.kills = MemoryBus(), StillClock(), 0, 0
        self.tasks: list[asyncio.Task[None]] = []
        self.start()

    def start(self) -> None:
        self.lives += 1
        inputs = [self.bus.memory(name) for name in (DEVICE_PARTITION, FACTS, PARTITION) if name != self.name]
        self.host = PartitionHost(
            own=self.bus.memory(self.name),
            inputs=inputs,
            deciders=[make() for make in self.deciders],
            clock=self.clock,
            tracer=NoTracer(),
            rules="1",
            replica="one",
        )
        context = contextvars.copy_context()
        context.run(PROCESS.set, self.party)
        self.tasks.append(self.loop.create_task(self.host.run(), context=context))

    @property
    def party(self) -> str:
        return f"host.{self.lives}"

    def kill(self) -> None:
        """Nothing of it ever runs again."""
        self.loop.hold(self.party)
        self.kills += 1
        self.loop.call_later(0.001, self.start)

    async def play(self, steps: Steps) -> list[bytes]:
        """Everything that stands on the partition when all is decided."""
        for step in steps:
            self.clock.at += 1000
            await self.come(step)
            await self.rest()
        return [entry.data for entry in self.bus.memory(self.name).entries]

    async def come(self, step: list[Entry]) -> None:
        for name in {entry.stream for entry in step}:
            stream = self.bus.memory(name)
            stream.entries.extend(entry for entry in step if entry.stream == name)
            async with stream._grown:
                stream._grown.notify_all()

    async def rest(self) -> None:
        while True:
            await asyncio.sleep(1)
            streams = self.bus.streams
            behind = [
                one.name
                for one in self.host.inputs
                if self.host.fold.position(one.name) < len(streams[one.name].entries)
            ]
            if not behind and self.host.quiet.is_set() and self.host.fold.base == len(streams[self.name].entries):
                return

    async def end(self) -> None:
        self.loop.release_all()
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


def played(
    partition: str, deciders: tuple[type[Decider], ...], steps: Steps, kill_at: int | None
) -> tuple[list[bytes], int]:
    """What stands on the partition when its host is killed after so many steps, and how often it was killed."""
    loop = VirtualLoop("one order")
    loop.set_exception_handler(lambda _loop, _context: None)

    async def all_of_it() -> tuple[list[bytes], int]:
        one = Partition(loop, partition, deciders)
        if kill_at is not None:
            loop.after_steps(one.party, kill_at, one.kill)
        try:
            return await one.play(steps), one.kills
        finally:
            await one.end()

    try:
        return loop.run_until_complete(all_of_it())
    finally:
        loop.close()


def entries(facts: list[Fact], begin: int = 0) -> list[Entry]:
    return [
        Entry(
            stream=FACTS,
            sequence=begin + number,
            subject=fact_subject("", type(fact).__name__),
            message_id=f"f{begin + number}",
            data=encode(Sighting(id=f"f{begin + number}", at=begin + number, author="watcher", fact=fact)),
        )
        for number, fact in enumerate(facts, 1)
    ]


def steps_of(*steps: list[Fact]) -> Steps:
    found: Steps = []
    begin = 0
    for step in steps:
        found.append(entries(step, begin))
        begin += len(step)
    return found


ADMISSION = steps_of(
    [*without_cards(2), *(job(name) for name in "abc")],
    [job("urgent", priority=9), job("giant", count=9)],
    [WorkloadFinished(workload="team/a", reason="Succeeded")],
    [WorkloadFinished(workload="team/b", reason="Succeeded"), job("late")],
)
DECIDERS = (QueueManager, Admitter, Preemptor)


def beside_cards() -> Steps:
    """Facts about cards, the decisions of the other partition about them, and what ends it."""
    facts = steps_of(
        [*platform(nominal=4, cards=2), *(job(name) for name in "abc")], [job("d"), job("giant", memory=60_000)]
    )
    stored, _ = played(PARTITION, DECIDERS, facts, None)
    decided = [
        Entry(
            stream=PARTITION,
            sequence=number,
            subject=commit_subject(PARTITION, decode_commit(data).author),
            message_id=f"c{number}",
            data=data,
        )
        for number, data in enumerate(stored, 1)
    ]
    ends: list[Fact] = [WorkloadFinished(workload=f"team/{name}", reason="Succeeded") for name in "ab"]
    return [[*facts[0], *decided[:2]], [*facts[1], *decided[2:]], entries(ends, sum(map(len, facts)))]


@pytest.mark.parametrize("partition", [PARTITION, DEVICE_PARTITION])
def test_whenever_a_host_is_killed_its_successor_writes_the_same_bytes(partition: str) -> None:
    deciders, steps = (DECIDERS, ADMISSION) if partition == PARTITION else ((Accountant,), beside_cards())
    whole, _ = played(partition, deciders, steps, None)
    assert len(whole) > 2
    kill_at, killed = 0, True
    while killed:
        found, kills = played(partition, deciders, steps, kill_at)
        assert found == whole, f"killed before step {kill_at}"
        kill_at, killed = kill_at + 1, bool(kills)
    assert kill_at > 25, "there is an await before and after all that is stored"
