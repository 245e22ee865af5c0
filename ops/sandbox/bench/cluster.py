"""A load on a real API server: Workload objects are created as a file says, and each ends its time after its admission.

This is what Kueue's own benchmark does: no job, no pod, so that what is measured is admission and the API server.
"""

import asyncio
import time
from collections.abc import Callable
from statistics import mean, median

import msgspec
import psutil

from events.json_object import JsonObject
from events.timestamp import format_timestamp
from ops.production.kubernetes.client import KubeClient
from ops.production.kubernetes.reflector import Reflector
from ops.sandbox.bench.bench_platform import BenchPlatform
from ops.sandbox.bench.cluster_objects import SPACE, WORKLOADS, name_of, platform_objects, workload_object
from ops.sandbox.bench.load import Arrival, GeneratedLoad, arrivals_of, capacity_of, queues_of
from ops.sandbox.bench.percentiles import p99
from ops.sandbox.bench.readiness import condition
from services.runtime.cluster_port import Changed, Listed, ObjectConflict, Vanished


class AdmissionWaits(msgspec.Struct, kw_only=True):
    """From the creation of a workload to its first admission, in seconds."""

    mean_s: float
    p50_s: float
    p99_s: float


class ClusterFigures(msgspec.Struct, kw_only=True):
    """What one run measured."""

    workloads: int = 0
    finished: int = 0
    admissions: int = 0
    evictions: int = 0
    wall_s: float = 0
    """From the first creation to the last end."""
    time_to_admission: dict[str, AdmissionWaits] = {}
    average_use: float = 0
    """Part of all quota that admitted workloads held, over the wall time."""
    cpu_s: float = 0
    """Of kuelog's own processes, the bus among them; 0 when they run elsewhere."""
    peak_memory_mib: float = 0
    driver_cpu_s: float = 0
    """Of this process, that creates and ends workloads."""
    load_before: float = 0
    load_after: float = 0


_HERD = 32
"""So many creations are under way at once."""


class ClusterRun:
    """One run of a load on a cluster."""

    def __init__(self, client: KubeClient, load: GeneratedLoad, *, seed: int = 0, at_once: bool = False) -> None:
        self.figures = ClusterFigures()
        self._client, self._load = client, load
        self._arrivals = arrivals_of(load, seed, at_once=at_once)
        self._by_name = {name_of(one): one for one in self._arrivals}
        self._platform = BenchPlatform(client, platform_objects(load))
        self._created: dict[str, float] = {}
        self._held: dict[str, float] = {}
        """Since when each admitted workload is."""
        self._ends: dict[str, asyncio.TimerHandle] = {}
        self._seen: dict[str, JsonObject] = {}
        self._waited: dict[str, list[float]] = {}
        self._used = 0.0
        self._done = asyncio.Event()
        self._tasks: asyncio.TaskGroup

    @property
    def size(self) -> int:
        """How many workloads there are."""
        return len(self._arrivals)

    async def prepare(self) -> None:
        """Create the queues. Raises `ClusterInUse`, `KindsMissing`."""
        await self._platform.create()

    @property
    def queues(self) -> set[str]:
        """The cluster queues that have to be active before it begins."""
        return {name for _, name, _ in queues_of(self._load)}

    async def run(self, on_progress: Callable[[int], None] = lambda _: None) -> ClusterFigures:
        """Play the load to its end; `on_progress` gets how many workloads have finished."""
        figures, began = self.figures, time.monotonic()
        figures.workloads, figures.load_before = self.size, psutil.getloadavg()[0]
        cpu = psutil.Process().cpu_times()
        async with asyncio.TaskGroup() as self._tasks:
            watching = self._tasks.create_task(self._watch(on_progress))
            await self._create(began)
            await self._done.wait()
            watching.cancel()
        figures.wall_s = time.monotonic() - began
        spent = psutil.Process().cpu_times()
        figures.driver_cpu_s = spent.user + spent.system - cpu.user - cpu.system
        figures.load_after = psutil.getloadavg()[0]
        figures.average_use = self._used / (capacity_of(self._load) * figures.wall_s)
        figures.time_to_admission = {kind: _waits(found) for kind, found in sorted(self._waited.items())}
        return figures

    async def clear(self) -> None:
        """Delete everything that was created, but for the namespace."""
        await self._client.request(
            "DELETE", f"/apis/{WORKLOADS.group}/{WORKLOADS.version}/namespaces/{SPACE}/workloads"
        )
        await self._platform.remove()

    async def _create(self, began: float) -> None:
        room = asyncio.Semaphore(_HERD)
        for arrival in self._arrivals:
            await asyncio.sleep(max(began + arrival.at / 1000 - time.monotonic(), 0))
            await room.acquire()
            task = self._tasks.create_task(self._create_one(arrival))
            task.add_done_callback(lambda _: room.release())

    async def _create_one(self, arrival: Arrival) -> None:
        self._created[name_of(arrival)] = time.monotonic()
        await self._client.create(WORKLOADS, SPACE, workload_object(arrival))

    async def _watch(self, on_progress: Callable[[int], None]) -> None:
        async for sight in Reflector(self._client).watch(WORKLOADS):
            match sight:
                case Listed():
                    for one in sight.objects:
                        self._see(one)
                case Changed():
                    self._see(sight.object)
                case Vanished():
                    pass
            on_progress(self.figures.finished)

    def _see(self, value: JsonObject) -> None:
        """Take note of how a workload stands, and have it end in time if it was admitted."""
        name, now = value["metadata"]["name"], time.monotonic()
        arrival = self._by_name.get(name)
        if arrival is None:
            return
        self._seen[name] = value
        if condition(value, "Finished"):
            self._let_go(name, now)
            del self._by_name[name], self._seen[name]
            self.figures.finished += 1
            if not self._by_name:
                self._done.set()
        elif condition(value, "Admitted"):
            if name not in self._held:
                self.figures.admissions += 1
                if name in self._created:
                    self._waited.setdefault(arrival.kind, []).append(now - self._created.pop(name))
                self._held[name] = now
                loop = asyncio.get_running_loop()
                self._ends[name] = loop.call_later(arrival.runtime / 1000, self._due, name)
        elif name in self._held:
            self.figures.evictions += 1
            self._let_go(name, now)

    def _let_go(self, name: str, now: float) -> None:
        since = self._held.pop(name, None)
        if since is not None:
            self._used += self._by_name[name].asked * (now - since)
            self._ends.pop(name).cancel()

    def _due(self, name: str) -> None:
        self._tasks.create_task(self._finish(name))

    async def _finish(self, name: str) -> None:
        """Say that it has ended, unless it was evicted meanwhile."""
        while name in self._held:
            value = self._seen[name]
            end = {
                "type": "Finished",
                "status": "True",
                "reason": "Succeeded",
                "message": "Its time is over",
                "lastTransitionTime": format_timestamp(int(time.time() * 1000)),
            }
            meta = {"resourceVersion": value["metadata"]["resourceVersion"]}
            patch = {"metadata": meta, "status": {"conditions": [*value["status"]["conditions"], end]}}
            try:
                await self._client.merge(WORKLOADS, SPACE, name, patch, subresource="status")
            except ObjectConflict:
                await asyncio.sleep(_AGAIN_S)  # The watch is about to show what has changed.
            else:
                return


_AGAIN_S = 0.02


def _waits(found: list[float]) -> AdmissionWaits:
    return AdmissionWaits(mean_s=mean(found), p50_s=median(found), p99_s=p99(found))
