"""Bad messages on every stream: nobody ends, the partition says which it is, and goes on when it is skipped, also after a restart."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
import pytest_asyncio
from rich.console import Console

from events.admission import WorkloadAdmitted
from events.catalogue import Decision, Fact
from events.codec import NotOurs, decode_commit, encode
from events.commit import Commit, InputRun, Sighting
from events.quota import ClusterQueueObserved
from events.subjects import CONTROL, FACTS, commit_subject, fact_subject
from events.workload import WorkloadParked, WorkloadQueued
from ops.cli.log.care import run_quarantine
from ops.production.archive.history import read_everything
from ops.production.health import Health
from ops.production.log.jetstream.bus import JetStreamBus, connect
from ops.production.log.server.server import NatsServer
from ops.production.log.streams import DEVICE_PARTITION, PARTITION
from ops.production.process.clock import ScaledClock
from ops.production.wiring import Ports, Running
from ops.queries.replay import fold_partition
from services.runtime.log_port import Message
from tests.services.runtime.partition.test_host import NoCluster, stop, tell, without_cards
from tests.stories.small_world import job

DECIDERS = ("queue-manager", "admitter", "preemptor", "accountant")
DEEP = b"[" * 200_000


@pytest_asyncio.fixture
async def bus(tmp_path: Path) -> AsyncIterator[JetStreamBus]:
    server = NatsServer(tmp_path)
    await server.start()
    found = await connect(server.url)
    yield found
    await found.close()
    await server.stop()


async def commit(bus: JetStreamBus, partition: str, author: str, *events: Decision, **other: object) -> bytes:
    """What stands behind the end of a partition as it is now, but for what is said to be otherwise."""
    head = await (await bus.stream(partition)).last()
    good = Commit(
        id="x",
        prev_hash=head.sha256 or "0" * 64,
        partition=partition,
        base=head.sequence,
        inputs=(),
        author=author,
        epoch=0,
        rules="2",
        at=1,
        events=events,
    )
    return encode(msgspec.structs.replace(good, **other))


def sighting(fact: Fact, author: str = "watcher") -> bytes:
    return encode(Sighting(id="x", at=1, author=author, fact=fact))


async def put(bus: JetStreamBus, stream: str, subject: str, data: bytes) -> int:
    there = await bus.stream(stream)
    await there.publish([Message(subject, data, f"bad-{(await there.last()).sequence}")])
    return (await there.last()).sequence


async def admitted(bus: JetStreamBus, count: int) -> list[str]:
    """Follow the partition, whatever stands on it, until so many admissions do."""
    found: list[str] = []
    async for batch in (await bus.stream(PARTITION)).follow(0):
        for entry in batch:
            with suppress(NotOurs):
                found.extend(e.workload for e in decode_commit(entry.data).events if isinstance(e, WorkloadAdmitted))
        if len(found) >= count:
            break
    return found


def running(bus: JetStreamBus) -> Running:
    return Running(
        Ports(bus=bus, reader=cast(Any, NoCluster()), writer=cast(Any, NoCluster()), clock=ScaledClock()),
        DECIDERS,
        let_in_ahead=1000,
    )


async def test_a_message_that_is_not_there_yet_is_no_gap_in_the_log(
    bus: JetStreamBus, capsys: pytest.CaptureFixture[str]
) -> None:
    await tell(bus, [job("a")])
    url, end = bus.client.connected_url, (await (await bus.stream(FACTS)).last()).sequence
    assert url is not None
    arguments = (FACTS, end + 1, "bad", url.geturl())
    assert await asyncio.to_thread(run_quarantine, *arguments, console=Console(file=StringIO(), width=400)) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert f"FACTS ends at {end}: there is no message {end + 1}" in said and "Restore" not in said


async def halted(services: Running, place: str) -> None:
    """Until some partition says that it halts at this place."""
    while not any(place in one.halted for one in services.hosts.values()):  # noqa: ASYNC110 - of several hosts
        await asyncio.sleep(0.02)


def quarantine(bus: JetStreamBus, stream: str, sequence: int) -> str:
    told = StringIO()
    url = bus.client.connected_url
    assert url is not None
    code = run_quarantine(stream, sequence, "bad", url.geturl(), console=Console(file=told, width=400))
    assert code == 0, told.getvalue()
    return told.getvalue()


async def test_whatever_is_put_on_the_log_admission_goes_on_when_it_is_skipped(bus: JetStreamBus) -> None:
    await tell(bus, [*without_cards(100), job("first")])
    services = running(bus)
    task = asyncio.create_task(services.run())
    await asyncio.wait_for(admitted(bus, 1), 60)
    facts = fact_subject("", "NamespaceObserved")
    manager, accountant = commit_subject(PARTITION, "queue-manager"), commit_subject(DEVICE_PARTITION, "accountant")
    queued = WorkloadQueued(workload="team/none", cluster_queue="none")
    bad = [
        (FACTS, facts, DEEP),
        (FACTS, facts, b'{"id":"\xff\xfe"}'),
        (FACTS, facts, b'{"id":"i","at":1,"author":"watcher","fact":{"type":"Unheard.v9"}}'),
        (FACTS, facts, b'{"id":"i","at":"soon","author":"watcher","fact":{"type":"NamespaceObserved.v1","name":7}}'),
        (FACTS, facts, b'{"id":"i","at":' + b"9" * 5000 + b"}"),
        (FACTS, facts, b"NaN"),
        (FACTS, facts, b""),
        (FACTS, facts, b'"' + b"x" * 700_000 + b'"'),
        (PARTITION, manager, DEEP),
        (PARTITION, manager, b'{"events":[{"type":"Unheard.v9"}]}'),
        (PARTITION, manager, await commit(bus, PARTITION, "queue-manager", queued, prev_hash="f" * 64)),
        (PARTITION, manager, b"future inputs"),
        (DEVICE_PARTITION, accountant, DEEP),
        (DEVICE_PARTITION, accountant, await commit(bus, DEVICE_PARTITION, "accountant", base=77)),
    ]
    for number, (stream, subject, data) in enumerate(bad):
        if data == b"future inputs":
            data = await commit(
                bus, PARTITION, "queue-manager", queued, inputs=(InputRun(stream=FACTS, upto=1_000_000),)
            )
        sequence = await put(bus, stream, subject, data)
        await asyncio.wait_for(halted(services, f"{stream}"), 60)
        assert any("log quarantine" in why for why in await Health(services).why_not())
        await asyncio.to_thread(quarantine, bus, stream, sequence)
        await tell(bus, [job(f"j{number}")], begin=10_000 + number)
        assert len(await asyncio.wait_for(admitted(bus, number + 2), 60)) == number + 2
        if number in (0, 11):
            await stop(task)
            services = running(bus)
            task = asyncio.create_task(services.run())
    await stop(task)
    services = running(bus)
    task = asyncio.create_task(services.run())
    await tell(bus, [job("last")], begin=20_000)
    await asyncio.wait_for(admitted(bus, len(bad) + 2), 60)
    await stop(task)
    for partition in (PARTITION, DEVICE_PARTITION):
        assert fold_partition(partition, await read_everything(bus), verify=True)[1].differences == ()


async def test_garbage_on_control_halts_no_partition_and_is_told_until_it_is_skipped(bus: JetStreamBus) -> None:
    await tell(bus, [*without_cards(8), job("a")])
    sequence = await put(bus, CONTROL, "kuelog.control.operator", DEEP)
    services = running(bus)
    task = asyncio.create_task(services.run())
    assert await asyncio.wait_for(admitted(bus, 1), 60) == ["team/a"]
    assert any(f"{CONTROL} sequence {sequence}" in why for why in await Health(services).why_not())
    await asyncio.to_thread(quarantine, bus, CONTROL, sequence)
    while services.control.unread:  # noqa: ASYNC110 - nothing tells of it
        await asyncio.sleep(0.02)
    await stop(task)


async def test_what_is_not_its_authors_to_say_is_not_folded_and_is_on_record(bus: JetStreamBus) -> None:
    await tell(bus, [*without_cards(1), job("a")])
    quota = next(fact for fact in without_cards(1000) if isinstance(fact, ClusterQueueObserved))
    await put(bus, FACTS, fact_subject("", "DecisionApplied"), sighting(quota))
    await put(bus, FACTS, fact_subject("", "ClusterQueueObserved"), sighting(quota, "applier"))
    await put(bus, FACTS, "kuelog.facts.a.b.ClusterQueueObserved", sighting(quota))
    foreign = await commit(bus, PARTITION, "admitter", WorkloadParked(workload="team/a", cluster_queue="q", reason="x"))
    await put(bus, PARTITION, commit_subject(PARTITION, "admitter"), foreign)
    services = running(bus)
    task = asyncio.create_task(services.run())
    await tell(bus, [job("b")], begin=500)
    assert await asyncio.wait_for(admitted(bus, 1), 60) == ["team/a"]
    await services.hosts[PARTITION].quiet.wait()
    world = services.hosts[PARTITION].fold.world
    queue = world.cluster_queues[quota.name]
    assert queue != quota, "nobody's quota but the watcher's counts"
    amiss = {(one.stream, one.author): one.count for one in world.amiss.values()}
    assert amiss == {(FACTS, "watcher"): 2, (FACTS, "applier"): 1, (PARTITION, "admitter"): 1}
    await stop(task)


async def test_what_decisions_rest_on_is_not_skipped(bus: JetStreamBus, capsys: pytest.CaptureFixture[str]) -> None:
    await tell(bus, [*without_cards(8), job("a")])
    services = running(bus)
    task = asyncio.create_task(services.run())
    await asyncio.wait_for(admitted(bus, 1), 60)
    await stop(task)
    url = bus.client.connected_url
    assert url is not None
    for stream in (FACTS, PARTITION):
        arguments = (stream, 1, "bad", url.geturl())
        assert await asyncio.to_thread(run_quarantine, *arguments, console=Console(file=StringIO(), width=400)) != 0
    assert " ".join(capsys.readouterr().err.split()).count("rests on it") == 2
