"""What somebody has to act on is told as metrics, by name, and no longer when it is over."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest

from events.codec import encode
from events.commit import Sighting
from events.control import Quarantined
from events.quota import NamespaceObserved
from events.subjects import CONTROL, FACTS, fact_subject
from ops.production.log.control import say
from ops.production.log.memory import MemoryBus
from ops.production.log.streams import DEVICE_PARTITION, PARTITION
from ops.production.metrics.alarms import AlarmMetrics
from ops.production.metrics.endpoint import exposition
from ops.production.process.clock import ScaledClock
from ops.production.wiring import Ports, Running
from projections.workloads.lifecycle import Workload
from projections.world import World
from services.admitter import decide as admitter
from services.preemptor.decide import Preemptor
from services.queue_manager import decide as queue_manager
from services.queue_manager.reconcile import reconcile
from services.runtime.log_port import Message
from tests.services.runtime.partition.test_host import NoCluster, admitted, stop, tell, without_cards
from tests.stories.small_world import job

DECIDERS = ("queue-manager", "admitter", "preemptor", "accountant")


def lines(services: Running) -> list[str]:
    return exposition(lambda: None, (), AlarmMetrics(services)).decode().splitlines()


async def until(services: Running, holds: Callable[[list[str]], bool]) -> list[str]:
    """The metrics as soon as something is so."""
    while not holds(found := lines(services)):  # noqa: ASYNC110 - of several hosts
        await asyncio.sleep(0.01)
    return found


async def test_halts_what_is_left_alone_amiss_and_skipped_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(world: World, workload: Workload, at: int) -> Any:
        if workload.key == "team/bad":
            raise ValueError("what?")
        return reconcile(world, workload, at)

    monkeypatch.setattr(queue_manager, "reconcile", fails)
    bus = MemoryBus()
    await tell(bus, [*without_cards(9), job("a"), job("bad")])
    facts = await bus.stream(FACTS)
    foreign = encode(Sighting(id="x", at=1, author="applier", fact=NamespaceObserved(name="team")))
    await facts.publish([Message(fact_subject("", "NamespaceObserved"), foreign, "x")])
    nobody = cast(Any, NoCluster())
    services = Running(Ports(bus=bus, reader=nobody, writer=nobody, clock=ScaledClock()), DECIDERS)
    task = asyncio.create_task(services.run())
    assert await asyncio.wait_for(admitted(bus, 1), 30) == ["team/a"]
    amiss = 'kuelog_amiss_messages{author="applier",stream="FACTS",what="author"} 1.0'
    found = await asyncio.wait_for(until(services, lambda told: amiss in told), 30)
    assert 'kuelog_set_aside{scope="workload",service="queue-manager"} 1.0' in found
    for partition in (PARTITION, DEVICE_PARTITION):
        for reason in ("message", "bus", "clock", "stopped"):
            assert f'kuelog_partition_halted{{partition="{partition}",reason="{reason}"}} 0.0' in found
    await facts.publish([Message("kuelog.facts._cluster.x", b"[", "y")])
    halted = f'kuelog_partition_halted{{partition="{PARTITION}",reason="message"}} 1.0'
    await asyncio.wait_for(until(services, lambda told: halted in told), 30)
    sequence = (await facts.last()).sequence
    await say(await bus.stream(CONTROL), Quarantined(stream=FACTS, sequence=sequence, reason="r"), 1)
    found = await asyncio.wait_for(until(services, lambda told: halted not in told), 30)
    assert 'kuelog_quarantined_messages{stream="FACTS"} 1.0' in found
    assert 'kuelog_ignored_messages{stream="CONTROL"} 0.0' in found
    await stop(task)


async def test_a_decider_that_fails_a_request_and_a_tree_that_are_set_aside_are_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(*_: object) -> Any:
        raise ValueError("what?")

    bus = MemoryBus()
    await tell(bus, [*without_cards(1), job("a")])
    nobody = cast(Any, NoCluster())
    services = Running(Ports(bus=bus, reader=nobody, writer=nobody, clock=ScaledClock()), DECIDERS)
    task = asyncio.create_task(services.run())
    assert await asyncio.wait_for(admitted(bus, 1), 30) == ["team/a"]
    monkeypatch.setattr(Preemptor, "_answer", fails)
    await tell(bus, [job("urgent", priority=9)], begin=500)
    request = 'kuelog_set_aside{scope="request",service="preemptor"} 1.0'
    await asyncio.wait_for(until(services, lambda told: request in told), 30)
    monkeypatch.setattr(admitter, "heads", fails)
    await tell(bus, [job("late", priority=99)], begin=600)
    tree = 'kuelog_set_aside{scope="tree",service="admitter"} 1.0'
    await asyncio.wait_for(until(services, lambda told: tree in told), 30)
    monkeypatch.setattr(Preemptor, "decide", fails)
    await tell(bus, [job("later", priority=100)], begin=700)
    failing = f'kuelog_failing{{partition="{PARTITION}",who="preemptor"}} 1.0'
    await asyncio.wait_for(until(services, lambda told: failing in told), 30)
    await stop(task)
