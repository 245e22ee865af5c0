"""So many partitions served by so many processes on a real bus: how fast they decide, how often they collide, what they take."""

import asyncio
import multiprocessing
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from multiprocessing.context import SpawnProcess
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
from msgspec.structs import replace

from events.admission import WorkloadAdmitted
from events.catalogue import Fact
from events.codec import decode_commit, decode_sighting
from events.commit import Sighting
from events.event import Millis
from events.partition_map import TreePlacement
from events.quota import LocalQueueObserved
from events.subjects import FACTS
from events.workload import WorkloadSubmitted
from ops.production.kubernetes.absent import AbsentCluster
from ops.production.log.jetstream.bus import connect
from ops.production.log.partitioning import divide
from ops.production.log.server.cluster import NatsCluster
from ops.production.log.server.server import NatsServer
from ops.production.log.streams import streams_of
from ops.production.ports import Ports
from ops.production.process.clock import ScaledClock
from ops.production.process.event_loop import run
from ops.production.process.telemetry import configure_logging
from ops.production.wiring import Running
from ops.sandbox.bench.answering_stream import answering_stream
from ops.sandbox.bench.load import (
    CohortsSet,
    GeneratedLoad,
    QueuesSet,
    WorkloadClass,
    WorkloadsSet,
    arrivals_of,
    platform_of,
)
from ops.sandbox.bench.percentiles import p99
from ops.sandbox.bench.problems import NotMeasured
from ops.sandbox.bench.usage import own_peak_mib
from projections.object_versions import ObjectVersions
from projections.trail import Trail
from services.runtime.fact_message import fact_message
from services.runtime.log_port import Bus, Message, Stream
from services.runtime.partition.appends import CONFLICT
from services.watcher.routes import Routes

DECIDERS = ("queue-manager", "admitter", "preemptor")
TREE = "tree"
_BATCH = 200
_STREAM = 256 << 20
_ANY = 1_000_000
"""So many may be admitted ahead of what is written, for nobody writes here."""
"""Bytes that each stream may take: the server sets them aside on the disk, for as many streams as there are."""
_LOOK_S, _PATIENCE_S = 0.25, 60.0


class ScaleSetting(msgspec.Struct, frozen=True, kw_only=True):
    """What is measured: so many jobs, all with room, in trees that are spread evenly over partitions, and these over processes."""

    partitions: int
    processes: int
    jobs: int
    trees: int
    rate: int = 0
    """So many jobs come in a second; 0: all at once."""
    servers: int = 1
    """Of the bus, each of which holds every stream: 1 or 3."""

    def served_by(self, process: int) -> tuple[str, ...]:
        """The partitions of a process: its share; all of them where there are fewer than processes."""
        trees = streams_of(self.partitions).trees
        return trees if self.partitions < self.processes else trees[process :: self.processes]


class ProcessFigures(msgspec.Struct, frozen=True, kw_only=True):
    """What one process says of itself."""

    peak_mib: float
    cpu_s: float
    """CPU seconds since the first measured job was published."""
    appends: int
    conflicts: int
    """Appends that came too late, because somebody else had appended first."""


class ScaleFigures(msgspec.Struct, frozen=True, kw_only=True):
    """What came out."""

    setting: ScaleSetting
    decided_s: float
    """Seconds from the first job on the bus until the last one was admitted, by the bus's clock."""
    decisions: int
    """Events of all commits behind that first job."""
    latency_p50: Millis
    """From the job's fact on the bus to the commit that admits it, in milliseconds."""
    latency_p99: Millis
    bytes_of_a_job: int
    """Of facts and decisions, on the bus."""
    processes: tuple[ProcessFigures, ...]

    @property
    def per_s(self) -> float:
        """Decisions in a second."""
        return self.decisions / self.decided_s

    @property
    def busiest_s(self) -> float:
        """CPU seconds of the process that has used most: what a run takes at least, however many cores are free."""
        return max(one.cpu_s for one in self.processes)


async def measure(setting: ScaleSetting, folder: Path) -> ScaleFigures:
    """Start a bus in a folder and the processes, let them decide, and stop both. Raises `NotMeasured`."""
    store = folder / "nats"
    server = NatsServer(store) if setting.servers == 1 else NatsCluster(store)
    await server.start()
    try:
        bus = await connect(server.url, replicas=setting.servers, max_bytes=_STREAM)
        try:
            await answering_stream(bus, FACTS)
            placements = [
                TreePlacement(tree=f"cohort/{TREE}-{n}", partition=n % setting.partitions) for n in range(setting.trees)
            ]
            if setting.partitions > 1:
                await divide(bus, setting.partitions, ScaledClock().now(), placements)
            await _publish(bus, _Facts(setting).platform)
            async with _serving(server.url, setting) as pipes:
                return await _measured(bus, setting, pipes)
        finally:
            await bus.close()
    finally:
        await server.stop()


class _Facts:
    """The facts of a run: trees of one queue each, that own more than all jobs ask for."""

    def __init__(self, setting: ScaleSetting) -> None:
        each = -(-setting.jobs // setting.trees)
        kind = WorkloadClass(class_name="job", runtime_ms=0, request=1)
        sets = WorkloadsSet(count=each + 1, creation_interval_ms=1, workloads=(kind,))
        queues = QueuesSet(class_name="queue", count=1, nominal_quota=each + 1, workloads_sets=(sets,))
        load = GeneratedLoad(cohorts=(CohortsSet(class_name=TREE, count=setting.trees, queues_sets=(queues,)),))
        self.platform = [_in_its_namespace(one) for one in platform_of(load)]
        facts = [
            replace(one.fact, workload=f"{one.fact.spec.queue}/{one.fact.uid}")
            for one in arrivals_of(load, 0, at_once=False)
        ]
        self.first, self.jobs = facts[: setting.trees], facts[setting.trees :][: setting.jobs]
        """One of each tree, by which processes learn that nobody writes what they admit; and those that are measured."""


def _in_its_namespace(fact: Fact) -> Fact:
    """Every tree is asked from a namespace of its own, named as its queue."""
    return replace(fact, namespace=fact.name) if isinstance(fact, LocalQueueObserved) else fact


async def _publish(bus: Bus, facts: Sequence[Fact], rate: int = 0) -> None:
    stream, clock = await bus.stream(FACTS), ScaledClock()
    routes = await _routes(stream)
    step = max(rate // 20, 1) if rate else _BATCH
    began = clock.now()
    for start in range(0, len(facts), step):
        if rate:
            await clock.sleep(began + start * 1000 // rate - clock.now())
        now = clock.now()
        messages: list[Message] = []
        for number, fact in enumerate(facts[start : start + step], start=start):
            name = f"{type(fact).__name__}:{getattr(fact, 'workload', number)}"
            sighting = Sighting(id=name, at=now, author="watcher", about=None, fact=fact)
            messages.append(fact_message(sighting, to=routes.of(fact)))
        await stream.publish(messages)


async def _routes(facts: Stream) -> Routes:
    """To which partition facts go, as a watcher finds it out."""
    routes = Routes(ObjectVersions(Trail()))
    async for batch in facts.read(0):
        for entry in batch:
            routes.fold(decode_sighting(entry.data))
    return routes


@asynccontextmanager
async def _serving(nats: str, setting: ScaleSetting) -> AsyncGenerator[list[Any]]:
    context = multiprocessing.get_context("spawn")
    processes: list[SpawnProcess] = []
    pipes: list[Any] = []
    try:
        for number in range(setting.processes):
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(nats, setting, number, theirs), daemon=True)
            process.start()
            theirs.close()
            processes.append(process)
            pipes.append(ours)
        yield pipes
    finally:
        for process in processes:
            process.kill()
            process.join()


def _serve(nats: str, setting: ScaleSetting, number: int, pipe: Any) -> None:
    """Decide the partitions of a process; the other end says when to begin to measure, and then asks what it took."""
    configure_logging("critical")
    run(_decide(nats, setting, number, pipe))


async def _decide(nats: str, setting: ScaleSetting, number: int, pipe: Any) -> None:
    bus = await connect(nats, replicas=setting.servers, max_bytes=_STREAM)
    ports = Ports(bus=bus, reader=AbsentCluster(), writer=AbsentCluster(), clock=ScaledClock())
    running = Running(
        ports, DECIDERS, replica=f"bench-{number}", partitions=setting.served_by(number), let_in_ahead=_ANY
    )
    deciding = asyncio.create_task(running.run())
    await asyncio.to_thread(pipe.recv)
    used = time.process_time()
    await asyncio.to_thread(pipe.recv)
    results = [one.appends.results for one in running.hosts.values()]
    figures = ProcessFigures(
        peak_mib=own_peak_mib(),
        cpu_s=time.process_time() - used,
        appends=sum(sum(one.values()) for one in results),
        conflicts=sum(count for one in results for (_, result), count in one.items() if result == CONFLICT),
    )
    pipe.send(figures)
    deciding.cancel()


async def _measured(bus: Bus, setting: ScaleSetting, pipes: Sequence[Any]) -> ScaleFigures:
    facts = _Facts(setting)
    await _publish(bus, facts.first)
    before = await _admitted(bus, setting, len(facts.first))
    for pipe in pipes:
        pipe.send(None)
    await _publish(bus, facts.jobs, setting.rate)
    after = await _admitted(bus, setting, len(facts.first) + len(facts.jobs))
    submitted, size = await _submitted(bus)
    began = min(submitted[one.workload] for one in facts.jobs)
    waits = [after.at[one.workload] - submitted[one.workload] for one in facts.jobs]
    told: list[ProcessFigures] = []
    for pipe in pipes:
        pipe.send(None)
        told.append(await asyncio.to_thread(pipe.recv))
    return ScaleFigures(
        setting=setting,
        decided_s=max((max(after.at.values()) - began) / 1000, 0.001),
        decisions=after.decisions - before.decisions,
        latency_p50=round(median(waits)),
        latency_p99=round(p99(waits)),
        bytes_of_a_job=(size + after.size) // (len(facts.first) + len(facts.jobs)),
        processes=tuple(told),
    )


class _Admitted(msgspec.Struct, kw_only=True):
    """What the partitions of trees hold: when each workload was admitted, how many events, how many bytes."""

    at: dict[str, Millis] = {}
    decisions: int = 0
    size: int = 0


async def _admitted(bus: Bus, setting: ScaleSetting, wanted: int) -> _Admitted:
    """Wait until so many are admitted, and nothing more is decided. Raises `NotMeasured`."""
    streams = [await bus.stream(name) for name in streams_of(setting.partitions).trees]
    seen: list[int] = []
    try:
        async with asyncio.timeout(_PATIENCE_S):
            while True:
                ends = [(await one.last()).sequence for one in streams]
                if ends == seen and any(ends):
                    found = _Admitted(at={})
                    for one in streams:
                        async for batch in one.read(0):
                            for entry in batch:
                                events = decode_commit(entry.data).events
                                found.size += len(entry.data)
                                found.decisions += len(events)
                                found.at.update(
                                    (e.workload, entry.stored) for e in events if isinstance(e, WorkloadAdmitted)
                                )
                    if len(found.at) >= wanted:
                        return found
                seen = ends
                await asyncio.sleep(_LOOK_S)
    except TimeoutError:
        raise NotMeasured(
            f"deciding with {setting.processes} processes", 1, f"not all of {wanted} jobs are admitted"
        ) from None


async def _submitted(bus: Bus) -> tuple[dict[str, Millis], int]:
    """When each workload was on the bus, and how many bytes the facts about workloads take."""
    found: dict[str, Millis] = {}
    size = 0
    async for batch in (await bus.stream(FACTS)).read(0):
        for entry in batch:
            fact = decode_sighting(entry.data).fact
            if isinstance(fact, WorkloadSubmitted):
                found[fact.workload] = entry.stored
                size += len(entry.data)
    return found, size
