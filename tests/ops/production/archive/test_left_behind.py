"""A replica that was away until what it had not read was rolled begins anew by itself, at a world that others have saved."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any, cast

from events.admission import WorkloadAdmitted
from events.codec import decode_commit
from events.subjects import FACTS
from ops.production.archive.history import read_everything
from ops.production.log.jetstream.shelf import MemoryShelf
from ops.production.log.memory import MemoryBus
from ops.production.log.streams import DEVICE_PARTITION, PARTITION
from ops.production.process.clock import ScaledClock
from ops.production.wiring import Ports, Running
from ops.queries.replay import fold_partition
from projections.state_hash import state_hash
from services.runtime.log_errors import LogGap
from services.runtime.log_port import Bus, Entry, Stream
from services.runtime.shelf_port import Shelf, ShelfLabel
from tests.ops.production.archive.test_shared_worlds import DECIDERS, OFTEN
from tests.services.runtime.partition.test_host import NoCluster, stop, tell
from tests.stories.small_world import job, platform

SOON = 30


class Away:
    """A bus of which a replica hears nothing while it is held."""

    def __init__(self, bus: MemoryBus) -> None:
        self._bus, self.hears = bus, asyncio.Event()
        self.hears.set()
        self.lost = ""
        """A stream of which the next message is lost on its way."""

    async def stream(self, name: str) -> Stream:
        return cast(Stream, _Held(await self._bus.stream(name), self))

    async def close(self) -> None:
        await self._bus.close()


class _Held:
    def __init__(self, stream: Stream, away: Away) -> None:
        self._stream, self._away = stream, away

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def follow(self, after: int, reader: str = "") -> AsyncIterator[list[Entry]]:
        async for batch in self._stream.follow(after, reader):
            if self._away.lost == self.name:
                raise LogGap(stream=self.name, expected=batch[0].sequence, found=batch[0].sequence + 1)
            yield batch
            await self._away.hears.wait()


def replica(bus: Bus, shelf: Shelf | None, name: str) -> Running:
    nobody = cast(Any, NoCluster())
    ports = Ports(bus=bus, reader=nobody, writer=nobody, clock=ScaledClock(scale=100), shelf=shelf)
    return Running(ports, DECIDERS, snapshots_every=OFTEN, replica=name, let_in_ahead=1000)


async def submitted(bus: MemoryBus, first: int, count: int) -> None:
    """So many jobs, one after the other, each admitted before the next one comes."""
    for number in range(first, first + count):
        end = len(bus.memory(PARTITION).entries)
        await tell(bus, [job(f"j{number}", memory=1000, cores=5)], begin=1000 + number)
        async with asyncio.timeout(SOON):
            await let_in(bus, f"team/j{number}", end)


async def let_in(bus: MemoryBus, workload: str, after: int) -> None:
    async for batch in bus.memory(PARTITION).follow(after):
        said = [event for entry in batch for event in decode_commit(entry.data).events]
        if any(isinstance(event, WorkloadAdmitted) and event.workload == workload for event in said):
            return


async def rolled(bus: MemoryBus, shelf: MemoryShelf) -> None:
    """Everything is removed that no saved world needs any more."""
    newest = [(await shelf.labels(partition))[0].upto for partition in (PARTITION, DEVICE_PARTITION)]
    for name in (PARTITION, DEVICE_PARTITION, FACTS):
        bus.memory(name).remove(min(upto[name] for upto in newest) - 1)


async def left_behind(bus: MemoryBus, shelf: MemoryShelf, away: Away, served: Running) -> None:
    """A replica has served, and is away while another goes on and what it has not read is rolled."""
    await submitted(bus, 0, 1)
    await asyncio.wait_for(served.quiet(), SOON)
    away.hears.clear()
    other = asyncio.create_task(replica(bus, shelf, "other").run())
    await submitted(bus, 1, 20)
    await stop(other)
    await rolled(bus, shelf)


async def test_it_goes_on_from_the_saved_world_and_decides_what_comes() -> None:
    bus, shelf = MemoryBus(), MemoryShelf()
    away = Away(bus)
    await tell(bus, cast(Any, platform(nominal=60, cards=8)))
    one = replica(away, shelf, "one")
    task = asyncio.create_task(one.run())
    await left_behind(bus, shelf, away, one)
    before = one.hosts[PARTITION].fold.base
    assert before + 1 < bus.memory(PARTITION).first, "what comes next for it is not there any more"
    away.hears.set()
    await submitted(bus, 21, 1)
    await asyncio.wait_for(one.quiet(), SOON)
    assert not any(host.halted for host in one.hosts.values())
    fold, replayed = fold_partition(PARTITION, await read_everything(all_of(bus)), verify=True)
    assert replayed.differences == ()
    one.hosts[PARTITION].fold.rewind()
    assert state_hash(one.hosts[PARTITION].fold.world) == state_hash(fold.world)
    await stop(task)


def all_of(bus: MemoryBus) -> MemoryBus:
    """The log with what was removed, as an archive has it."""
    for name in (PARTITION, DEVICE_PARTITION, FACTS):
        bus.memory(name).first = 1
    return bus


async def test_without_a_saved_world_it_halts_and_goes_on_when_there_is_one() -> None:
    bus, shelf, lent = MemoryBus(), MemoryShelf(), Lent()
    away = Away(bus)
    await tell(bus, cast(Any, platform(nominal=60, cards=8)))
    one = replica(away, cast(Shelf, lent), "one")
    task = asyncio.create_task(one.run())
    await left_behind(bus, shelf, away, one)
    away.hears.set()
    await asyncio.wait_for(one.hosts[PARTITION].stuck.wait(), SOON)
    assert "was rolled" in one.hosts[PARTITION].halted and not one.hosts[PARTITION].decides
    lent.shelf = shelf
    await submitted(bus, 21, 1)
    await asyncio.wait_for(one.quiet(), SOON)
    assert not any(host.halted for host in one.hosts.values())
    await stop(task)


async def test_a_hole_in_the_middle_halts_it_though_there_is_a_saved_world() -> None:
    bus, shelf = MemoryBus(), MemoryShelf()
    away = Away(bus)
    await tell(bus, cast(Any, platform(nominal=60, cards=8)))
    one = replica(away, shelf, "one")
    task = asyncio.create_task(one.run())
    await submitted(bus, 0, 1)
    await asyncio.wait_for(one.quiet(), SOON)
    away.lost = FACTS
    await tell(bus, cast(Any, [job("j1")]), begin=1001)
    await asyncio.wait_for(one.hosts[PARTITION].stuck.wait(), SOON)
    assert f"{FACTS} has a gap" in one.hosts[PARTITION].halted
    await asyncio.sleep(0)
    assert not task.done() and not one.hosts[PARTITION].decides
    await stop(task)


class Lent:
    """A shelf that is empty until somebody lends his."""

    def __init__(self) -> None:
        self.shelf: MemoryShelf | None = None

    async def prepare(self) -> None:
        """Nothing has to be there."""

    async def put(self, key: str, data: bytes, *, upto: Mapping[str, int], rules: str) -> None:
        """What is saved here is lost."""

    async def labels(self, key: str) -> list[ShelfLabel]:
        return await self.shelf.labels(key) if self.shelf is not None else []

    async def take(self, label: ShelfLabel) -> bytes | None:
        return await self.shelf.take(label) if self.shelf is not None else None
