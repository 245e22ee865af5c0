"""A fact that can't be read halts a watcher by name, as it halts the partitions, until it is skipped on record."""

import asyncio

import pytest

from events.codec import encode
from events.commit import Sighting
from events.control import Quarantined
from events.device import PodObserved
from events.subjects import CONTROL, FACTS
from ops.production.health import Health
from ops.production.kubernetes.reflector import Reflector
from ops.production.log.control import say
from ops.production.log.memory import MemoryBus
from ops.production.process.clock import ScaledClock
from ops.production.wiring import Ports, Running
from ops.sandbox.embedded_cluster.api.in_process import InProcessClient, OpenGate
from ops.sandbox.embedded_cluster.embedded import EmbeddedCluster
from ops.sandbox.simulate.active_faults import ActiveFaults
from ops.sandbox.simulate.simulated_leases import ConnectedLeases, MemoryLeases
from services.runtime.lease import Lease, Readiness
from services.runtime.lease_port import Leases
from services.runtime.log_port import Message
from services.runtime.own_task import stopped


class Watching:
    """A watcher alone in its process, on an embedded cluster."""

    def __init__(self) -> None:
        self.cluster, self.bus = EmbeddedCluster(controllers=False), MemoryBus()

    def begin(self) -> None:
        self.running, self.task = self.replica("alone", None)

    def replica(self, name: str, leases: Leases | None) -> tuple[Running, asyncio.Task[None]]:
        clock = ScaledClock(50)
        client = InProcessClient(self.cluster.resources, OpenGate(), clock.now)
        ports = Ports(bus=self.bus, reader=Reflector(client), writer=client, clock=clock, leases=leases)
        running = Running(ports, ("watcher",), replica=name)
        return running, asyncio.create_task(running.run())

    async def end(self) -> None:
        await stopped(self.task)
        await self.cluster.stop()

    async def put(self, data: bytes) -> int:
        stream = self.bus.memory(FACTS)
        await stream.publish([Message("kuelog.facts._cluster.NamespaceObserved", data, f"bad-{len(stream.entries)}")])
        return len(stream.entries)

    async def skip(self, sequence: int) -> None:
        await say(self.bus.memory(CONTROL), Quarantined(stream=FACTS, sequence=sequence, reason="bad"), 1)

    async def told(self, text: str) -> None:
        while not any(text in why for why in await Health(self.running).why_not()):  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.01)

    async def told_of(self, name: str) -> None:
        """Until it has told of a namespace."""
        async for batch in self.bus.memory(FACTS).follow(0):
            if any(name.encode() in entry.data for entry in batch):
                return

    def add(self, name: str) -> None:
        self.cluster.add({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})


@pytest.mark.timeout(60)
async def test_an_unreadable_fact_halts_a_watcher_that_starts_until_it_is_skipped_and_after_a_restart_it_does_not() -> (
    None
):
    one = Watching()
    one.add("first")
    sequence = await one.put(b"[" * 100_000)
    one.begin()
    await one.told(f"watcher: FACTS sequence {sequence}")
    watcher = one.running.watcher
    assert watcher is not None and not watcher.listed.is_set()
    await one.skip(sequence)
    await one.told_of('"first"')
    assert not watcher.halts.reason
    await stopped(one.task)
    one.begin()
    one.add("second")
    await one.told_of('"second"')
    await one.end()


@pytest.mark.timeout(60)
async def test_an_unreadable_fact_that_comes_later_does_not_keep_a_watcher_from_telling_what_it_sees() -> None:
    one = Watching()
    one.begin()
    one.add("first")
    await one.told_of('"first"')
    sequence = await one.put(b'{"id":"\xff"}')
    await one.told(f"watcher: FACTS sequence {sequence}")
    one.add("second")
    await one.told_of('"second"')
    await one.skip(sequence)
    watcher = one.running.watcher
    while watcher is None or watcher.halts.reason:  # noqa: ASYNC110 - nothing tells of it
        await asyncio.sleep(0.01)
    one.add("third")
    await one.told_of('"third"')
    await one.end()


def leases() -> Leases:
    """Leases that nothing befalls, by the loop's time."""
    loop = asyncio.get_running_loop()
    return ConnectedLeases(MemoryLeases(lambda: round(loop.time() * 1000)), "", ActiveFaults(loop, 1))


async def lease_of(running: Running) -> Lease:
    while not running.leases.all:  # noqa: ASYNC110 - nothing tells of it
        await asyncio.sleep(0.01)
    return running.leases.all[0]


@pytest.mark.timeout(60)
async def test_a_watcher_that_can_not_read_on_gives_its_lease_to_another_and_is_its_standby_when_it_reads_on() -> None:
    one, shared = Watching(), leases()
    one.running, one.task = one.replica("a", shared)
    first = await lease_of(one.running)
    await first.gained.wait()
    one.add("first")
    await one.told_of('"first"')
    other, its_task = one.replica("b", shared)
    second = await lease_of(other)
    await second.known.wait()
    assert not second.held
    while not one.running.leases.standbys("watcher"):  # noqa: ASYNC110 - nothing tells of it
        await asyncio.sleep(0.01)
    sequence = await one.put(b"[" * 100_000)
    await second.gained.wait()
    assert not first.held and first.given_back == 1
    await one.told(f"watcher: FACTS sequence {sequence}")
    await one.skip(sequence)
    one.add("second")
    await one.told_of('"second"')
    assert second.held and second.given_back == 0, "whom nobody could replace keeps it"
    await stopped(its_task)
    await first.gained.wait()
    assert one.running.watcher is not None and not one.running.watcher.halts.reason
    one.add("third")
    await one.told_of('"third"')
    await one.end()


@pytest.mark.timeout(60)
async def test_a_watcher_that_can_not_read_on_and_is_alone_keeps_its_lease_and_tells_what_it_sees() -> None:
    one = Watching()
    one.running, one.task = one.replica("a", leases())
    lease = await lease_of(one.running)
    await lease.gained.wait()
    one.add("first")
    await one.told_of('"first"')
    sequence = await one.put(b"[" * 100_000)
    await one.told(f"watcher: FACTS sequence {sequence}")
    looks, look = asyncio.Event(), lease.readiness

    def looked() -> Readiness:
        looks.set()
        return look()

    lease.readiness = looked
    await looks.wait()
    one.add("second")
    await one.told_of('"second"')
    assert lease.held and lease.given_back == 0
    await one.end()


@pytest.mark.timeout(60)
async def test_a_fact_whose_place_no_object_can_have_ends_no_watcher() -> None:
    one = Watching()
    odd = PodObserved(namespace="#", name="p", uid="u", node="n", workload="team/w")
    data = encode(Sighting(id="x", at=1, author="watcher", fact=odd))
    await one.bus.memory(FACTS).publish([Message("kuelog.facts._cluster.PodObserved", data, "x")])
    one.begin()
    one.add("first")
    await one.told_of('"first"')
    watcher = one.running.watcher
    assert watcher is not None
    listed = asyncio.create_task(watcher.listed.wait())
    await asyncio.wait({listed, one.task}, return_when=asyncio.FIRST_COMPLETED)
    assert listed.done() and not one.task.done()
    await one.end()
