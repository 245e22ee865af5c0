"""The logs of many clusters on one bus: their messages at a pace, stored as services store them, and what that takes of the servers."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from statistics import median

import msgspec
import psutil

from events.event import Millis
from events.subjects import FACTS
from ops.production.log.jetstream.bus import connect
from ops.production.log.server.cluster import NatsCluster
from ops.production.log.server.server import NatsServer
from ops.production.log.streams import SOLE
from ops.queries.whatif.run import VirtualRun
from ops.sandbox.bench.answering_stream import answering_stream
from ops.sandbox.bench.day import BEGINS
from ops.sandbox.bench.life_load import PER_DAY, LifeStage, life_day, life_platform
from ops.sandbox.bench.partitions import WrittenPartitions
from ops.sandbox.bench.percentiles import p99
from ops.sandbox.bench.usage import peak_mib_of
from services.runtime.log_port import Bus, Entry, Message, Stream

_SPARE = 2
"""Of a stream that many times the bytes are reserved that are sent to it."""
_LEAST = 1 << 20
_WORD = "bench"
_STEP: Millis = 1000


class BusLoad(msgspec.Struct, frozen=True, kw_only=True):
    """What is measured: so many clusters, each with a log of its own on the same bus, whose workloads live and end at a pace."""

    clusters: int
    rate: float
    """So many workloads a second, of all clusters together."""
    seconds: int
    servers: int = 1
    """Of the bus, each of which holds every stream: 1 or 3."""

    @property
    def workloads(self) -> int:
        """Of each cluster."""
        return max(1, round(self.rate * self.seconds / self.clusters))


class BusFigures(msgspec.Struct, frozen=True, kw_only=True):
    """What came out."""

    load: BusLoad
    messages: int
    """Sent at the pace, by all clusters."""
    sent_bytes: int
    lasted_s: float
    """Until the last one was acknowledged."""
    latency_p50_ms: float
    """From when a message was due to its acknowledgement."""
    latency_p99_ms: float
    servers_cpu: float
    """CPU seconds of all servers for each second."""
    sender_cpu: float
    """The same of this process, which sends for all clusters."""
    servers_peak_mib: float
    """The most that the servers held, each by itself, together."""


async def measure_bus(load: BusLoad, folder: Path, report: Callable[[str], None] = lambda _: None) -> BusFigures:
    """Start a bus in a folder, send, and stop it. Raises `NotMeasured`, `LogUnavailable`."""
    platform, lives = messages_of_life(load.workloads)
    sizes = Counter[str]()
    for one in (*platform, *lives):
        sizes[one.stream] += len(one.data)
    reserved = max(_SPARE * max(sizes.values()), _LEAST)
    async with AsyncExitStack() as stack:
        servers, url = await stack.enter_async_context(_serving(load, folder))
        clusters = list[_Cluster]()
        for number in range(load.clusters):
            address = url.replace("nats://", f"nats://{_user(number)}:{_WORD}@")
            bus = await connect(address, replicas=load.servers, max_bytes=reserved)
            stack.push_async_callback(bus.close)
            clusters.append(await _begun(bus, platform))
            report(f"{number + 1} of {load.clusters} logs are there")
        report(f"{len(lives) * load.clusters} messages in {load.seconds} s")
        return await _sent(load, clusters, lives, servers)


def messages_of_life(workloads: int) -> tuple[list[Entry], list[Entry]]:
    """The messages of a cluster in their order: of its platform, and of the lives of so many workloads on a day (`kuelog bench life`)."""
    written = list[Entry]()
    stage = LifeStage(WrittenPartitions(written.append))
    for fact in life_platform(PER_DAY):
        stage.observe(fact, BEGINS)
    begun = len(written)
    course = life_day(0, workloads, max(workloads, PER_DAY), 0, BEGINS)
    VirtualRun(stage, course, course.happenings, at=BEGINS, step=_STEP).run()
    return written[:begun], written[begun:]


@asynccontextmanager
async def _serving(load: BusLoad, folder: Path) -> AsyncGenerator[tuple[list[psutil.Process], str]]:
    accounts = {
        f"CLUSTER_{number}": {"jetstream": "enabled", "users": [{"user": _user(number), "password": _WORD}]}
        for number in range(load.clusters)
    }
    further = {"accounts": accounts}
    bus = NatsServer(folder, further=further) if load.servers == 1 else NatsCluster(folder, further=further)
    await bus.start()
    try:
        each = [bus] if isinstance(bus, NatsServer) else bus.servers
        yield [psutil.Process(one.pid) for one in each], bus.url
    finally:
        await bus.stop()


def _user(number: int) -> str:
    return f"cluster-{number}"


class _Cluster:
    """The streams of one log, and where each ends."""

    def __init__(self, streams: dict[str, Stream]) -> None:
        self._streams, self._ends = streams, Counter[str]()

    async def store(self, entry: Entry) -> None:
        """Store a message as services do: a fact as it comes, a commit only behind the one before it."""
        stream = self._streams[entry.stream]
        if entry.stream == FACTS:
            await stream.publish([Message(entry.subject, entry.data, entry.message_id)])
            return
        base = self._ends[entry.stream]
        self._ends[entry.stream] = await stream.append(
            entry.subject, entry.data, message_id=entry.message_id, base=base
        )


async def _begun(bus: Bus, platform: Sequence[Entry]) -> _Cluster:
    cluster = _Cluster({name: await answering_stream(bus, name) for name in SOLE.every})
    for one in platform:
        await cluster.store(one)
    return cluster


async def _sent(
    load: BusLoad, clusters: Sequence[_Cluster], lives: Sequence[Entry], servers: Sequence[psutil.Process]
) -> BusFigures:
    latencies = list[float]()
    count = len(lives) * len(clusters)
    used, own, began = _cpu(servers), time.process_time(), time.monotonic()

    async def send(cluster: _Cluster, place: int) -> None:
        for number, entry in enumerate(lives):
            due = began + (number * len(clusters) + place) * load.seconds / count
            await asyncio.sleep(max(due - time.monotonic(), 0))
            await cluster.store(entry)
            latencies.append(time.monotonic() - due)

    async with asyncio.TaskGroup() as tasks:
        for place, cluster in enumerate(clusters):
            tasks.create_task(send(cluster, place))
    lasted = time.monotonic() - began
    return BusFigures(
        load=load,
        messages=count,
        sent_bytes=sum(len(one.data) for one in lives) * len(clusters),
        lasted_s=lasted,
        latency_p50_ms=median(latencies) * 1000,
        latency_p99_ms=p99(latencies) * 1000,
        servers_cpu=(_cpu(servers) - used) / lasted,
        sender_cpu=(time.process_time() - own) / lasted,
        servers_peak_mib=sum(peak_mib_of(one.pid) for one in servers),
    )


def _cpu(processes: Sequence[psutil.Process]) -> float:
    return sum(sum(one.cpu_times()[:2]) for one in processes)
