"""Jobs on a cluster: created at once or at a rate, and how long it takes until each may run."""

import asyncio
import time
from collections.abc import Callable
from statistics import median

import msgspec
import psutil

from events.api.labels import QUEUE_NAME
from events.json_object import JsonObject
from ops.production.kubernetes.client import KubeClient
from ops.production.kubernetes.reflector import Reflector
from ops.sandbox.bench.bench_platform import BenchPlatform
from ops.sandbox.bench.cluster_objects import API, CLUSTER_QUEUES, FLAVORS, LOCAL_QUEUES, NAMESPACES, SPACE
from ops.sandbox.bench.percentiles import p99
from services.runtime.cluster_port import Listed, Resource, Vanished

JOBS = Resource(group="batch", plural="jobs", kind="Job")
NAME = "kuelog-bench-jobs"
_HERD = 32


class JobFigures(msgspec.Struct, kw_only=True):
    """What one run measured: from the creation of a job to the moment at which the watch shows it unsuspended."""

    jobs: int = 0
    per_s: float = 0
    """Jobs over the time from the first creation to the last start."""
    p50_s: float = 0
    p99_s: float = 0
    longest_s: float = 0
    cpu_s: float = 0
    """Of kuelog's own processes, the bus among them; 0 when they run elsewhere."""
    peak_memory_mib: float = 0
    load_before: float = 0
    load_after: float = 0


class JobsRun:
    """So many jobs, all of which have room."""

    def __init__(self, client: KubeClient, count: int, *, rate: float = 0) -> None:
        self.figures = JobFigures(jobs=count)
        self._client, self._count, self._rate = client, count, rate
        self._platform = BenchPlatform(client, _platform())
        self._created: dict[str, float] = {}
        self._waited: list[float] = []
        self._done = asyncio.Event()

    @property
    def size(self) -> int:
        """How many jobs there are."""
        return self._count

    @property
    def queues(self) -> set[str]:
        """The cluster queues that have to be active before it begins."""
        return {NAME}

    async def prepare(self) -> None:
        """Create the queues. Raises `ClusterInUse`, `KindsMissing`."""
        await self._platform.create()

    async def run(self, on_progress: Callable[[int], None] = lambda _: None) -> JobFigures:
        """Create them, and wait until each may run; `on_progress` gets how many do."""
        figures = self.figures
        figures.load_before = psutil.getloadavg()[0]
        async with asyncio.TaskGroup() as tasks:
            watching = tasks.create_task(self._watch(on_progress))
            began = time.monotonic()
            await self._create(tasks, began)
            await self._done.wait()
            figures.per_s = self._count / (time.monotonic() - began)
            watching.cancel()
        figures.p50_s, figures.longest_s = median(self._waited), max(self._waited)
        figures.p99_s = p99(self._waited)
        figures.load_after = psutil.getloadavg()[0]
        return figures

    async def clear(self) -> None:
        """Delete everything that was created, but for the namespace."""
        path = f"/apis/batch/v1/namespaces/{SPACE}/jobs?labelSelector=kuelog.io/bench&propagationPolicy=Background"
        await self._client.request("DELETE", path)
        await self._platform.remove()

    async def _create(self, tasks: asyncio.TaskGroup, began: float) -> None:
        room = asyncio.Semaphore(_HERD)
        for number in range(self._count):
            if self._rate:
                await asyncio.sleep(max(began + number / self._rate - time.monotonic(), 0))
            await room.acquire()
            tasks.create_task(self._create_one(f"bench-{number}")).add_done_callback(lambda _: room.release())

    async def _create_one(self, name: str) -> None:
        self._created[name] = time.monotonic()
        await self._client.create(JOBS, SPACE, _job(name))

    async def _watch(self, on_progress: Callable[[int], None]) -> None:
        async for sight in Reflector(self._client).watch(JOBS):
            if isinstance(sight, Vanished):
                continue
            for one in sight.objects if isinstance(sight, Listed) else [sight.object]:
                if one["metadata"]["namespace"] == SPACE and not one["spec"].get("suspend", False):
                    self._started(one["metadata"]["name"])
            on_progress(len(self._waited))

    def _started(self, name: str) -> None:
        created = self._created.pop(name, None)
        if created is None:
            return
        self._waited.append(time.monotonic() - created)
        if len(self._waited) == self._count:
            self._done.set()


def _platform() -> list[tuple[Resource, JsonObject]]:
    quota = {"name": "cpu", "nominalQuota": "1000000"}
    groups = [{"coveredResources": ["cpu"], "flavors": [{"name": NAME, "resources": [quota]}]}]
    return [
        (NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}}),
        (FLAVORS, {"apiVersion": API, "kind": "ResourceFlavor", "metadata": {"name": NAME}, "spec": {}}),
        (
            CLUSTER_QUEUES,
            {
                "apiVersion": API,
                "kind": "ClusterQueue",
                "metadata": {"name": NAME},
                "spec": {"namespaceSelector": {}, "resourceGroups": groups},
            },
        ),
        (
            LOCAL_QUEUES,
            {
                "apiVersion": API,
                "kind": "LocalQueue",
                "metadata": {"name": NAME, "namespace": SPACE},
                "spec": {"clusterQueue": NAME},
            },
        ),
    ]


def _job(name: str) -> JsonObject:
    """Created suspended, as the webhook would have it."""
    container = {"name": "c", "image": "registry.k8s.io/pause:3.10", "resources": {"requests": {"cpu": "1m"}}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": SPACE,
            "labels": {QUEUE_NAME: NAME, "kuelog.io/bench": "job"},
        },
        "spec": {"suspend": True, "template": {"spec": {"restartPolicy": "Never", "containers": [container]}}},
    }
