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
from services.runtime.log_port import Message
from services.runtime.own_task import stopped


class Watching:
    """A watcher alone in its process, on an embedded cluster."""

    def __init__(self) -> None:
        self.cluster, self.bus = EmbeddedCluster(controllers=False), MemoryBus()

    def begin(self) -> None:
        clock = ScaledClock(50)
        client = InProcessClient(self.cluster.resources, OpenGate(), clock.now)
        self.running = Running(Ports(bus=self.bus, reader=Reflector(client), writer=client, clock=clock), ("watcher",))
        self.task = asyncio.create_task(self.running.run())

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
